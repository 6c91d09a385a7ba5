/** Signing secrets of a webhook: `/api/v1/platform/webhooks/:id/secret`. A secret is shown once, when it is made. */
import { Router } from 'express';
import {
  promoteWebhookSecret,
  regenerateWebhookSecret,
  stageWebhookSecret,
  unstageWebhookSecret,
} from '../../commands/webhooks/secrets.js';
import { pathParameter } from '../assets/access.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import { ADMINS, allow } from './signedIn.js';
import { changing } from './webhookView.js';

export function webhookSecretsRouter(deps: Pick<ApiDeps, 'commands' | 'directory'>): Router {
  const { commands } = deps;
  const router = Router({ caseSensitive: true });
  router
    .route('/webhooks/:id/secret')
    .post(changing(deps, (caller, id) => regenerateWebhookSecret(commands, caller, id)))
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/secret/rotate')
    .post(changing(deps, (caller, id) => stageWebhookSecret(commands, caller, id), 201))
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/secret/promote')
    .post(changing(deps, (caller, id) => promoteWebhookSecret(commands, caller, id)))
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/secret/staged')
    .delete(
      allow(ADMINS, async (req, res) => {
        await unstageWebhookSecret(commands, req.context.caller(), pathParameter(req, 'id'));
        res.status(204).end();
      }),
    )
    .all(methodNotAllowed('DELETE'));
  return router;
}
