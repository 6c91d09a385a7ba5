/** `GET /openapi.json`: what the API of this tenant looks like. Needs no token. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router } from 'express';
import type { Tenant } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { methodNotAllowed } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { resolveTenant } from '../tenantHost.js';
import { assetTypeParts } from './assetPaths.js';
import { openApiDocument } from './document.js';

/** Any change of a tenant makes a new object of it; what the document shows hangs on its asset types. */
const texts = new WeakMap<Tenant['assetTypes'], Promise<string>>();

function openApiText(tenant: Tenant): Promise<string> {
  const text = texts.get(tenant.assetTypes) ?? makeText(tenant);
  texts.set(tenant.assetTypes, text);
  return text;
}

/** Table by table, so that other requests get their turn: some hundred fields take a while. */
async function makeText(tenant: Tenant): Promise<string> {
  for (const assetType of tenant.assetTypes.values()) {
    assetTypeParts(assetType);
    await nextTurn();
  }
  return JSON.stringify(openApiDocument(tenant));
}

export function openApiRoutes(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/openapi.json')
    .get(resolveTenant(deps, refresh), async (req, res) => {
      res.setHeader('Cache-Control', 'no-cache');
      sendJson(res, 200, await openApiText(req.context.tenant));
    })
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}
