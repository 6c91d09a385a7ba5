/** API clients of integrators (spec §5.1): `/api/v1/platform/api-clients`. A secret is shown once, when it is made. */
import {
  changeClient,
  changeClientBody,
  clientBody,
  createClient,
  type NewClientSecret,
  removeClient,
  renewClientSecret,
} from '../../commands/identity/clients.js';
import { known } from '../../commands/tables.js';
import type { ApiClient } from '../../domain/identity/events.js';
import { SCOPES } from '../../domain/identity/scopes.js';
import * as json from '../openapi/schema.js';
import { dataReply, listReply, noContent, pathText, type Reply, type Resource } from '../routes/operation.js';

/** Two secrets are valid for so long, so that a client changes to the new one without a gap. */
const ROTATION_HOURS = 24;

const clientView = json.view<ApiClient>({
  client_id: json.uuid,
  name: json.text,
  scopes: json.listOf(json.oneOf(SCOPES)),
  created_at: json.timestamp,
  last_used_on: [{ type: ['string', 'null'], format: 'date' }, ({ lastUsed }) => lastUsed ?? null],
  old_secret_ends_at: [json.orNull(json.timestamp), ({ previous }) => previous?.endsAt ?? null],
});

/** The client after a change. The directory may not know it yet, and the secret is shown only now. */
const replyWithSecret = ({ tenant, clientSecret }: NewClientSecret, clientId: string): Reply =>
  dataReply({ ...clientView.show(known(tenant?.clients, clientId, 'API client')), client_secret: clientSecret });

export const apiClients: Resource = {
  tag: 'api clients',
  pathParameters: { id: pathText('client_id') },
  schemas: {
    ApiClient: clientView.schema,
    ApiClientWithSecret: json.closedObject({ ...clientView.properties, client_secret: json.text }),
  },
  operations: {
    'GET /api-clients': {
      id: 'listApiClients',
      summary: 'API clients',
      allow: 'adminsAndAuditors',
      answer: json.all('ApiClient'),
      handle: (_api, { tenant }) => listReply(tenant.clients.values(), clientView.show),
    },
    'POST /api-clients': {
      id: 'createApiClient',
      summary: 'Create an API client',
      allow: 'admins',
      body: json.bodyOf(clientBody, { name: 'ERP', scopes: ['read:order_data', 'write:order_data'] }),
      status: 201,
      answer: json.one('ApiClientWithSecret'),
      async handle({ commands }, { caller, body }) {
        const made = await createClient(commands, caller, body);
        return replyWithSecret(made, made.clientId);
      },
    },
    'PUT /api-clients/:id': {
      id: 'changeApiClient',
      summary: 'Change the name or the scopes; tokens lose scopes at once, and later ones have new scopes',
      allow: 'admins',
      body: json.bodyOf(changeClientBody, { scopes: ['read:order_data'] }),
      answer: json.one('ApiClient'),
      async handle({ commands }, { caller, path: { id }, body }) {
        const { tenant } = await changeClient(commands, caller, id, body);
        return dataReply(clientView.show(known(tenant?.clients, id, 'API client')));
      },
    },
    'DELETE /api-clients/:id': {
      id: 'removeApiClient',
      summary: 'Remove an API client, and its tokens with it',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }) => removeClient(commands, caller, path.id)),
    },
    'POST /api-clients/:id/secret': {
      id: 'regenerateApiClientSecret',
      summary: 'Replace the secret; the old one, and the tokens given for it, end at once',
      allow: 'admins',
      answer: json.one('ApiClientWithSecret'),
      handle: async ({ commands }, { caller, path: { id } }) =>
        replyWithSecret(await renewClientSecret(commands, caller, id, 0), id),
    },
    'POST /api-clients/:id/secret/rotate': {
      id: 'rotateApiClientSecret',
      summary: `Replace the secret; the old one, and the tokens given for it, end after ${ROTATION_HOURS} hours`,
      allow: 'admins',
      status: 201,
      answer: json.one('ApiClientWithSecret'),
      handle: async ({ commands }, { caller, path: { id } }) =>
        replyWithSecret(await renewClientSecret(commands, caller, id, ROTATION_HOURS), id),
    },
  },
};
