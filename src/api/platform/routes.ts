/** The API for the people on the other side: /api/v1/platform. */
import { Router } from 'express';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { unknownPath } from '../errors.js';
import { jsonBodyReader } from '../jsonBody.js';
import { resolveTenant } from '../tenantHost.js';
import { apiClientsRouter } from './apiClients.js';
import { assetTypesRouter } from './assetTypes.js';
import { ordersRouter } from './orders.js';
import { sessionRouter } from './session.js';
import { authenticateUser } from './signedIn.js';
import { tenantRouter } from './tenant.js';
import { usersRouter } from './users.js';
import { webhookDeliveriesRouter } from './webhookDeliveries.js';
import { webhookEventsRouter } from './webhookEvents.js';
import { webhookReplaysRouter } from './webhookReplays.js';
import { webhooksRouter } from './webhooks.js';

/** Checks come in this order: tenant (404), user (401), path (404), role (403), then the rest; the body is read last. */
export function platformRoutes(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const readBody = jsonBodyReader(deps.config.bodyLimitBytes);
  const router = Router({ caseSensitive: true });
  router.use((req, res, next) => {
    req.context.mount = req.baseUrl;
    // Orders, people and secrets are nothing for a cache.
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.use(resolveTenant(deps, refresh));
  router.use(sessionRouter(deps, refresh));
  router.use(authenticateUser(deps, refresh));
  router.use(ordersRouter(deps, readBody));
  router.use(apiClientsRouter(deps, readBody));
  router.use(webhooksRouter(deps, readBody));
  router.use(webhookDeliveriesRouter(deps));
  router.use(webhookReplaysRouter(deps, readBody));
  router.use(webhookEventsRouter());
  router.use(usersRouter(deps, readBody));
  router.use(assetTypesRouter(deps, readBody));
  router.use(tenantRouter(deps, readBody));
  router.use(unknownPath);
  return router;
}
