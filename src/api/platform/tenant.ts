/** The organisation itself: `/api/v1/platform/tenant`. */
import { Router } from 'express';
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { changeRateLimit } from '../../commands/identity/tenants.js';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, ANY_ROLE, allow } from './signedIn.js';

const rate = z
  .number('must be a number.')
  .int('must be an integer.')
  .min(1, 'must be at least 1.')
  .max(1_000_000, 'must be at most 1000000.');

/** Requests a second that each API client may make for ever, and at once after a pause. */
export const rateLimitBody = z.strictObject({ per_second: rate, burst: rate });

const tenantView = ({ name, displayName, orderModel, rateLimit }: Tenant) => ({
  name,
  display_name: displayName,
  order_model: orderModel,
  rate_limit: rateLimit === undefined ? null : { per_second: rateLimit.perSecond, burst: rateLimit.burst },
});

export function tenantRouter(
  { commands, directory }: Pick<ApiDeps, 'commands' | 'directory'>,
  readBody: JsonBodyReader,
): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/tenant')
    .get(allow(ANY_ROLE, (req, res) => sendJson(res, 200, JSON.stringify({ data: tenantView(req.context.tenant) }))))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/tenant/rate-limit')
    .put(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const { per_second: perSecond, burst } = parseBody(rateLimitBody, await readBody(req, res));
        await changeRateLimit(commands, caller, { perSecond, burst });
        const data = tenantView(tenantOf({ directory }, caller.tenant));
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .all(methodNotAllowed('PUT'));
  return router;
}
