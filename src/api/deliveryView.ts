/** Deliveries of webhooks in answers. */
import type { Tenant } from '../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/catalogue.js';
import type { DeliveryAttempt, DeliveryLogEntry, DeliveryState } from '../queries/deliveries.js';
import * as json from './openapi/schema.js';

export const DELIVERY_STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];

export const attemptView = json.view<DeliveryAttempt>({
  attempt: { type: 'integer', minimum: 1, maximum: 5 },
  url: json.text,
  body_sha256: json.nullableText,
  started_at: json.timestamp,
  ended_at: json.orNull(json.timestamp),
  duration_ms: { type: ['integer', 'null'], minimum: 0 },
  status: { type: ['integer', 'null'] },
  reason: json.nullableText,
  response_body: json.nullableText,
});

export const deliveryView = json.view<DeliveryLogEntry>({
  id: json.uuid,
  message_id: json.text,
  kind: json.oneOf(WEBHOOK_EVENT_KINDS),
  purpose: json.nullableText,
  order_id: json.nullableText,
  table: json.nullableText,
  sequence: json.count,
  state: json.oneOf(DELIVERY_STATES),
  requested_at: json.timestamp,
  ended_at: json.orNull(json.timestamp),
  reason: json.nullableText,
  retry_at: json.orNull(json.timestamp),
  attempts: [json.listOf(json.ref('DeliveryAttempt')), ({ attempts }) => attempts.map(attemptView.show)],
});

/** An open delivery to a disabled webhook says why it waits. */
export function shownDelivery({ webhooks }: Pick<Tenant, 'webhooks'>, entry: DeliveryLogEntry): object {
  const disabled = entry.state === 'open' ? webhooks.get(entry.webhookId)?.disabled : undefined;
  const reason = disabled === undefined ? entry.reason : `The webhook is disabled: ${disabled.reason}`;
  return deliveryView.show({ ...entry, reason });
}
