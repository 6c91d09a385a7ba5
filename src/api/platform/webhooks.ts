/** Webhooks of the organisation (spec §6): `/api/v1/platform/webhooks`. A secret is shown once, when it is made. */
import { Router } from 'express';
import { NotFoundError } from '../../commands/context.js';
import { tenantOf } from '../../commands/tables.js';
import { createWebhook, regenerateWebhookSecret, removeWebhook } from '../../commands/webhooks.js';
import type { Webhook } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, ADMINS_AND_AUDITORS, allow } from './signedIn.js';

const webhookView = (webhook: Webhook) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  custom_data: webhook.customData,
  created_at: webhook.createdAt,
});

export function webhooksRouter(
  { commands, directory, checkWebhookTarget }: Pick<ApiDeps, 'commands' | 'directory' | 'checkWebhookTarget'>,
  readBody: JsonBodyReader,
): Router {
  function webhook(tenant: string, id: string): Webhook {
    const found = tenantOf({ directory }, tenant).webhooks.get(id);
    if (found === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
    return found;
  }

  const router = Router({ caseSensitive: true });
  router
    .route('/webhooks')
    .get(
      allow(ADMINS_AND_AUDITORS, (req, res) => {
        const data = [...req.context.tenant.webhooks.values()].map(webhookView);
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .post(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const { id, secret } = await createWebhook(commands, caller, await readBody(req, res), checkWebhookTarget);
        sendJson(res, 201, JSON.stringify({ data: { ...webhookView(webhook(caller.tenant, id)), secret } }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/webhooks/:id')
    .delete(
      allow(ADMINS, async (req, res) => {
        await removeWebhook(commands, req.context.caller(), String(req.params.id));
        res.status(204).end();
      }),
    )
    .all(methodNotAllowed('DELETE'));
  router
    .route('/webhooks/:id/secret')
    .post(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const id = String(req.params.id);
        const { secret } = await regenerateWebhookSecret(commands, caller, id);
        sendJson(res, 200, JSON.stringify({ data: { ...webhookView(webhook(caller.tenant, id)), secret } }));
      }),
    )
    .all(methodNotAllowed('POST'));
  return router;
}
