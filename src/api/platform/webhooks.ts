/** Webhooks of the organisation (spec §6): `/api/v1/platform/webhooks`. */
import { Router } from 'express';
import { parseBody } from '../../commands/body.js';
import {
  changeWebhook,
  createWebhook,
  disableWebhook,
  disableWebhookBody,
  enableWebhook,
  removeWebhook,
} from '../../commands/webhooks/settings.js';
import { pathParameter } from '../assets/access.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import { hasBody, type JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, ADMINS_AND_AUDITORS, allow } from './signedIn.js';
import { webhookSecretsRouter } from './webhookSecrets.js';
import { changing, viewAfter, webhookOf, webhookView } from './webhookView.js';

export function webhooksRouter(
  deps: Pick<ApiDeps, 'commands' | 'directory' | 'checkWebhookTarget'>,
  readBody: JsonBodyReader,
): Router {
  const { commands, checkWebhookTarget } = deps;
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
        sendJson(res, 201, JSON.stringify({ data: { ...viewAfter(deps, caller.tenant, id), secret } }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/webhooks/:id')
    .get(
      allow(ADMINS_AND_AUDITORS, (req, res) => {
        const data = webhookView(webhookOf(req.context.tenant, pathParameter(req, 'id')));
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .put(
      changing(deps, async (caller, id, req, res) =>
        changeWebhook(commands, caller, id, await readBody(req, res), checkWebhookTarget),
      ),
    )
    .delete(
      allow(ADMINS, async (req, res) => {
        await removeWebhook(commands, req.context.caller(), pathParameter(req, 'id'));
        res.status(204).end();
      }),
    )
    .all(methodNotAllowed('GET, HEAD, PUT, DELETE'));
  router
    .route('/webhooks/:id/enable')
    .post(changing(deps, (caller, id) => enableWebhook(commands, caller, id)))
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/disable')
    .post(
      changing(deps, async (caller, id, req, res) => {
        const { reason } = parseBody(disableWebhookBody, hasBody(req) ? await readBody(req, res) : {});
        return disableWebhook(commands, caller, id, { cause: 'admin', reason });
      }),
    )
    .all(methodNotAllowed('POST'));
  router.use(webhookSecretsRouter(deps));
  return router;
}
