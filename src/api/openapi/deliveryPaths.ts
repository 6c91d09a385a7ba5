/** The delivery log of a webhook, and sending again: below `/api/v1/platform/webhooks/{webhook_id}`. */
import { backfillBody, resendFailedBody, testEventBody } from '../../commands/webhooks/replays.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import { inputSchema } from './inputSchema.js';
import { one, PLATFORM, pathText, platformOperation } from './platformOperation.js';
import {
  closedObject,
  dataOf,
  type JsonSchema,
  jsonResponse,
  type Parameter,
  type Paths,
  type Schemas,
  schemaRef,
} from './types.js';

const WEBHOOK = `${PLATFORM}/webhooks/{webhook_id}`;
const parameters = [pathText('webhook_id')];
const ofOne = [...parameters, pathText('delivery_id')];

const text: JsonSchema = { type: 'string' };
const nullableText: JsonSchema = { type: ['string', 'null'] };
const uuid: JsonSchema = { type: 'string', format: 'uuid' };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const nullableTime: JsonSchema = { anyOf: [time, { type: 'null' }] };
const nullableCount: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
const state: JsonSchema = { type: 'string', enum: ['open', 'succeeded', 'failed'] };
const kind: JsonSchema = { type: 'string', enum: WEBHOOK_EVENT_KINDS };

export const deliverySchemas: Schemas = {
  Delivery: closedObject({
    id: uuid,
    message_id: { ...text, description: 'webhook-id of its calls: the same for every replay of an event.' },
    kind,
    purpose: { ...nullableText, description: 'resend, backfill or test; null where the event itself led to it.' },
    order_id: nullableText,
    table: nullableText,
    sequence: { type: 'integer', minimum: 0, description: 'Grows with each event of the order, or of the table.' },
    state,
    requested_at: time,
    ended_at: nullableTime,
    reason: { ...nullableText, description: 'Why it was given up.' },
    retry_at: nullableTime,
    attempts: { type: 'array', items: schemaRef('DeliveryAttempt') },
  }),
  DeliveryAttempt: closedObject({
    attempt: { type: 'integer', minimum: 1, maximum: 5 },
    url: text,
    started_at: time,
    ended_at: nullableTime,
    duration_ms: nullableCount,
    status: { type: ['integer', 'null'], description: 'Of the answer; null where there was none.' },
    reason: { ...nullableText, description: 'Why it failed; null where it did not.' },
    response_body: { ...nullableText, description: 'The first part of the answer.' },
  }),
  RequestedDelivery: closedObject({ delivery_id: uuid }),
};

const inQuery = (name: string, schema: JsonSchema, description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

const ACCEPTED = 202;

export const deliveryPaths: Paths = {
  [`${WEBHOOK}/deliveries`]: {
    parameters,
    get: platformOperation({
      id: 'list_deliveries',
      summary: 'The delivery log, the newest first',
      tag: 'webhooks',
      parameters: [
        inQuery('state', state, 'open: neither delivered nor given up.'),
        inQuery('kind', kind, 'Kind of event.'),
        inQuery('order_id', uuid, 'About this order.'),
        inQuery('since', time, 'Requested at this time or later.'),
        inQuery('until', time, 'Requested before this time.'),
        inQuery('cursor', { type: 'integer', minimum: 1 }, 'That of a link to the next page.'),
        inQuery('limit', { type: 'integer', minimum: 1, maximum: 100, default: 25 }, 'Entries on a page.'),
      ],
      answer: jsonResponse(
        'One page.',
        closedObject({
          data: { type: 'array', items: schemaRef('Delivery') },
          links: closedObject({ next: nullableText }),
        }),
      ),
      errors: [400],
    }),
  },
  [`${WEBHOOK}/deliveries/{delivery_id}`]: {
    parameters: ofOne,
    get: platformOperation({ id: 'get_delivery', summary: 'One delivery', tag: 'webhooks', answer: one('Delivery') }),
  },
  [`${WEBHOOK}/deliveries/{delivery_id}/resend`]: {
    parameters: ofOne,
    post: platformOperation({
      id: 'resend_delivery',
      summary: 'Send it once more, however it ended',
      tag: 'webhooks',
      status: ACCEPTED,
      answer: one('RequestedDelivery'),
    }),
  },
  [`${WEBHOOK}/resend`]: {
    parameters,
    post: platformOperation({
      id: 'resend_failed',
      summary: 'Send again everything that failed for good in a time',
      tag: 'webhooks',
      body: { schema: inputSchema(resendFailedBody), example: { since: '2026-11-20T00:00:00Z' } },
      status: ACCEPTED,
      answer: jsonResponse(
        'How many are sent again.',
        dataOf(closedObject({ count: { type: 'integer', minimum: 0 } })),
      ),
    }),
  },
  [`${WEBHOOK}/backfill`]: {
    parameters,
    post: platformOperation({
      id: 'backfill_webhook',
      summary: 'Send it what happened in a time, also before it was made',
      tag: 'webhooks',
      body: {
        schema: inputSchema(backfillBody),
        example: { from: '2026-11-01T00:00:00Z', events: ['order.approved'] },
      },
      status: ACCEPTED,
      answer: jsonResponse('It has begun.', dataOf(closedObject({ backfill_id: uuid }))),
    }),
  },
  [`${WEBHOOK}/test`]: {
    parameters,
    post: platformOperation({
      id: 'test_webhook',
      summary: 'Send it the example of a kind of event',
      tag: 'webhooks',
      body: { schema: inputSchema(testEventBody), example: { event: 'order.approved' } },
      status: ACCEPTED,
      answer: one('RequestedDelivery'),
    }),
  },
};
