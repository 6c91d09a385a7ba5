/** The people of the platform: `/api/v1/platform/users`. */
import { NotFoundError } from '../../commands/context.js';
import { addUser, changeUser, changeUserBody, newUserBody, removeUser } from '../../commands/identity/users.js';
import { tenantOf } from '../../commands/tables.js';
import type { User } from '../../domain/identity/directory.js';
import { ROLES } from '../../domain/identity/scopes.js';
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
} from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';

/** A user as the platform API shows one; never with the password's hash. */
export const userView = (user: User) => ({
  id: user.id,
  first_name: user.firstName,
  last_name: user.lastName,
  locale: user.locale,
  email: user.email,
  roles: user.roles,
});

const EXAMPLE = { first_name: 'Vera', last_name: 'Bos', locale: 'nl', email: 'vera@example.com', roles: ['validator'] };

const schemas: Schemas = {
  User: {
    ...closedObject({
      id: { type: 'integer', minimum: 1 },
      first_name: text,
      last_name: text,
      locale: text,
      email: text,
      roles: listOf(oneOf(ROLES)),
    }),
    examples: [{ id: 1, ...EXAMPLE }],
  },
};

/** @throws NotFoundError for what is no positive integer */
function userId(id: string): number {
  if (!/^[1-9]\d{0,14}$/.test(id)) throw new NotFoundError(`There is no user ${id}.`);
  return Number(id);
}

/** As the directory shows the user now; commands wait for it. @throws NotFoundError */
function viewOf({ directory }: Api, tenant: string, id: number) {
  const user = tenantOf({ directory }, tenant).users.get(id);
  if (user === undefined) throw new NotFoundError(`There is no user ${id}.`);
  return userView(user);
}

export const users: Resource = {
  tag: 'platform: users',
  pathParameters: { id: { name: 'user_id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } } },
  schemas,
  operations: [
    {
      method: 'get',
      path: '/users',
      id: 'platform_list_users',
      summary: 'Users',
      allow: 'admins',
      answer: allResponse('User'),
      handle: (_api, { tenant }) => dataReply([...tenant.users.values()].map(userView)),
    },
    {
      method: 'post',
      path: '/users',
      id: 'platform_add_user',
      summary: 'Add a user',
      allow: 'admins',
      body: { schema: inputSchema(newUserBody), example: { ...EXAMPLE, password: 'correct horse battery' } },
      status: 201,
      answer: oneResponse('User'),
      async handle(api, { caller, body }) {
        const { id } = await addUser(api.commands, caller, body);
        return dataReply(viewOf(api, caller.tenant, id));
      },
    },
    {
      method: 'get',
      path: '/users/:id',
      id: 'platform_get_user',
      summary: 'One user',
      allow: 'admins',
      answer: oneResponse('User'),
      handle: (api, { tenant, path }) => dataReply(viewOf(api, tenant.name, userId(path.id))),
    },
    {
      method: 'put',
      path: '/users/:id',
      id: 'platform_change_user',
      summary: 'Change a user; what the body does not name stays',
      allow: 'admins',
      body: { schema: inputSchema(changeUserBody), example: { roles: ['validator', 'auditor'] } },
      answer: oneResponse('User'),
      errors: [409],
      async handle(api, { caller, path, body }) {
        const id = userId(path.id);
        await changeUser(api.commands, caller, id, body);
        return dataReply(viewOf(api, caller.tenant, id));
      },
    },
    {
      method: 'delete',
      path: '/users/:id',
      id: 'platform_remove_user',
      summary: 'Remove a user, and the sessions with it',
      allow: 'admins',
      status: 204,
      answer: NO_CONTENT,
      errors: [409],
      async handle({ commands }, { caller, path }) {
        await removeUser(commands, caller, userId(path.id));
        return {};
      },
    },
  ],
};
