/**
 * Webhooks of the organisation (spec §6): `/api/v1/platform/webhooks`. A signing secret is shown once, in the answer to
 * the request that made it.
 */
import type { DirectoryChange } from '../../commands/identity/directoryWriter.js';
import { type NewSecret, rotateWebhookSecret } from '../../commands/webhooks/secrets.js';
import {
  changeWebhook,
  changeWebhookBody,
  createWebhook,
  removeWebhook,
  webhookBody,
} from '../../commands/webhooks/settings.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import type { DisabledCause } from '../../domain/webhook/events.js';
import { known } from '../errors.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  dataReply,
  listReply,
  noContent,
  pathText,
  type Reply,
  type Resource,
} from '../routes/operation.js';

const DISABLED_CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

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

const schemas: json.Schemas = {
  Webhook: webhookView.schema,
  WebhookDisabled: json.closedObject({ cause: json.oneOf(DISABLED_CAUSES), reason: json.text, since: json.timestamp }),
  WebhookWithSecret: json.closedObject({
    ...webhookView.properties,
    secret: { type: 'string' },
  }),
};

/** For all paths below `/webhooks/:id`. */
export const WEBHOOK_IDS = { id: pathText('webhook_id'), deliveryId: pathText('delivery_id') };

/** @throws HttpError 404 */
const webhookOf = (tenant: Tenant | undefined, id: string): Webhook => known(tenant?.webhooks, id, 'webhook');

/** The webhook after a change, which the directory may not know yet; with its new secret if there is one. */
function changedReply({ tenant, secret }: DirectoryChange & Partial<NewSecret>, id: string): Reply {
  const shown = webhookView.show(webhookOf(tenant, id));
  return dataReply(secret === undefined ? shown : { ...shown, secret });
}

export const webhooks: Resource = {
  tag: 'platform: webhooks',
  pathParameters: WEBHOOK_IDS,
  schemas,
  operations: {
    'GET /webhooks': {
      id: 'platformListWebhooks',
      summary: 'Webhooks',
      allow: 'adminsAndAuditors',
      answer: json.all('Webhook'),
      handle: (_api, { tenant }) => listReply(tenant.webhooks.values(), webhookView.show),
    },
    'POST /webhooks': {
      id: 'platformCreateWebhook',
      summary: 'Create a webhook',
      allow: 'admins',
      body: json.bodyOf(webhookBody, {
        url: 'https://erp.example.com/orders',
        events: ['order.approved'],
        custom_data: { company: 7 },
      }),
      status: 201,
      answer: json.one('WebhookWithSecret'),
      async handle(api, { caller, body }) {
        const made = await createWebhook(api.commands, caller, body, api.checkWebhookTarget);
        return changedReply(made, made.id);
      },
    },
    'GET /webhooks/:id': {
      id: 'platformGetWebhook',
      summary: 'One webhook',
      allow: 'adminsAndAuditors',
      answer: json.one('Webhook'),
      handle: (_api, { tenant, path: { id } }) => dataReply(webhookView.show(webhookOf(tenant, id))),
    },
    'PUT /webhooks/:id': {
      id: 'platformChangeWebhook',
      summary: 'Change a webhook, or enable or disable it; fields that the body lacks stay',
      allow: 'admins',
      body: json.bodyOf(changeWebhookBody, { events: ['order.approved', 'order.status_changed'] }),
      answer: json.one('Webhook'),
      handle: async ({ commands, checkWebhookTarget }, { caller, path: { id }, body }) =>
        changedReply(await changeWebhook(commands, caller, id, body, checkWebhookTarget), id),
    },
    'DELETE /webhooks/:id': {
      id: 'platformRemoveWebhook',
      summary: 'Remove a webhook',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }: Call) => removeWebhook(commands, caller, path.id)),
    },
    'POST /webhooks/:id/secret/rotate': {
      id: 'platformRotateWebhookSecret',
      summary: 'A new signing secret; the old one signs beside it in webhook-signature for a day',
      status: 201,
      answer: json.one('WebhookWithSecret'),
      allow: 'admins',
      handle: async ({ commands }, { caller, path: { id } }) =>
        changedReply(await rotateWebhookSecret(commands, caller, id), id),
    },
  },
};
