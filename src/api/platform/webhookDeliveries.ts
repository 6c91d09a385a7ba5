/** The delivery log of a webhook: `/api/v1/platform/webhooks/:id/deliveries`. It outlives its webhook. */
import { NotFoundError } from '../../commands/context.js';
import { valueSchema } from '../../domain/assetTypes/fieldTypes.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import type {
  DeliveryAttempt,
  DeliveryLog,
  DeliveryLogEntry,
  DeliveryQuery,
  DeliveryState,
} from '../../ports/deliveryLog.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, type QueryParameter, type Resource } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { WEBHOOK_IDS } from './webhookView.js';

const STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];
const dateTime = valueSchema('DateTime');
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

const attemptView = json.view<DeliveryAttempt>({
  attempt: [{ type: 'integer', minimum: 1, maximum: 5 }, (attempt) => attempt.attempt],
  url: [json.text, (attempt) => attempt.url],
  started_at: [json.timestamp, (attempt) => attempt.startedAt],
  ended_at: [json.orNull(json.timestamp), (attempt) => attempt.endedAt],
  duration_ms: [{ type: ['integer', 'null'], minimum: 0 }, (attempt) => attempt.durationMs],
  status: [
    { type: ['integer', 'null'], description: 'Of the answer; null where there was none.' },
    (attempt) => attempt.status,
  ],
  reason: [{ ...json.nullableText, description: 'Why it failed; null where it did not.' }, (attempt) => attempt.reason],
  response_body: [
    { ...json.nullableText, description: 'The first part of the answer.' },
    (attempt) => attempt.responseBody,
  ],
});

const deliveryView = json.view<DeliveryLogEntry>({
  id: [json.uuid, (entry) => entry.id],
  message_id: [
    { ...json.text, description: 'webhook-id of its calls: the same for every replay of an event.' },
    (entry) => entry.messageId,
  ],
  kind: [json.oneOf(WEBHOOK_EVENT_KINDS), (entry) => entry.kind],
  purpose: [
    { ...json.nullableText, description: 'resend, backfill or test; null where the event itself led to it.' },
    (entry) => entry.purpose,
  ],
  order_id: [json.nullableText, (entry) => entry.orderId],
  table: [json.nullableText, (entry) => entry.table],
  sequence: [
    { ...json.count, description: 'Grows with each event of the order, or of the table.' },
    (entry) => entry.sequence,
  ],
  state: [json.oneOf(STATES), (entry) => entry.state],
  requested_at: [json.timestamp, (entry) => entry.requestedAt],
  ended_at: [json.orNull(json.timestamp), (entry) => entry.endedAt],
  reason: [{ ...json.nullableText, description: 'Why it was given up.' }, (entry) => entry.reason],
  retry_at: [json.orNull(json.timestamp), (entry) => entry.retryAt],
  attempts: [json.listOf(json.ref('DeliveryAttempt')), (entry) => entry.attempts.map(attemptView.show)],
});

const QUERY: readonly QueryParameter[] = [
  { name: 'state', schema: json.oneOf(STATES), description: 'open: neither delivered nor given up.' },
  { name: 'kind', schema: json.oneOf(WEBHOOK_EVENT_KINDS), description: 'Kind of event.' },
  { name: 'order_id', schema: json.uuid, description: 'About this order.' },
  { name: 'since', schema: json.timestamp, description: 'Requested at this time or later.' },
  { name: 'until', schema: json.timestamp, description: 'Requested before this time.' },
  { name: 'cursor', schema: { type: 'integer', minimum: 1 }, description: 'That of a link to the next page.' },
  {
    name: 'limit',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    description: 'Entries on a page.',
  },
];

export const webhookDeliveries: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas: { Delivery: deliveryView.schema, DeliveryAttempt: attemptView.schema },
  operations: {
    'GET /webhooks/:id/deliveries': {
      id: 'platform_list_deliveries',
      summary: 'The delivery log, the newest first',
      allow: 'adminsAndAuditors',
      query: QUERY,
      answer: json.answer(
        'One page.',
        json.closedObject({
          data: json.listOf(json.ref('Delivery')),
          links: json.closedObject({ next: json.nullableText }),
        }),
      ),
      async handle({ readModels, config }, { req, tenant, path: { id }, query: parameters }) {
        const { limit, ...query } = parseDeliveryQuery(id, parameters);
        await checkKnown(readModels, tenant, id);
        const found = await readModels.deliveries(tenant.name, { ...query, limit: limit + 1 });
        const page = found.slice(0, limit);
        const last = found.length > limit ? page.at(-1) : undefined;
        const next = last === undefined ? null : `${requestUrl(req, config)}?${nextPage(parameters, last)}`;
        return { body: JSON.stringify({ data: page.map(deliveryView.show), links: { next } }) };
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId': {
      id: 'platform_get_delivery',
      summary: 'One delivery',
      allow: 'adminsAndAuditors',
      answer: json.one('Delivery'),
      async handle({ readModels }, { tenant, path: { id, deliveryId } }) {
        const entry = await readModels.delivery(tenant.name, deliveryId.toLowerCase());
        if (entry?.webhookId !== id) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
        return dataReply(deliveryView.show(entry));
      },
    },
  },
};

/** A webhook that was removed has its log still; one that is unheard of has none. @throws NotFoundError */
async function checkKnown(log: DeliveryLog, tenant: Tenant, webhookId: string): Promise<void> {
  if (tenant.webhooks.has(webhookId)) return;
  const [any] = await log.deliveries(tenant.name, { webhookId, limit: 1 });
  if (any === undefined) throw new NotFoundError(`There is no webhook ${webhookId}.`);
}

/** @throws HttpError 400 naming the parameter that is wrong */
function parseDeliveryQuery(webhookId: string, parameters: URLSearchParams): DeliveryQuery {
  const state = memberOf(parameters, 'state', STATES);
  const kind = memberOf(parameters, 'kind', WEBHOOK_EVENT_KINDS);
  const orderId = single(parameters, 'order_id')?.toLowerCase();
  const since = time(parameters, 'since');
  const until = time(parameters, 'until');
  const after = integer(parameters, 'cursor', Number.MAX_SAFE_INTEGER);
  return {
    webhookId,
    ...(state === undefined ? {} : { state }),
    ...(kind === undefined ? {} : { kind }),
    ...(orderId === undefined ? {} : { orderId }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(after === undefined ? {} : { after }),
    limit: integer(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
  };
}

function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name);
  if (second !== undefined) throw badRequest(`${name} is given twice.`);
  return value;
}

function memberOf<Value extends string>(
  parameters: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = single(parameters, name);
  const value = values.find((each) => each === text);
  if (text !== undefined && value === undefined) throw badRequest(`${name} must be one of ${values.join(', ')}.`);
  return value;
}

function integer(parameters: URLSearchParams, name: string, most: number): number | undefined {
  const text = single(parameters, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) {
    throw badRequest(
      name === 'cursor' ? 'cursor must be that of a link to a next page.' : `${name} must be 1 to ${most}.`,
    );
  }
  return value;
}

function time(parameters: URLSearchParams, name: string): string | undefined {
  const text = single(parameters, name);
  if (text === undefined) return undefined;
  const normalized = dateTime.safeParse(text).data;
  if (typeof normalized !== 'string') throw badRequest(`${name} must be a time such as 2026-11-21T03:11:47Z.`);
  return normalized;
}

/** What was asked for, behind the last entry of this page. */
function nextPage(parameters: URLSearchParams, last: DeliveryLogEntry): string {
  const next = new URLSearchParams(parameters);
  next.set('cursor', String(last.position));
  return next.toString();
}
