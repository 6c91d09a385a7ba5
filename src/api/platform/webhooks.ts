/**
 * Webhooks of the organisation (spec §6) and their deliveries: `/api/v1/platform/webhooks`. A signing secret is shown once, in
 * the answer to the request that made it.
 */
import { z } from 'zod';
import { choiceOf, dateTime } from '../../commands/body.js';
import { NotFoundError } from '../../commands/context.js';
import type { DirectoryChange } from '../../commands/identity/directoryWriter.js';
import { known } from '../../commands/tables.js';
import {
  backfillBody,
  deliveryTo,
  requestBackfill,
  resendDelivery,
  sendTestEvent,
  testEventBody,
} from '../../commands/webhooks/resends.js';
import {
  changeWebhook,
  changeWebhookBody,
  createWebhook,
  eventKind,
  type NewSecret,
  removeWebhook,
  rotateWebhookSecret,
  webhookBody,
} from '../../commands/webhooks/settings.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import type { DisabledCause } from '../../domain/webhook/events.js';
import type { DeliveryAttempt, DeliveryLogEntry, DeliveryQuery, DeliveryState } from '../../queries/deliveries.js';
import { lastingHeaders, makeBody, sha256Of } from '../../webhooks/webhookRequest.js';
import { limitOf, revisionCursor } from '../assets/listQuery.js';
import { untilShown } from '../assets/moments.js';
import { linkedReply } from '../assets/pages.js';
import * as json from '../openapi/schema.js';
import { CHANGES, dataReply, listReply, noContent, pathText, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';

const CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

const webhookView = json.view<Webhook>({
  id: json.uuid,
  name: json.text,
  url: json.link,
  events: json.listOf(json.oneOf(WEBHOOK_EVENT_KINDS)),
  custom_data: { type: 'object' },
  enabled: [json.truth, ({ disabled }) => disabled === undefined],
  disabled: json.orNull(json.ref('WebhookDisabled')),
  created_at: json.timestamp,
});

const DELIVERY_STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];

