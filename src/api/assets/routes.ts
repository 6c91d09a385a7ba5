/** The routes of spec §4 under /api/v1/dynamic-assets/dyn. */
import { type RequestHandler, Router } from 'express';
import { authenticateClient } from '../auth/bearer.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { methodNotAllowed, unknownPath } from '../errors.js';
import { jsonBodyReader } from '../jsonBody.js';
import { limitClients } from '../rateLimit.js';
import { resolveTenant } from '../tenantHost.js';
import { knownAsset } from './access.js';
import { assetInfo, listAssets } from './info.js';
import { getRecord, listRecords, orderHistory } from './reads.js';
import { batchHandler, cleanUpHandler, createHandler, updateHandler } from './writes.js';

/**
 * Checks come in this order: tenant (404), token (401), rate (429), table (404), scope (403), then the rest.
 * The body is read last: nobody unknown can make the service parse megabytes.
 */
export function assetRoutes(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const readBody = jsonBodyReader(deps.config.bodyLimitBytes);
  const router = Router({ caseSensitive: true });

  router.use((req, _res, next) => {
    req.context.mount = req.baseUrl;
    next();
  });
  router.use(resolveTenant(deps, refresh));
  router.use(authenticateClient(deps, refresh));
  router.use(limitClients(deps));

  router.route('/').get(listAssets(deps)).all(methodNotAllowed('GET, HEAD'));
  router.route('/:table/info').get(assetInfo(deps)).all(onKnownAsset, methodNotAllowed('GET, HEAD'));
  router
    .route('/:table/assets')
    .get(listRecords(deps))
    .post(createHandler(deps, readBody))
    .all(onKnownAsset, methodNotAllowed('GET, HEAD, POST'));
  // Before `:id`: these are no ids.
  router.route('/:table/assets/batch').post(batchHandler(deps, readBody)).all(onKnownAsset, methodNotAllowed('POST'));
  router
    .route('/:table/assets/clean-up')
    .post(cleanUpHandler(deps, readBody))
    .all(onKnownAsset, methodNotAllowed('POST'));
  router
    .route('/:table/assets/:id')
    .get(getRecord(deps))
    .put(updateHandler(deps, readBody))
    .all(onKnownAsset, methodNotAllowed('GET, HEAD, PUT'));
  router.route('/:table/assets/:id/history').get(orderHistory(deps)).all(onKnownAsset, methodNotAllowed('GET, HEAD'));
  router.use(unknownPath);
  return router;
}

/** An unknown table is 404 whatever the method. */
const onKnownAsset: RequestHandler = (req, _res, next) => {
  knownAsset(req);
  next();
};
