/**
 * The delivery log of a webhook, which outlives it: `/api/v1/platform/webhooks/:id/deliveries`. Replays are answered
 * once the request is stored; the attempts follow.
 */
import { z } from 'zod';
import { NotFoundError } from '../../commands/context.js';
import {
  backfillBody,
  requestBackfill,
  resendDelivery,
  resendFailed,
  resendFailedBody,
  sendTestEvent,
  testEventBody,
} from '../../commands/webhooks/replays.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import type { DeliveryAttempt, DeliveryLog, DeliveryLogEntry, DeliveryState } from '../../ports/deliveryLog.js';
import { LIST_ANSWERS } from '../assets/listQuery.js';
import * as json from '../openapi/schema.js';
import { CHANGES, dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { WEBHOOK_IDS } from './webhooks.js';

const STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

const attemptView = json.view<DeliveryAttempt>({
  attempt: [{ type: 'integer', minimum: 1, maximum: 5 }, ({ attempt }) => attempt],
  url: [json.text, ({ url }) => url],
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

const deliveryView = json.view<DeliveryLogEntry>({
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
  state: [json.oneOf(STATES), ({ state }) => state],
  requested_at: [json.timestamp, ({ requestedAt }) => requestedAt],
  ended_at: [json.orNull(json.timestamp), ({ endedAt }) => endedAt],
  reason: [
    { ...json.nullableText, description: 'Why it was given up, or why it waits: its webhook is disabled.' },
    ({ reason }) => reason,
  ],
  retry_at: [json.orNull(json.timestamp), ({ retryAt }) => retryAt],
  attempts: [json.listOf(json.ref('DeliveryAttempt')), (entry) => entry.attempts.map(attemptView.show)],
});

function shown({ webhooks }: Tenant, entry: DeliveryLogEntry): object {
  const disabled = entry.state === 'open' ? webhooks.get(entry.webhookId)?.disabled : undefined;
  const reason = disabled === undefined ? entry.reason : `The webhook is disabled: ${disabled.reason}`;
  return deliveryView.show({ ...entry, reason });
}

const wholeNumber = (most: number, message: string) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text),
    z.int(message).min(1, message).max(most, message),
  );

const deliveryQuery = z.object({
  state: z
    .enum(STATES, `must be one of ${STATES.join(', ')}.`)
    .optional()
    .describe('open: neither delivered nor given up.'),
  kind: z
    .enum(WEBHOOK_EVENT_KINDS, `must be one of ${WEBHOOK_EVENT_KINDS.join(', ')}.`)
    .optional()
    .describe('Kind of event.'),
  order_id: z.string().toLowerCase().optional().describe('Only deliveries about this order.'),
  since: dateTime.optional().meta({ description: 'Requested at this time or later.' }),
  until: dateTime.optional().meta({ description: 'Requested before this time.' }),
  cursor: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be that of a link to a next page.')
    .optional()
    .describe('That of a link to the next page.'),
  limit: wholeNumber(MAX_LIMIT, `must be 1 to ${MAX_LIMIT}.`)
    .default(DEFAULT_LIMIT)
    .meta({ default: DEFAULT_LIMIT, description: 'Entries on a page.' }),
});

export const webhookDeliveries: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas: {
    Delivery: deliveryView.schema,
    DeliveryAttempt: attemptView.schema,
    RequestedDelivery: json.closedObject({ delivery_id: json.uuid }),
  },
  operations: {
    'GET /webhooks/:id/deliveries': {
      id: 'platformListDeliveries',
      summary: 'The delivery log, the newest first',
      allow: 'adminsAndAuditors',
      query: parametersIn(deliveryQuery),
      answer: json.linkedPage('Delivery'),
      answers: LIST_ANSWERS,
      async handle({ readModels, config, lists }, { req, tenant, path: { id }, query: parameters }) {
        const { order_id: orderId, cursor: after, limit, ...query } = parseQuery(deliveryQuery, parameters);
        await checkKnown(readModels, tenant, id);
        const asked = { ...query, webhookId: id, orderId, after, limit: limit + 1 };
        const found = await lists.run({
          tenant: tenant.name,
          context: req.context,
          advice: () => 'Narrow the time with since and until.',
          find: (cancellation) => readModels.deliveries(tenant.name, asked, cancellation),
        });
        const page = found.slice(0, limit);
        const last = found.length > limit ? page.at(-1) : undefined;
        // The same query, after the last entry of this page.
        if (last !== undefined) parameters.set('cursor', String(last.position));
        const next = last === undefined ? null : `${requestUrl(req, config)}?${parameters}`;
        return {
          body: JSON.stringify({
            data: page.map((entry) => shown(tenant, entry)),
            links: { next },
          }),
        };
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId': {
      id: 'platformGetDelivery',
      summary: 'One delivery',
      allow: 'adminsAndAuditors',
      answer: json.one('Delivery'),
      async handle({ readModels }, { tenant, path: { id, deliveryId } }) {
        const entry = await readModels.delivery(tenant.name, deliveryId.toLowerCase());
        if (entry?.webhookId !== id) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
        return dataReply(shown(tenant, entry));
      },
    },
    'POST /webhooks/:id/deliveries/:deliveryId/resend': {
      id: 'platformResendDelivery',
      grows: CHANGES,
      summary: 'Send it again, whatever its outcome',
      allow: 'admins',
      status: 202,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path }) {
        const { deliveryId } = await resendDelivery(commands, caller, path.id, path.deliveryId);
        return dataReply({ delivery_id: deliveryId });
      },
    },
    'POST /webhooks/:id/resend': {
      id: 'platformResendFailed',
      grows: CHANGES,
      summary: 'Send again the failed deliveries of a period',
      allow: 'admins',
      body: json.bodyOf(resendFailedBody, { since: '2026-11-20T00:00:00Z' }),
      status: 202,
      answer: json.answer('How many are sent again.', json.dataOf(json.closedObject({ count: json.count }))),
      handle: async ({ commands, readModels }, { caller, path: { id }, body }) =>
        dataReply(await resendFailed({ ...commands, readModels }, caller, id, body)),
    },
    'POST /webhooks/:id/backfill': {
      id: 'platformBackfillWebhook',
      grows: [...CHANGES, 'replaysPerHour'],
      summary: 'Send the events of a period, also from before the webhook was made',
      allow: 'admins',
      body: json.bodyOf(backfillBody, { from: '2026-11-01T00:00:00Z', events: ['order.approved'] }),
      status: 202,
      answer: json.answer('It has begun.', json.dataOf(json.closedObject({ backfill_id: json.uuid }))),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { backfillId } = await requestBackfill(commands, caller, id, body);
        return dataReply({ backfill_id: backfillId });
      },
    },
    'POST /webhooks/:id/test': {
      id: 'platformTestWebhook',
      grows: CHANGES,
      summary: 'Send it the example of a kind of event',
      allow: 'admins',
      body: json.bodyOf(testEventBody, { event: 'order.approved' }),
      status: 202,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { deliveryId } = await sendTestEvent(commands, caller, id, body);
        return dataReply({ delivery_id: deliveryId });
      },
    },
  },
};

/** A removed webhook still has its log. @throws NotFoundError for an id that no webhook ever had */
async function checkKnown(log: DeliveryLog, tenant: Tenant, webhookId: string): Promise<void> {
  if (tenant.webhooks.has(webhookId)) return;
  const [any] = await log.deliveries(tenant.name, { webhookId, limit: 1 });
  if (any === undefined) throw new NotFoundError(`There is no webhook ${webhookId}.`);
}
