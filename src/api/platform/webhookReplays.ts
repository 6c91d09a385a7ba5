/** Replays to a webhook: `/api/v1/platform/webhooks/:id/…`. The answer comes when it is recorded; the calls follow. */
import { type RequestHandler, Router } from 'express';
import { requestBackfill, resendDelivery, resendFailed, sendTestEvent } from '../../commands/webhooks/replays.js';
import { pathParameter } from '../assets/access.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, allow, type UserHandler } from './signedIn.js';

type Replay = (...request: Parameters<UserHandler>) => Promise<object>;

/** For admins: 202 with what was requested. */
const accepting = (replay: Replay): RequestHandler =>
  allow(ADMINS, async (req, res, user) => {
    sendJson(res, 202, JSON.stringify({ data: await replay(req, res, user) }));
  });

export function webhookReplaysRouter(
  { commands, readModels }: Pick<ApiDeps, 'commands' | 'readModels'>,
  readBody: JsonBodyReader,
): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/webhooks/:id/deliveries/:deliveryId/resend')
    .post(
      accepting(async (req) => {
        const [id, deliveryId] = [pathParameter(req, 'id'), String(req.params.deliveryId)];
        const requested = await resendDelivery(commands, req.context.caller(), id, deliveryId);
        return { delivery_id: requested.deliveryId };
      }),
    )
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/resend')
    .post(
      accepting(async (req, res) =>
        resendFailed(
          { ...commands, readModels },
          req.context.caller(),
          pathParameter(req, 'id'),
          await readBody(req, res),
        ),
      ),
    )
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/backfill')
    .post(
      accepting(async (req, res) => {
        const id = pathParameter(req, 'id');
        const { backfillId } = await requestBackfill(commands, req.context.caller(), id, await readBody(req, res));
        return { backfill_id: backfillId };
      }),
    )
    .all(methodNotAllowed('POST'));
  router
    .route('/webhooks/:id/test')
    .post(
      accepting(async (req, res) => {
        const id = pathParameter(req, 'id');
        const { deliveryId } = await sendTestEvent(commands, req.context.caller(), id, await readBody(req, res));
        return { delivery_id: deliveryId };
      }),
    )
    .all(methodNotAllowed('POST'));
  return router;
}