const HEADERS: json.JsonSchema = { type: ['object', 'null'], additionalProperties: json.text };
const attemptView = json.view<DeliveryAttempt>({
  attempt: { type: 'integer', minimum: 1, maximum: 5 },
  url: json.text,
  body_sha256: json.nullableText,
  started_at: json.timestamp,
  ended_at: json.orNull(json.timestamp),
  duration_ms: { type: ['integer', 'null'], minimum: 0 },
  status: { type: ['integer', 'null'] },
  reason: json.nullableText,
  response_headers: [HEADERS, ({ responseHeaders: all }) => (all ? Object.fromEntries(all) : null)],
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
export function shownDelivery({ webhooks }: Tenant, entry: DeliveryLogEntry): object {
  const disabled = entry.state === 'open' ? webhooks.get(entry.webhookId)?.disabled : undefined;
  const reason = disabled === undefined ? entry.reason : `The webhook is disabled: ${disabled.reason}`;
  return deliveryView.show({ ...entry, reason });
}

const deliveryQuery = z.object({
  state: choiceOf(DELIVERY_STATES).optional(),
  event: eventKind.optional(),
  order_id: z.string().toLowerCase().optional(),
  since: dateTime.optional().meta({ description: 'Requested at this time or later.' }),
  cursor: revisionCursor,
  limit: limitOf(100),
});

/** The webhook after a change, which the directory may not know yet; with its new secret if there is one. */
function changedReply({ tenant, secret }: DirectoryChange & Partial<NewSecret>, id: string): Reply {
  const shown = webhookView.show(known(tenant?.webhooks, id, 'webhook'));
  return dataReply(secret === undefined ? shown : { ...shown, secret });
}

export const webhooks: Resource = {
  tag: 'webhooks',
  pathParameters: { id: pathText('webhook_id'), deliveryId: pathText('delivery_id') },
  schemas: {
    Webhook: webhookView.schema,
    WebhookDisabled: json.closedObject({ cause: json.oneOf(CAUSES), reason: json.text, since: json.timestamp }),
    WebhookWithSecret: json.closedObject({ ...webhookView.properties, secret: { type: 'string' } }),
    Delivery: deliveryView.schema,
    DeliveryAttempt: attemptView.schema,
    DeliveryBody: json.closedObject({ headers: { type: 'object' }, body: json.text, sha256: json.text }),
    RequestedDelivery: json.closedObject({ delivery_id: json.uuid }),
  },
  operations: {
    'GET /webhooks': {
      id: 'listWebhooks',
      summary: 'Webhooks',
      allow: 'adminsAndAuditors',
      answer: json.all('Webhook'),
      handle: (_api, { tenant }) => listReply(tenant.webhooks.values(), webhookView.show),
    },
    'POST /webhooks': {
      id: 'createWebhook',
      summary: 'Create a webhook',
      allow: 'admins',
      body: json.bodyOf(webhookBody, { url: 'https://erp.example.com/orders', custom_data: { company: 7 } }),
      status: 201,
      answer: json.one('WebhookWithSecret'),
      async handle(api, { caller, body }) {
        const made = await createWebhook(api.commands, caller, body, api.checkWebhookTarget);
        return changedReply(made, made.id);
      },
    },
    'GET /webhooks/:id': {
      id: 'getWebhook',
      summary: 'One webhook',
      allow: 'adminsAndAuditors',
      answer: json.one('Webhook'),
      handle: (_api, { tenant, path: { id } }) => dataReply(webhookView.show(known(tenant.webhooks, id, 'webhook'))),
    },
    'PUT /webhooks/:id': {
      id: 'changeWebhook',
      summary: 'Change a webhook, or enable or disable it; fields that the body lacks stay',
      allow: 'admins',
      body: json.bodyOf(changeWebhookBody, { events: ['order.approved', 'order.status_changed'] }),
      answer: json.one('Webhook'),
      handle: async ({ commands, checkWebhookTarget }, { caller, path: { id }, body }) =>
        changedReply(await changeWebhook(commands, caller, id, body, checkWebhookTarget), id),
    },
    'DELETE /webhooks/:id': {
      id: 'removeWebhook',
      summary: 'Remove a webhook',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }) => removeWebhook(commands, caller, path.id)),
    },
    'POST /webhooks/:id/secret/rotate': {
      id: 'rotateWebhookSecret',
      summary: 'A new signing secret; the old one signs beside it in webhook-signature for a day',
      status: 201,
      answer: json.one('WebhookWithSecret'),
      allow: 'admins',
      handle: async ({ commands }, { caller, path: { id } }) =>
        changedReply(await rotateWebhookSecret(commands, caller, id), id),
    },
    'GET /webhooks/:id/deliveries': {
      id: 'listDeliveries',
      work: 'list',
      summary: 'The delivery log, the newest first',
      allow: 'adminsAndAuditors',
      query: parametersIn(deliveryQuery),
      answer: json.linkedPage('Delivery'),
      async handle(api, call, cancellation) {
        const { tenant, path } = call;
        const { event: kind, order_id: orderId, cursor, limit, ...query } = parseQuery(deliveryQuery, call.query);
        const after = cursor === undefined ? undefined : Number(cursor);
        const webhookId = path.id;
        const read = (asked: Omit<DeliveryQuery, 'webhookId'>) =>
          api.queries.deliveries.page(tenant.name, { ...asked, webhookId }, cancellation);
        const entries = await read({ ...query, kind, orderId, after, limit: limit + 1 });
        // A removed webhook still has its log.
        if (entries.length === 0 && !tenant.webhooks.has(webhookId) && (await read({ limit: 1 })).length === 0)
          throw new NotFoundError(`There is no webhook ${webhookId}.`);
        const page = entries.slice(0, limit);
        const shown = page.map((entry) => shownDelivery(tenant, entry));
        return linkedReply(api, call, shown, entries.length > limit ? page.at(-1)?.position : undefined);
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId': {
      id: 'getDelivery',
      summary: 'One delivery',
      allow: 'adminsAndAuditors',
      answer: json.one('Delivery'),
      async handle(api, { tenant, path: { id, deliveryId } }) {
        // It may have been asked for a moment ago, by a resend or a test.
        await untilShown(api, tenant.name);
        const entry = await api.queries.deliveries.delivery(tenant.name, deliveryId.toLowerCase());
        if (entry?.webhookId !== id) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
        return dataReply(shownDelivery(tenant, entry));
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId/body': {
      work: 'costly',
      id: 'getDeliveryBody',
      summary: 'What is sent: the body, and the headers that are the same at each attempt',
      description:
        'Made again from the log, as the next attempt would be. What an attempt sent was the same if its body_sha256 is this sha256.',
      allow: 'adminsAndAuditors',
      answer: json.one('DeliveryBody'),
      async handle({ commands, version }, { tenant, caller, path: { id, deliveryId } }) {
        const loaded = await deliveryTo(commands, caller, id, deliveryId);
        const { customData = {} } = tenant.webhooks.get(id) ?? {};
        const body = await makeBody(commands, tenant, { customData }, loaded.delivery.subject);
        const headers = lastingHeaders(loaded, version);
        return dataReply({ headers, body: body.toString(), sha256: sha256Of(body) });
      },
    },
    'POST /webhooks/:id/deliveries/:deliveryId/resend': {
      id: 'resendDelivery',
      grows: CHANGES,
      summary: 'Send the delivery again, also one that succeeded',
      allow: 'admins',
      status: 202,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path }) {
        return dataReply({ delivery_id: await resendDelivery(commands, caller, path.id, path.deliveryId) });
      },
    },
    'POST /webhooks/:id/backfill': {
      id: 'backfillWebhook',
      grows: CHANGES,
      summary: 'Send the events since a time, also from before the webhook was made; or those whose delivery failed',
      allow: 'admins',
      body: json.bodyOf(backfillBody, { from: '2026-11-01T00:00:00Z', events: ['order.approved'] }),
      status: 202,
      answer: json.answer('It has begun.', json.dataOf(json.closedObject({ backfill_id: json.uuid }))),
      async handle({ commands }, { caller, path: { id }, body }) {
        return dataReply({ backfill_id: await requestBackfill(commands, caller, id, body) });
      },
    },
    'POST /webhooks/:id/test': {
      id: 'testWebhook',
      grows: CHANGES,
      summary: 'Send it the example of a kind of event',
      allow: 'admins',
      body: json.bodyOf(testEventBody, { event: 'order.approved' }),
      status: 202,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path: { id }, body }) {
        return dataReply({ delivery_id: await sendTestEvent(commands, caller, id, body) });
      },
    },
  },
};
