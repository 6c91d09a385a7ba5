/** Replays to a webhook: `/api/v1/platform/webhooks/:id/…`. They are answered when the request is stored; the attempts follow. */
import {
  backfillBody,
  requestBackfill,
  resendDelivery,
  resendFailed,
  resendFailedBody,
  sendTestEvent,
  testEventBody,
} from '../../commands/webhooks/replays.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { WEBHOOK_IDS } from './webhookView.js';

const ACCEPTED = 202;

export const webhookReplays: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas: { RequestedDelivery: json.closedObject({ delivery_id: json.uuid }) },
  operations: {
    'POST /webhooks/:id/deliveries/:deliveryId/resend': {
      id: 'platform_resend_delivery',
      summary: 'Send it once more, however it ended',
      allow: 'admins',
      status: ACCEPTED,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path }) {
        const { deliveryId } = await resendDelivery(commands, caller, path.id, path.deliveryId);
        return dataReply({ delivery_id: deliveryId });
      },
    },
    'POST /webhooks/:id/resend': {
      id: 'platform_resend_failed',
      summary: 'Send again everything that failed for good in a time',
      allow: 'admins',
      body: { schema: json.inputSchema(resendFailedBody), example: { since: '2026-11-20T00:00:00Z' } },
      status: ACCEPTED,
      answer: json.answer('How many are sent again.', json.dataOf(json.closedObject({ count: json.count }))),
      handle: async ({ commands, readModels }, { caller, path: { id }, body }) =>
        dataReply(await resendFailed({ ...commands, readModels }, caller, id, body)),
    },
    'POST /webhooks/:id/backfill': {
      id: 'platform_backfill_webhook',
      summary: 'Send it what happened in a time, also before it was made',
      allow: 'admins',
      body: {
        schema: json.inputSchema(backfillBody),
        example: { from: '2026-11-01T00:00:00Z', events: ['order.approved'] },
      },
      status: ACCEPTED,
      answer: json.answer('It has begun.', json.dataOf(json.closedObject({ backfill_id: json.uuid }))),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { backfillId } = await requestBackfill(commands, caller, id, body);
        return dataReply({ backfill_id: backfillId });
      },
    },
    'POST /webhooks/:id/test': {
      id: 'platform_test_webhook',
      summary: 'Send it the example of a kind of event',
      allow: 'admins',
      body: { schema: json.inputSchema(testEventBody), example: { event: 'order.approved' } },
      status: ACCEPTED,
      answer: json.one('RequestedDelivery'),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { deliveryId } = await sendTestEvent(commands, caller, id, body);
        return dataReply({ delivery_id: deliveryId });
      },
    },
  },
};
