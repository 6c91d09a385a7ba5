/** How the platform API shows a webhook: never with its secret, except for the answer that tells of a new one. */
import { type Caller, NotFoundError } from '../../commands/context.js';
import { tenantOf } from '../../commands/tables.js';
import type { NewSecret } from '../../commands/webhooks/secrets.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import { type DisabledCause, WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import type { Api } from '../deps.js';
import { EXAMPLE_ID } from '../openapi/examples.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Reply } from '../routes/operation.js';

const DISABLED_CAUSES: readonly DisabledCause[] = ['admin', 'gone', 'failing'];

export const webhookView = json.view<Webhook>({
  id: [json.uuid, (webhook) => webhook.id],
  name: [json.text, (webhook) => webhook.name],
  url: [json.link, (webhook) => webhook.url],
  events: [json.listOf(json.oneOf(WEBHOOK_EVENT_KINDS)), (webhook) => webhook.events],
  custom_data: [{ type: 'object' }, (webhook) => webhook.customData],
  enabled: [
    { type: 'boolean', description: 'Nothing is sent to one that is not; what is for it waits.' },
    (webhook) => webhook.disabled === undefined,
  ],
  disabled: [
    json.orNull(json.closedObject({ cause: json.oneOf(DISABLED_CAUSES), reason: json.text, since: json.timestamp })),
    (webhook) => webhook.disabled ?? null,
  ],
  rotating: [
    { type: 'boolean', description: 'Whether a staged secret signs beside the primary one.' },
    (webhook) => webhook.stagedSecret !== undefined,
  ],
  created_at: [json.timestamp, (webhook) => webhook.createdAt],
});

const SECRET: json.JsonSchema = {
  type: 'string',
  description: 'Shown this once; the key of the Signature header (HMAC-SHA256).',
};

export const webhookSchemas: json.Schemas = {
  Webhook: {
    ...webhookView.schema,
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
  WebhookWithSecret: json.closedObject({ ...webhookView.properties, secret: SECRET }),
};

/** Of all paths below `/webhooks/:id`. */
export const WEBHOOK_IDS = { id: pathText('webhook_id'), deliveryId: pathText('delivery_id') };

/** @throws NotFoundError */
export function webhookOf(tenant: Tenant, id: string): Webhook {
  const found = tenant.webhooks.get(id);
  if (found === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
  return found;
}

/** The webhook as it is after a command, which waits for the directory; with the secret that the command made. */
export function webhookReply({ directory }: Api, { tenant }: Caller, id: string, made?: NewSecret): Reply {
  const shown = webhookView.show(webhookOf(tenantOf({ directory }, tenant), id));
  return dataReply(made === undefined ? shown : { ...shown, secret: made.secret });
}
