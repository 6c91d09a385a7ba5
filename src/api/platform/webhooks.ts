/**
 * Webhooks of the organisation (spec §6): `/api/v1/platform/webhooks`. A signing secret is shown once, in the answer to
 * the request that made it.
 */
import { parseBody } from '../../commands/body.js';
import type { Caller } from '../../commands/context.js';
import type { DirectoryChange } from '../../commands/identity/directoryWriter.js';
import { endWebhookRotation, type NewSecret, renewWebhookSecret } from '../../commands/webhooks/secrets.js';
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
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import { eventCatalogue, WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import type { DisabledCause } from '../../domain/webhook/events.js';
import type { WebhookHealth } from '../../queries/deliveries.js';
import { withTimeout } from '../../supervision/waiting.js';
import type { Api } from '../deps.js';
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

const TAG = 'platform: webhooks';

const DISABLED_CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

const properties = {
  id: json.uuid,
  name: json.text,
  url: json.link,
  events: json.listOf(json.oneOf(WEBHOOK_EVENT_KINDS)),
  custom_data: { type: 'object' },
  enabled: [json.truth, ({ disabled }: Webhook) => disabled === undefined],
  disabled: json.orNull(json.ref('WebhookDisabled')),
  rotating: [json.truth, ({ stagedSecret }: Webhook) => stagedSecret !== undefined],
  created_at: json.timestamp,
} as const;

const webhookView = json.view<Webhook>(properties);

/** With what the delivery log knows, which takes a look-up a webhook. */
const withHealthView = json.view<Webhook & { readonly health: WebhookHealth | undefined }>({
  ...properties,
  health: [
    json.orNull(json.ref('WebhookHealth')),
    ({ health }) =>
      health === undefined ? null : { failing_since: health.failingSince, last_success_at: health.lastSuccessAt },
  ],
});

/** A webhook is shown without its health if it takes longer, in milliseconds. */
const HEALTH_WITHIN_MS = 1_000;

const schemas: json.Schemas = {
  Webhook: webhookView.schema,
  WebhookDisabled: json.closedObject({ cause: json.oneOf(DISABLED_CAUSES), reason: json.text, since: json.timestamp }),
  WebhookWithHealth: withHealthView.schema,
  WebhookHealth: json.closedObject({
    failing_since: json.orNull(json.timestamp),
    last_success_at: json.orNull(json.timestamp),
  }),
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

/** A command on the path's webhook, which changes nothing else. */
const changedBy = (change: (...asked: [Api['commands'], Caller, string]) => Promise<DirectoryChange>) => ({
  allow: 'admins' as const,
  handle: async ({ commands }: Api, { caller, path: { id } }: Call): Promise<Reply> =>
    changedReply(await change(commands, caller, id), id),
});

export const webhooks: Resource = {
  tag: TAG,
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
      body: {
        ...json.bodyOf(webhookBody, {
          url: 'https://erp.example.com/orders',
          events: ['order.approved'],
          custom_data: { company: 7 },
        }),
      },
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
      answer: json.one('WebhookWithHealth'),
      async handle({ queries }, { tenant, path: { id } }) {
        const webhook = webhookOf(tenant, id);
        const found = queries.deliveries.healthOf(tenant.name, id);
        const asked = withTimeout(HEALTH_WITHIN_MS, 'The delivery log does not answer.', found);
        return dataReply(withHealthView.show({ ...webhook, health: await asked.catch(() => undefined) }));
      },
    },
    'PUT /webhooks/:id': {
      id: 'platformChangeWebhook',
      summary: 'Change a webhook; fields that the body lacks stay',
      allow: 'admins',
      body: {
        ...json.bodyOf(changeWebhookBody, { events: ['order.approved', 'order.status_changed'] }),
      },
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
    'POST /webhooks/:id/enable': {
      id: 'platformEnableWebhook',
      summary: 'Send to it again, the waiting deliveries first',
      answer: json.one('Webhook'),
      ...changedBy(enableWebhook),
    },
    'POST /webhooks/:id/disable': {
      id: 'platformDisableWebhook',
      summary: 'Send nothing to it until it is enabled; its deliveries wait',
      allow: 'admins',
      body: { ...json.bodyOf(disableWebhookBody, { reason: 'Moving to a new host.' }), optional: true },
      answer: json.one('Webhook'),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { reason } = parseBody(disableWebhookBody, body);
        return changedReply(await disableWebhook(commands, caller, id, { cause: 'admin', reason }), id);
      },
    },
    'POST /webhooks/:id/secret': {
      id: 'platformRegenerateWebhookSecret',
      summary: 'Replace the signing secret; the old one ends at once',
      answer: json.one('WebhookWithSecret'),
      ...changedBy((...asked) => renewWebhookSecret(...asked, 'WebhookSecretRegenerated')),
    },
    'POST /webhooks/:id/secret/rotate': {
      id: 'platformStageWebhookSecret',
      summary: 'Begin a rotation: a new secret signs beside the old one in webhook-signature',
      status: 201,
      answer: json.one('WebhookWithSecret'),
      ...changedBy((...asked) => renewWebhookSecret(...asked, 'WebhookSecretStaged')),
    },
    'POST /webhooks/:id/secret/promote': {
      id: 'platformPromoteWebhookSecret',
      summary: 'End a rotation: the new secret is the only one',
      answer: json.one('Webhook'),
      ...changedBy((...asked) => endWebhookRotation(...asked, 'WebhookSecretPromoted')),
    },
    'DELETE /webhooks/:id/secret/staged': {
      id: 'platformUnstageWebhookSecret',
      summary: 'End a rotation: the old secret is the only one',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }: Call) =>
        endWebhookRotation(commands, caller, path.id, 'WebhookSecretUnstaged'),
      ),
    },
  },
};

/** Kinds of events that webhooks can subscribe to (spec §6.5), with schemas and examples for the tenant's tables. */
export const webhookEvents: Resource = {
  tag: TAG,
  schemas: {
    WebhookEvent: json.closedObject({
      kind: json.oneOf(WEBHOOK_EVENT_KINDS),
      version: { type: 'string' },
      description: json.text,
      schema: { type: 'object' },
      example: { type: 'object' },
    }),
  },
  operations: {
    'GET /webhook-events': {
      id: 'platformListWebhookEvents',
      summary: 'Kinds of events that webhooks can subscribe to',
      allow: 'users',
      answer: json.all('WebhookEvent'),
      handle: (_api, { tenant }) => dataReply(eventCatalogue(tenant)),
    },
  },
};
