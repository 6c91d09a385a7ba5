/** Sessions and settings under /api/v1/platform: for the people on the other side, and for the console. */
import { fieldBody, tableBody } from '../../commands/identity/assetTypes.js';
import { clientBody } from '../../commands/identity/clients.js';
import { changeUserBody, newUserBody } from '../../commands/identity/users.js';
import { signInBody } from '../platform/session.js';
import { rateLimitBody } from '../platform/tenant.js';
import { inputSchema } from './inputSchema.js';
import { all, NO_CONTENT, one, platformOperation as operation, PLATFORM, pathText } from './platformOperation.js';
import type { Paths } from './types.js';
import { webhookPaths } from './webhookPaths.js';

const SIGN_IN = { email: 'vera@example.com', password: 'correct horse battery' };
const NEW_USER = { ...SIGN_IN, first_name: 'Vera', last_name: 'Bos', locale: 'nl', roles: ['validator'] };
const NEW_CLIENT = { name: 'ERP', scopes: ['read:order_data', 'write:order_data'] };
const NEW_FIELD = { name: 'colour', type: 'String', filterable: true, sortable: true, max_length: 32 };
const NEW_TABLE = {
  name: 'dyn_carrier',
  label: 'Carriers',
  unique_field: 'external_id',
  fields: [{ name: 'external_id', type: 'String', required: true, filterable: true, sortable: true }],
};

const session: Paths = {
  [`${PLATFORM}/session`]: {
    post: operation({
      id: 'sign_in',
      summary: 'Sign in; sets the session cookie as well',
      tag: 'session',
      open: true,
      body: { schema: inputSchema(signInBody), example: SIGN_IN },
      answer: one('Session'),
      errors: [401],
    }),
    get: operation({ id: 'session', summary: 'Who is signed in', tag: 'session', answer: one('User') }),
    delete: operation({
      id: 'sign_out',
      summary: 'Clear the session cookie',
      tag: 'session',
      open: true,
      status: 204,
      answer: NO_CONTENT,
    }),
  },
};

const clients: Paths = {
  [`${PLATFORM}/api-clients`]: {
    get: operation({ id: 'list_api_clients', summary: 'API clients', tag: 'api clients', answer: all('ApiClient') }),
    post: operation({
      id: 'create_api_client',
      summary: 'Create an API client',
      tag: 'api clients',
      body: { schema: inputSchema(clientBody), example: NEW_CLIENT },
      status: 201,
      answer: one('ApiClientWithSecret'),
    }),
  },
  [`${PLATFORM}/api-clients/{client_id}`]: {
    parameters: [pathText('client_id')],
    delete: operation({
      id: 'remove_api_client',
      summary: 'Remove an API client, and its tokens with it',
      tag: 'api clients',
      status: 204,
      answer: NO_CONTENT,
    }),
  },
  [`${PLATFORM}/api-clients/{client_id}/secret`]: {
    parameters: [pathText('client_id')],
    post: operation({
      id: 'regenerate_api_client_secret',
      summary: 'A new secret; the old one ends at once',
      tag: 'api clients',
      answer: one('ApiClientWithSecret'),
    }),
  },
};

const users: Paths = {
  [`${PLATFORM}/users`]: {
    get: operation({ id: 'list_users', summary: 'Users', tag: 'users', answer: all('User') }),
    post: operation({
      id: 'add_user',
      summary: 'Add a user',
      tag: 'users',
      body: { schema: inputSchema(newUserBody), example: NEW_USER },
      status: 201,
      answer: one('User'),
    }),
  },
  [`${PLATFORM}/users/{user_id}`]: {
    parameters: [{ name: 'user_id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } }],
    get: operation({ id: 'get_user', summary: 'One user', tag: 'users', answer: one('User') }),
    put: operation({
      id: 'change_user',
      summary: 'Change a user; what the body does not name stays',
      tag: 'users',
      body: { schema: inputSchema(changeUserBody), example: { roles: ['validator', 'auditor'] } },
      answer: one('User'),
      errors: [409],
    }),
    delete: operation({
      id: 'remove_user',
      summary: 'Remove a user, and the sessions with it',
      tag: 'users',
      status: 204,
      answer: NO_CONTENT,
      errors: [409],
    }),
  },
};

const assetTypes: Paths = {
  [`${PLATFORM}/asset-types`]: {
    get: operation({ id: 'list_asset_types', summary: 'All tables', tag: 'settings', answer: all('AssetType') }),
    post: operation({
      id: 'add_table',
      summary: 'Add a reference table',
      tag: 'settings',
      body: { schema: inputSchema(tableBody), example: NEW_TABLE },
      status: 201,
      answer: one('AssetType'),
    }),
  },
  [`${PLATFORM}/asset-types/{table}/fields`]: {
    parameters: [pathText('table')],
    post: operation({
      id: 'add_field',
      summary: 'Add a field to a reference table',
      tag: 'settings',
      body: { schema: inputSchema(fieldBody), example: NEW_FIELD },
      status: 201,
      answer: one('AssetType'),
    }),
  },
};

const tenant: Paths = {
  [`${PLATFORM}/tenant`]: {
    get: operation({ id: 'tenant', summary: 'The organisation', tag: 'settings', answer: one('Tenant') }),
  },
  [`${PLATFORM}/tenant/rate-limit`]: {
    put: operation({
      id: 'change_rate_limit',
      summary: 'Requests that each API client may make a second, and at once',
      tag: 'settings',
      body: { schema: inputSchema(rateLimitBody), example: { per_second: 50, burst: 100 } },
      answer: one('Tenant'),
    }),
  },
};

export const settingsPaths: Paths = { ...session, ...clients, ...webhookPaths, ...users, ...assetTypes, ...tenant };
