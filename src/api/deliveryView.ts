/** Deliveries of webhooks in answers. */
import type { Tenant } from '../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/events.js';
import type { DeliveryAttempt, DeliveryLogEntry, DeliveryState } from '../queries/deliveries.js';
import * as json from './openapi/schema.js';

export const DELIVERY_STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];

export const attemptView = json.view<DeliveryAttempt>({
  attempt: [{ type: 'integer', minimum: 1, maximum: 5 }, ({ attempt }) => attempt],
  url: [json.text, ({ url }) => url],
  body_sha256: [
    {
      ...json.nullableText,
      description: 'SHA-256 of the body in hex; null if none was sent, or by an earlier release.',
    },
    ({ bodySha256 = null }) => bodySha256,
  ],
  started_at: [json.timestamp, ({ startedAt }) => startedAt],
  ended_at: [json.orNull(json.timestamp), ({ endedAt }) => endedAt],
  duration_ms: [{ type: ['integer', 'null'], minimum: 0 }, ({ durationMs }) => durationMs],
  status: [
    { type: ['integer', 'null'], description: 'Of the answer; null if there was none.' },
    ({ status }) => status,
  ],
  reason: [{ ...json.nullableText, description: 'Why it failed; null if it did not.' }, ({ reason }) => reason],
  response_body: [
    { ...json.nullableText, description: 'The first part of the answer.' },
    ({ responseBody }) => responseBody,
  ],
});

export const deliveryView = json.view<DeliveryLogEntry>({
  id: [json.uuid, ({ id }) => id],
  message_id: [
    { ...json.text, description: 'webhook-id of its attempts: the same for every replay of an event.' },
    ({ messageId }) => messageId,
  ],
  kind: [json.oneOf(WEBHOOK_EVENT_KINDS), ({ kind }) => kind],
  purpose: [
    { ...json.nullableText, description: 'resend, backfill or test; null if the event itself caused it.' },
    ({ purpose }) => purpose,
  ],
  order_id: [json.nullableText, ({ orderId }) => orderId],
  table: [json.nullableText, ({ table }) => table],
  sequence: [
    { ...json.count, description: 'Grows with each event of the order, or of the table.' },
    ({ sequence }) => sequence,
  ],
  state: [json.oneOf(DELIVERY_STATES), ({ state }) => state],
  requested_at: [json.timestamp, ({ requestedAt }) => requestedAt],
  ended_at: [json.orNull(json.timestamp), ({ endedAt }) => endedAt],
  reason: [
    { ...json.nullableText, description: 'Why it was given up, or why it waits: its webhook is disabled.' },
    ({ reason }) => reason,
  ],
  retry_at: [json.orNull(json.timestamp), ({ retryAt }) => retryAt],
  attempts: [json.listOf(json.ref('DeliveryAttempt')), (entry) => entry.attempts.map(attemptView.show)],
});

/** An open delivery to a disabled webhook says why it waits. */
export function shownDelivery({ webhooks }: Pick<Tenant, 'webhooks'>, entry: DeliveryLogEntry): object {
  const disabled = entry.state === 'open' ? webhooks.get(entry.webhookId)?.disabled : undefined;
  const reason = disabled === undefined ? entry.reason : `The webhook is disabled: ${disabled.reason}`;
  return deliveryView.show({ ...entry, reason });
}
