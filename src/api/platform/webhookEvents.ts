/** What webhooks can subscribe to (spec §6.5): `/api/v1/platform/webhook-events`, in the words of the tenant's tables. */
import { Router } from 'express';
import { eventCatalogue } from '../../domain/webhook/catalogue/catalogue.js';
import { methodNotAllowed } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { ANY_ROLE, allow } from './signedIn.js';

export function webhookEventsRouter(): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/webhook-events')
    .get(
      allow(ANY_ROLE, (req, res) => {
        sendJson(res, 200, JSON.stringify({ data: eventCatalogue(req.context.tenant) }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}
