/** `GET /openapi.json`: what the API of this tenant looks like. Needs no token. */
import { Router } from 'express';
import type { Tenant } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { methodNotAllowed } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { resolveTenant } from '../tenantHost.js';
import { openApiDocument } from './document.js';

/** Any change of a tenant makes a new object of it; what the document shows hangs on its asset types. */
const texts = new WeakMap<Tenant['assetTypes'], string>();

function openApiText(tenant: Tenant): string {
  let text = texts.get(tenant.assetTypes);
  if (text === undefined) {
    text = JSON.stringify(openApiDocument(tenant));
    texts.set(tenant.assetTypes, text);
  }
  return text;
}

export function openApiRoutes(deps: ApiDeps, refresh: DirectoryRefresh): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/openapi.json')
    .get(resolveTenant(deps, refresh), (req, res) => {
      res.setHeader('Cache-Control', 'no-cache');
      sendJson(res, 200, openApiText(req.context.tenant));
    })
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}
