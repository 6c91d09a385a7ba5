/** Webhooks of the organisation (spec §6): `/api/v1/platform/webhooks`. */
import { parseBody } from '../../commands/body.js';
import {
  changeWebhook,
  changeWebhookBody,
  createWebhook,
  disableWebhook,
  disableWebhookBody,
  enableWebhook,
  removeWebhook,
  webhookBody,
} from '../../commands/webhooks/settings.js';
import { eventCatalogue } from '../../domain/webhook/catalogue/catalogue.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { WEBHOOK_IDS, webhookOf, webhookReply, webhookSchemas, webhookView } from './webhookView.js';

const TAG = 'platform: webhooks';

export const webhooks: Resource = {
  tag: TAG,
  pathParameters: WEBHOOK_IDS,
  schemas: webhookSchemas,
  operations: {
    'GET /webhooks': {
      id: 'platform_list_webhooks',
      summary: 'Webhooks',
      allow: 'adminsAndAuditors',
      answer: json.all('Webhook'),
      handle: (_api, { tenant }) => dataReply([...tenant.webhooks.values()].map(webhookView.show)),
    },
    'POST /webhooks': {
      id: 'platform_create_webhook',
      summary: 'Create a webhook',
      allow: 'admins',
      body: {
        schema: json.inputSchema(webhookBody),
        example: { url: 'https://erp.example.com/orders', events: ['order.approved'], custom_data: { company: 7 } },
      },
      status: 201,
      answer: json.one('WebhookWithSecret'),
      async handle(api, { caller, body }) {
        const made = await createWebhook(api.commands, caller, body, api.checkWebhookTarget);
        return webhookReply(api, caller, made.id, made);
      },
    },
    'GET /webhooks/:id': {
      id: 'platform_get_webhook',
      summary: 'One webhook',
      allow: 'adminsAndAuditors',
      answer: json.one('Webhook'),
      handle: (_api, { tenant, path }) => dataReply(webhookView.show(webhookOf(tenant, path.id))),
    },
    'PUT /webhooks/:id': {
      id: 'platform_change_webhook',
      summary: 'Change a webhook; what the body does not name stays',
      allow: 'admins',
      body: {
        schema: json.inputSchema(changeWebhookBody),
        example: { events: ['order.approved', 'order.status_changed'] },
      },
      answer: json.one('Webhook'),
      async handle(api, { caller, path: { id }, body }) {
        await changeWebhook(api.commands, caller, id, body, api.checkWebhookTarget);
        return webhookReply(api, caller, id);
      },
    },
    'DELETE /webhooks/:id': {
      id: 'platform_remove_webhook',
      summary: 'Remove a webhook',
      allow: 'admins',
      status: 204,
      answer: json.NO_CONTENT,
      async handle({ commands }, { caller, path: { id } }) {
        await removeWebhook(commands, caller, id);
        return {};
      },
    },
    'POST /webhooks/:id/enable': {
      id: 'platform_enable_webhook',
      summary: 'Send to it again, what waited for it first',
      allow: 'admins',
      answer: json.one('Webhook'),
      async handle(api, { caller, path: { id } }) {
        await enableWebhook(api.commands, caller, id);
        return webhookReply(api, caller, id);
      },
    },
    'POST /webhooks/:id/disable': {
      id: 'platform_disable_webhook',
      summary: 'Send nothing to it until it is enabled; what is for it waits',
      allow: 'admins',
      body: {
        schema: json.inputSchema(disableWebhookBody),
        example: { reason: 'Moving to a new host.' },
        optional: true,
      },
      answer: json.one('Webhook'),
      async handle(api, { caller, path: { id }, body }) {
        const { reason } = parseBody(disableWebhookBody, body);
        await disableWebhook(api.commands, caller, id, { cause: 'admin', reason });
        return webhookReply(api, caller, id);
      },
    },
  },
};

/** What webhooks can subscribe to (spec §6.5), in the words of the tenant's tables. */
export const webhookEvents: Resource = {
  tag: TAG,
  schemas: {
    WebhookEvent: json.closedObject({
      kind: json.oneOf(WEBHOOK_EVENT_KINDS),
      version: { type: 'string', description: 'Of the body; sent as webhook-event-version.' },
      description: json.text,
      schema: { type: 'object', description: 'JSON Schema 2020-12 of the body, for the tables of the organisation.' },
      example: { type: 'object', description: 'A body; it is what a test sends.' },
    }),
  },
  operations: {
    'GET /webhook-events': {
      id: 'platform_list_webhook_events',
      summary: 'Kinds of events that webhooks can subscribe to',
      allow: 'users',
      answer: json.all('WebhookEvent'),
      handle: (_api, { tenant }) => dataReply(eventCatalogue(tenant)),
    },
  },
};
