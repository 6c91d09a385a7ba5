/** The validators' work: `/api/v1/platform/orders`. */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { approveOrder, rejectOrder, saveOrder } from '../../commands/orders/validateOrders.js';
import type { WrittenRecord } from '../../commands/recordView.js';
import type { User } from '../../domain/identity/directory.js';
import { settle } from '../afterWrite.js';
import { pathParameter } from '../assets/access.js';
import { recordEnvelope } from '../assets/envelope.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import { hasBody, type JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { getOrder, listOrders, orderHistory } from './orderReads.js';
import { ANY_ROLE, allow, VALIDATORS } from './signedIn.js';

const MAX_REASONS = 100;
const MAX_REASON_LENGTH = 1000;

export const rejectBody = z.strictObject({
  reasons: z
    .array(
      z
        .string('must be a string.')
        .min(1, 'must not be empty.')
        .max(MAX_REASON_LENGTH, `must be at most ${MAX_REASON_LENGTH} characters.`),
      'must be an array of strings.',
    )
    .max(MAX_REASONS, `must have at most ${MAX_REASONS} entries.`)
    .default([]),
});

export function ordersRouter(deps: ApiDeps, readBody: JsonBodyReader): Router {
  const { commands } = deps;
  const router = Router({ caseSensitive: true });
  router
    .route('/orders')
    .get(allow(ANY_ROLE, listOrders(deps)))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/orders/:id')
    .get(allow(ANY_ROLE, getOrder(deps)))
    .put(
      writing(deps, async (req, res) =>
        saveOrder(commands, req.context.caller(), pathParameter(req, 'id'), await readBody(req, res)),
      ),
    )
    .all(methodNotAllowed('GET, HEAD, PUT'));
  router
    .route('/orders/:id/history')
    .get(allow(ANY_ROLE, orderHistory(deps)))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/orders/:id/approve')
    .post(
      writing(deps, (req, _res, user) => approveOrder(commands, req.context.caller(), pathParameter(req, 'id'), user)),
    )
    .all(methodNotAllowed('POST'));
  router
    .route('/orders/:id/reject')
    .post(
      writing(deps, async (req, res) => {
        const { reasons } = parseBody(rejectBody, hasBody(req) ? await readBody(req, res) : {});
        return rejectOrder(commands, req.context.caller(), pathParameter(req, 'id'), reasons);
      }),
    )
    .all(methodNotAllowed('POST'));
  return router;
}

type OrderWrite = (req: Request, res: Response, user: User) => Promise<WrittenRecord>;

/** For validators; answers with the order once a read shows the write. */
const writing = (deps: ApiDeps, write: OrderWrite): RequestHandler =>
  allow(VALIDATORS, async (req, res, user) => {
    const written = await write(req, res, user);
    await settle(deps, res, written.position);
    sendJson(res, 200, recordEnvelope(JSON.stringify(written.record)));
  });
