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
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import { MAX_DELIVERY_ATTEMPTS } from '../../domain/webhook/delivery.js';
import { type SentBody, sentBody } from '../../webhooks/sentBody.js';
import { limitOf } from '../assets/listQuery.js';
import { untilShown } from '../assets/moments.js';
import { linkedReply } from '../assets/pages.js';
import { isDryRun } from '../changeOptions.js';
import { attemptView, DELIVERY_STATES, deliveryView, shownDelivery } from '../deliveryView.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { CHANGES, dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { WEBHOOK_IDS } from './webhooks.js';

const MAX_LIMIT = 100;

/** The body is text in the answer, so that its bytes are kept. */
const bodyView = json.view<SentBody & { readonly attempt: number }>({
  attempt: json.count,
  url: json.text,
  started_at: json.timestamp,
  sent_sha256: json.nullableText,
  made_sha256: json.text,
  is_proved: [json.truth, ({ sentSha256, madeSha256 }) => sentSha256 === madeSha256],
  body: [json.text, ({ body }) => body.toString()],
});

const wholeNumber = (most: number, message: string) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text),
    z.int(message).min(1, message).max(most, message),
  );

const deliveryQuery = z.object({
  state: z
    .enum(DELIVERY_STATES, `must be one of ${DELIVERY_STATES.join(', ')}.`)
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
  limit: limitOf(MAX_LIMIT),
});

const bodyQuery = z.object({
  attempt: wholeNumber(MAX_DELIVERY_ATTEMPTS, `must be 1 to ${MAX_DELIVERY_ATTEMPTS}.`)
    .default(1)
    .meta({ default: 1, description: 'Number of the attempt.' }),
});

export const webhookDeliveries: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas: {
    Delivery: deliveryView.schema,
    DeliveryAttempt: attemptView.schema,
    DeliveryBody: bodyView.schema,
    RequestedDelivery: json.closedObject({ delivery_id: json.uuid }),
  },
  operations: {
    'GET /webhooks/:id/deliveries': {
      id: 'platformListDeliveries',
      work: 'list',
      summary: 'The delivery log, the newest first',
      allow: 'adminsAndAuditors',
      query: parametersIn(deliveryQuery),
      answer: json.linkedPage('Delivery'),
      async handle(api, call, cancellation) {
        const { tenant, path } = call;
        const { order_id: orderId, cursor: after, limit, ...query } = parseQuery(deliveryQuery, call.query);
        await checkKnown(api, tenant, path.id);
        const asked = { ...query, webhookId: path.id, orderId, after, limit: limit + 1 };
        const found = await api.queries.deliveries.page(tenant.name, asked, cancellation);
        const page = found.slice(0, limit);
        const shown = page.map((entry) => shownDelivery(tenant, entry));
        return linkedReply(api, call, shown, found.length > limit ? page.at(-1)?.position : undefined);
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId': {
      id: 'platformGetDelivery',
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
      id: 'platformGetDeliveryBody',
      summary: 'The body that an attempt sent',
      description:
        'Made again from the log, with the custom data of the webhook as it was. The SHA-256 of what was sent is kept with the attempt: `is_proved` says whether the two agree. They do for approvals, tables and tests of an unchanged tenant; another event of an order names records as they are, which may have changed since.',
      allow: 'adminsAndAuditors',
      query: parametersIn(bodyQuery),
      answer: json.one('DeliveryBody'),
      async handle({ commands, queries }, { req, tenant, path: { id, deliveryId }, query }) {
        const { attempt } = parseQuery(bodyQuery, query);
        const key = { tenant: tenant.name, deliveryId: deliveryId.toLowerCase() };
        const entry = await queries.deliveries.delivery(tenant.name, key.deliveryId);
        const { deadline } = req.context;
        const sent = entry?.webhookId === id ? await sentBody(commands, tenant, key, attempt, deadline) : undefined;
        if (sent === undefined)
          throw new NotFoundError(`Delivery ${deliveryId} to this webhook has no attempt ${attempt}.`);
        return dataReply(bodyView.show({ ...sent, attempt }));
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
      description:
        'Those that were not sent again. An event of an order that arrived since, and an export that a later approval replaces, are left out.',
      allow: 'admins',
      query: [
        {
          name: 'dry_run',
          description: 'true: counts, and sends nothing.',
          schema: { type: 'boolean', default: false },
        },
      ],
      body: json.bodyOf(resendFailedBody, { since: '2026-11-20T00:00:00Z' }),
      status: 202,
      answer: json.answer('How many are sent again.', json.dataOf(json.closedObject({ count: json.count }))),
      handle: async ({ commands, queries }, { caller, path: { id }, query, body }) =>
        dataReply(await resendFailed({ ...commands, queries }, caller, id, body, isDryRun(query))),
    },
    'POST /webhooks/:id/backfill': {
      id: 'platformBackfillWebhook',
      grows: CHANGES,
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
async function checkKnown(api: Api, tenant: Tenant, webhookId: string): Promise<void> {
  if (tenant.webhooks.has(webhookId)) return;
  const [latest] = await api.queries.deliveries.page(tenant.name, { webhookId, limit: 1 });
  if (latest === undefined) throw new NotFoundError(`There is no webhook ${webhookId}.`);
}
