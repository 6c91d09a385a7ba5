/** Credentials of integrators (spec §5.1): `/api/v1/platform/api-clients`. A secret is shown once, when it is made. */
import { Router } from 'express';
import { NotFoundError } from '../../commands/context.js';
import { createClient, regenerateClientSecret, removeClient } from '../../commands/identity/clients.js';
import { tenantOf } from '../../commands/tables.js';
import type { ApiClient } from '../../domain/identity/directory.js';
import type { ApiDeps } from '../deps.js';
import { methodNotAllowed } from '../errors.js';
import type { JsonBodyReader } from '../jsonBody.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, ADMINS_AND_AUDITORS, allow } from './signedIn.js';

const clientView = (client: ApiClient) => ({
  client_id: client.clientId,
  name: client.name,
  scopes: client.scopes,
  created_at: client.createdAt,
});

export function apiClientsRouter(
  { commands, directory }: Pick<ApiDeps, 'commands' | 'directory'>,
  readBody: JsonBodyReader,
): Router {
  function client(tenant: string, id: string): ApiClient {
    const found = tenantOf({ directory }, tenant).clients.get(id);
    if (found === undefined) throw new NotFoundError(`There is no API client ${id}.`);
    return found;
  }

  const router = Router({ caseSensitive: true });
  router
    .route('/api-clients')
    .get(
      allow(ADMINS_AND_AUDITORS, (req, res) => {
        const data = [...req.context.tenant.clients.values()].map(clientView);
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .post(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const { clientId, clientSecret } = await createClient(commands, caller, await readBody(req, res));
        const data = { ...clientView(client(caller.tenant, clientId)), client_secret: clientSecret };
        sendJson(res, 201, JSON.stringify({ data }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD, POST'));
  router
    .route('/api-clients/:id')
    .delete(
      allow(ADMINS, async (req, res) => {
        await removeClient(commands, req.context.caller(), String(req.params.id));
        res.status(204).end();
      }),
    )
    .all(methodNotAllowed('DELETE'));
  router
    .route('/api-clients/:id/secret')
    .post(
      allow(ADMINS, async (req, res) => {
        const caller = req.context.caller();
        const id = String(req.params.id);
        const { clientSecret } = await regenerateClientSecret(commands, caller, id);
        const data = { ...clientView(client(caller.tenant, id)), client_secret: clientSecret };
        sendJson(res, 200, JSON.stringify({ data }));
      }),
    )
    .all(methodNotAllowed('POST'));
  return router;
}
