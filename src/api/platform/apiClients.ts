/** API clients of integrators (spec §5.1): `/api/v1/platform/api-clients`. A secret is shown once, when it is made. */
import {
  clientBody,
  createClient,
  endClientRotation,
  type NewClientSecret,
  removeClient,
  renewClientSecret,
} from '../../commands/identity/clients.js';
import type { ApiClient } from '../../domain/identity/events.js';
import { SCOPES } from '../../domain/identity/scopes.js';
import { known } from '../errors.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  dataReply,
  listReply,
  noContent,
  pathText,
  type Reply,
  type Resource,
} from '../routes/operation.js';

/** A client asks for a token every hour, so the day is enough to see whether a secret is in use. */
const lastUsedOn: json.JsonSchema = {
  type: ['string', 'null'],
  format: 'date',
};

const clientView = json.view<ApiClient>({
  client_id: json.uuid,
  name: json.text,
  scopes: json.listOf(json.oneOf(SCOPES)),
  created_at: json.timestamp,
  last_used_on: [lastUsedOn, ({ lastUsed }) => lastUsed ?? null],
  rotation: [
    json.orNull(json.ref('SecretRotation')),
    ({ staged }) => (staged === undefined ? null : { since: staged.since, last_used_on: staged.lastUsed ?? null }),
  ],
});

/** The client after a change. The directory may not know it yet, and the secret is shown only now. */
const replyWithSecret = ({ tenant, clientSecret }: NewClientSecret, clientId: string): Reply =>
  dataReply({ ...clientView.show(known(tenant?.clients, clientId, 'API client')), client_secret: clientSecret });

export const apiClients: Resource = {
  tag: 'platform: api clients',
  pathParameters: { id: pathText('client_id') },
  schemas: {
    ApiClient: clientView.schema,
    SecretRotation: json.closedObject({ since: json.timestamp, last_used_on: lastUsedOn }),
    ApiClientWithSecret: json.closedObject({
      ...clientView.properties,
      client_secret: json.text,
    }),
  },
  operations: {
    'GET /api-clients': {
      id: 'platformListApiClients',
      summary: 'API clients',
      allow: 'adminsAndAuditors',
      answer: json.all('ApiClient'),
      handle: (_api, { tenant }) => listReply(tenant.clients.values(), clientView.show),
    },
    'POST /api-clients': {
      id: 'platformCreateApiClient',
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
    'DELETE /api-clients/:id': {
      id: 'platformRemoveApiClient',
      summary: 'Remove an API client, and its tokens with it',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }: Call) => removeClient(commands, caller, path.id)),
    },
    'POST /api-clients/:id/secret': {
      id: 'platformRegenerateApiClientSecret',
      summary: 'Replace the secret; the old one, and the tokens given for it, end at once',
      allow: 'admins',
      answer: json.one('ApiClientWithSecret'),
      handle: async ({ commands }, { caller, path: { id } }) =>
        replyWithSecret(await renewClientSecret(commands, caller, id, 'ApiClientSecretRegenerated'), id),
    },
    'POST /api-clients/:id/secret/rotate': {
      id: 'platformStageApiClientSecret',
      summary: 'Begin a rotation: a new secret is valid beside the old one',
      allow: 'admins',
      status: 201,
      answer: json.one('ApiClientWithSecret'),
      handle: async ({ commands }, { caller, path: { id } }) =>
        replyWithSecret(await renewClientSecret(commands, caller, id, 'ApiClientSecretStaged'), id),
    },
    'POST /api-clients/:id/secret/promote': {
      id: 'platformPromoteApiClientSecret',
      summary: 'End a rotation: the new secret is the only one; tokens given for the old one end at once',
      allow: 'admins',
      answer: json.one('ApiClient'),
      async handle({ commands }, { caller, path: { id } }) {
        const { tenant } = await endClientRotation(commands, caller, id, 'ApiClientSecretPromoted');
        return dataReply(clientView.show(known(tenant?.clients, id, 'API client')));
      },
    },
    'DELETE /api-clients/:id/secret/staged': {
      id: 'platformUnstageApiClientSecret',
      summary: 'End a rotation: the old secret is the only one; tokens given for the new one end at once',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }: Call) =>
        endClientRotation(commands, caller, path.id, 'ApiClientSecretUnstaged'),
      ),
    },
  },
};
