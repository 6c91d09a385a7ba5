/**
 * The delivery log of a webhook, which outlives it: `/api/v1/platform/webhooks/:id/deliveries`. Replays are answered
 * once the request is stored; the attempts follow.
 */
import { z } from 'zod';
import { NotFoundError } from '../../commands/context.js';
import { loadDelivery } from '../../commands/webhooks/deliveryStream.js';
import {
  backfillBody,
  requestBackfill,
  resendDelivery,
  sendTestEvent,
  testEventBody,
} from '../../commands/webhooks/replays.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import type { DeliveryQuery } from '../../queries/deliveries.js';
import { makeBody, sha256Of } from '../../webhooks/webhookRequest.js';
import { limitOf, revisionCursor } from '../assets/listQuery.js';
import { untilShown } from '../assets/moments.js';
import { linkedReply } from '../assets/pages.js';
import { attemptView, DELIVERY_STATES, deliveryView, shownDelivery } from '../deliveryView.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type Call, CHANGES, dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { WEBHOOK_IDS } from './webhooks.js';

const MAX_LIMIT = 100;

const deliveryQuery = z.object({
  state: z
    .enum(DELIVERY_STATES, `must be one of ${DELIVERY_STATES.join(', ')}.`)
    .optional()
    .describe('open: neither delivered nor given up.'),
  order_id: z.string().toLowerCase().optional().describe('Only deliveries about this order.'),
  since: dateTime.optional().meta({ description: 'Requested at this time or later.' }),
  cursor: revisionCursor,
  limit: limitOf(MAX_LIMIT),
});

/** Its entry in the log. @throws NotFoundError */
async function found({ queries }: Api, { tenant, path: { id, deliveryId } }: Call) {
  const entry = await queries.deliveries.delivery(tenant.name, deliveryId.toLowerCase());
  if (entry?.webhookId !== id) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
  return entry;
}

export const webhookDeliveries: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas: {
    Delivery: deliveryView.schema,
    DeliveryAttempt: attemptView.schema,
    DeliveryBody: json.closedObject({ body: json.text, sha256: json.text }),
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
        const { order_id: orderId, cursor, limit, ...query } = parseQuery(deliveryQuery, call.query);
        const after = cursor === undefined ? undefined : Number(cursor);
        const webhookId = path.id;
        const read = (asked: Omit<DeliveryQuery, 'webhookId'>) =>
          api.queries.deliveries.page(tenant.name, { ...asked, webhookId }, cancellation);
        const entries = await read({ ...query, orderId, after, limit: limit + 1 });
        // A removed webhook still has its log.
        if (entries.length === 0 && !tenant.webhooks.has(webhookId) && (await read({ limit: 1 })).length === 0)
          throw new NotFoundError(`There is no webhook ${webhookId}.`);
        const page = entries.slice(0, limit);
        const shown = page.map((entry) => shownDelivery(tenant, entry));
        return linkedReply(api, call, shown, entries.length > limit ? page.at(-1)?.position : undefined);
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId': {
      id: 'platformGetDelivery',
      summary: 'One delivery',
      allow: 'adminsAndAuditors',
      answer: json.one('Delivery'),
      async handle(api, call) {
        // It may have been asked for a moment ago, by a resend or a test.
        await untilShown(api, call.tenant.name);
        return dataReply(shownDelivery(call.tenant, await found(api, call)));
      },
    },
    'GET /webhooks/:id/deliveries/:deliveryId/body': {
      work: 'costly',
      id: 'platformGetDeliveryBody',
      summary: 'What is sent',
      description:
        'Made again from the log, as the next attempt would be. What an attempt sent was the same if its body_sha256 is this sha256: so it is for approvals and tables unless the custom data changed. Other events of an order name records as they are.',
      allow: 'adminsAndAuditors',
      answer: json.one('DeliveryBody'),
      async handle(api, call) {
        const { tenant } = call;
        const { id: deliveryId, webhookId } = await found(api, call);
        const loaded = await loadDelivery(api.commands.eventStore, { tenant: tenant.name, deliveryId });
        if (loaded === undefined) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
        const { customData = {} } = tenant.webhooks.get(webhookId) ?? {};
        const body = await makeBody(api.commands, tenant, { customData }, loaded.delivery.subject);
        return dataReply({ body: body.toString(), sha256: sha256Of(body) });
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
    'POST /webhooks/:id/backfill': {
      id: 'platformBackfillWebhook',
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
      id: 'platformTestWebhook',
      grows: CHANGES,
      summary: 'Send it an event that is about nothing, with the custom data alone',
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
