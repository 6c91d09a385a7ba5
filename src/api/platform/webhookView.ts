/** How the platform API shows a webhook: never with its secret, except for the answer that tells of a new one. */
import { type Caller, NotFoundError } from '../../commands/context.js';
import { tenantOf } from '../../commands/tables.js';
import type { NewSecret } from '../../commands/webhooks/secrets.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import { type DisabledCause, WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import type { Api } from '../deps.js';
import { EXAMPLE_ID } from '../openapi/examples.js';
import { closedObject, link, listOf, oneOf, orNull, type Schemas, text, timestamp, uuid } from '../openapi/schema.js';
import { dataReply, pathText, type Reply } from '../routes/operation.js';

const DISABLED_CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

const webhookSchema: Schemas = {
  id: uuid,
  name: text,
  url: link,
  events: listOf(oneOf(WEBHOOK_EVENT_KINDS)),
  custom_data: { type: 'object' },
  enabled: { type: 'boolean', description: 'Nothing is sent to one that is not; what is for it waits.' },
  disabled: orNull(closedObject({ cause: oneOf(DISABLED_CAUSES), reason: text, since: timestamp })),
  rotating: { type: 'boolean', description: 'Whether a staged secret signs beside the primary one.' },
  created_at: timestamp,
};

export const webhookSchemas: Schemas = {
  Webhook: {
    ...closedObject(webhookSchema),
    examples: [
      {
        id: EXAMPLE_ID,
        name: 'erp.example.com',
        url: 'https://erp.example.com/orders',
        events: ['order.approved'],
        custom_data: {},
        enabled: true,
        disabled: null,
        rotating: false,
        created_at: '2026-11-21T03:11:47.123456Z',
      },
    ],
  },
  WebhookWithSecret: closedObject({
    ...webhookSchema,
    secret: { type: 'string', description: 'Shown this once; the key of the Signature header (HMAC-SHA256).' },
  }),
};

/** Of all paths below `/webhooks/:id`. */
export const WEBHOOK_IDS = { id: pathText('webhook_id'), deliveryId: pathText('delivery_id') };

/** @throws NotFoundError */
export function webhookOf(tenant: Tenant, id: string): Webhook {
  const found = tenant.webhooks.get(id);
  if (found === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
  return found;
}

export const webhookView = (webhook: Webhook) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  custom_data: webhook.customData,
  enabled: webhook.disabled === undefined,
  disabled: webhook.disabled ?? null,
  rotating: webhook.stagedSecret !== undefined,
  created_at: webhook.createdAt,
});

/** The webhook as it is after a command, which waits for the directory; with the secret that the command made. */
export function webhookReply({ directory }: Api, { tenant }: Caller, id: string, made?: NewSecret): Reply {
  const view = webhookView(webhookOf(tenantOf({ directory }, tenant), id));
  return dataReply(made === undefined ? view : { ...view, secret: made.secret });
}
