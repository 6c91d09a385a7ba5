/** Credentials of integrators (spec §5.1): `/api/v1/platform/api-clients`. A secret is shown once, when it is made. */
import { NotFoundError } from '../../commands/context.js';
import { clientBody, createClient, regenerateClientSecret, removeClient } from '../../commands/identity/clients.js';
import { tenantOf } from '../../commands/tables.js';
import type { ApiClient } from '../../domain/identity/directory.js';
import { SCOPES } from '../../domain/identity/scopes.js';
import type { Api } from '../deps.js';
import {
  allResponse,
  closedObject,
  inputSchema,
  listOf,
  NO_CONTENT,
  oneOf,
  oneResponse,
  type Schemas,
  text,
  timestamp,
  uuid,
} from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';

const clientView = (client: ApiClient) => ({
  client_id: client.clientId,
  name: client.name,
  scopes: client.scopes,
  created_at: client.createdAt,
});

const clientSchema = { client_id: uuid, name: text, scopes: listOf(oneOf(SCOPES)), created_at: timestamp };

const schemas: Schemas = {
  ApiClient: closedObject(clientSchema),
  ApiClientWithSecret: closedObject({
    ...clientSchema,
    client_secret: { type: 'string', description: 'Shown this once.' },
  }),
};

/** As the directory shows the client now; commands wait for it. @throws NotFoundError */
function withSecret({ directory }: Api, tenant: string, clientId: string, clientSecret: string) {
  const client = tenantOf({ directory }, tenant).clients.get(clientId);
  if (client === undefined) throw new NotFoundError(`There is no API client ${clientId}.`);
  return { ...clientView(client), client_secret: clientSecret };
}

export const apiClients: Resource = {
  tag: 'platform: api clients',
  pathParameters: { id: pathText('client_id') },
  schemas,
  operations: [
    {
      method: 'get',
      path: '/api-clients',
      id: 'platform_list_api_clients',
      summary: 'API clients',
      allow: 'adminsAndAuditors',
      answer: allResponse('ApiClient'),
      handle: (_api, { tenant }) => dataReply([...tenant.clients.values()].map(clientView)),
    },
    {
      method: 'post',
      path: '/api-clients',
      id: 'platform_create_api_client',
      summary: 'Create an API client',
      allow: 'admins',
      body: {
        schema: inputSchema(clientBody),
        example: { name: 'ERP', scopes: ['read:order_data', 'write:order_data'] },
      },
      status: 201,
      answer: oneResponse('ApiClientWithSecret'),
      async handle(api, { caller, body }) {
        const { clientId, clientSecret } = await createClient(api.commands, caller, body);
        return dataReply(withSecret(api, caller.tenant, clientId, clientSecret));
      },
    },
    {
      method: 'delete',
      path: '/api-clients/:id',
      id: 'platform_remove_api_client',
      summary: 'Remove an API client, and its tokens with it',
      allow: 'admins',
      status: 204,
      answer: NO_CONTENT,
      async handle({ commands }, { caller, path: { id } }) {
        await removeClient(commands, caller, id);
        return {};
      },
    },
    {
      method: 'post',
      path: '/api-clients/:id/secret',
      id: 'platform_regenerate_api_client_secret',
      summary: 'A new secret; the old one ends at once',
      allow: 'admins',
      answer: oneResponse('ApiClientWithSecret'),
      async handle(api, { caller, path: { id } }) {
        const { clientSecret } = await regenerateClientSecret(api.commands, caller, id);
        return dataReply(withSecret(api, caller.tenant, id, clientSecret));
      },
    },
  ],
};
