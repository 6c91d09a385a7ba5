/** Customizing Reference Data (spec §1): `/api/v1/platform/asset-types`. */
import { type Request, Router } from 'express';
import { addAssetField, addAssetTable } from '../../commands/identity/assetTypes.js';
import { assetTypeOf, tenantOf } from '../../commands/tables.js';
import { settle } from '../afterWrite.js';
import { pathParameter } from '../assets/access.js';
import { describeAsset } from '../assets/info.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, ANY_ROLE, allow } from './signedIn.js';

export function assetTypesRouter(deps: ApiDeps, readBody: JsonBodyReader): Router {
  const { commands, directory } = deps;

  /** As it is after a change. */
  const described = (req: Request, table: string): string => {
    const assetType = assetTypeOf(tenantOf({ directory }, req.context.tenant.name), table);
    return JSON.stringify({ data: describeAsset(assetType) });
  };

  const router = Router({ caseSensitive: true });
  router
    .route('/asset-types')
    .get(
      allow(ANY_ROLE, (req, res) => {
        const data = [...req.context.tenant.assetTypes.values()].map(describeAsset);
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .post(
      allow(ADMINS, async (req, res) => {
        const body = await readBody(req, res);
        await settle(deps, res, await addAssetTable(commands, req.context.caller(), body));
        sendJson(res, 201, described(req, nameIn(body)));
      }),
    )
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/asset-types/:table/fields')
    .post(
      allow(ADMINS, async (req, res) => {
        const table = pathParameter(req, 'table');
        const body = await readBody(req, res);
        await settle(deps, res, await addAssetField(commands, req.context.caller(), table, body));
        sendJson(res, 201, described(req, table));
      }),
    )
    .all(methodNotAllowed('POST'));
  return router;
}

/** The name in a body that the command has accepted. */
const nameIn = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'name' in body ? String(body.name) : '';
