/** The people of the platform: `/api/v1/platform/users`. */
import { Router } from 'express';
import { NotFoundError } from '../../commands/context.js';
import { addUser, changeUser, removeUser } from '../../commands/identity/users.js';
import { tenantOf } from '../../commands/tables.js';
import type { User } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, allow } from './signedIn.js';
import { userView } from './userView.js';

/** @throws NotFoundError for what is no positive integer */
function userId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new NotFoundError(`There is no user ${text}.`);
  return Number(text);
}

export function usersRouter(
  { commands, directory }: Pick<ApiDeps, 'commands' | 'directory'>,
  readBody: JsonBodyReader,
): Router {
  /** As the directory shows the user now; commands wait for it. @throws NotFoundError */
  function user(tenant: string, id: number): User {
    const found = tenantOf({ directory }, tenant).users.get(id);
    if (found === undefined) throw new NotFoundError(`There is no user ${id}.`);
    return found;
  }

  const router = Router({ caseSensitive: true });
  router
    .route('/users')
    .get(
      allow(ADMINS, (req, res) => {
        const data = [...req.context.tenant.users.values()].map(userView);
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .post(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const { id } = await addUser(commands, caller, await readBody(req, res));
        sendJson(res, 201, JSON.stringify({ data: userView(user(caller.tenant, id)) }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/users/:id')
    .get(
      allow(ADMINS, (req, res) => {
        const found = user(req.context.tenant.name, userId(String(req.params.id)));
        sendJson(res, 200, JSON.stringify({ data: userView(found) }));
      }),
    )
    .put(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const id = userId(String(req.params.id));
        await changeUser(commands, caller, id, await readBody(req, res));
        sendJson(res, 200, JSON.stringify({ data: userView(user(caller.tenant, id)) }));
      }),
    )
    .delete(
      allow(ADMINS, async (req, res) => {
        await removeUser(commands, req.context.caller(), userId(String(req.params.id)));
        res.status(204).end();
      }),
    )
    .all(methodNotAllowed('GET, HEAD, PUT, DELETE'));
  return router;
}
