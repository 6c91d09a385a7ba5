/** Users of the platform: `/api/v1/platform/users`. */
import {
  addUser,
  changeUser,
  changeUserBody,
  newUserBody,
  removeUser,
  resetPassword,
} from '../../commands/identity/users.js';
import { known } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import { ROLES } from '../../domain/identity/scopes.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, listReply, noContent, type Resource } from '../routes/operation.js';

/** How long the password that a user was given is good for the first sign-in. */
export const FIRST_PASSWORD_DAYS = 7;

/** When that is over; undefined once they have chosen their own. */
export const firstPasswordEnd = ({ mustChangePassword, passwordAt }: User): string | undefined =>
  mustChangePassword !== true || passwordAt === undefined
    ? undefined
    : new Date(Date.parse(passwordAt) + FIRST_PASSWORD_DAYS * 86_400_000).toISOString();

/** A user in answers; never with the password's hash. */
export const userView = json.view<User>({
  id: { type: 'integer', minimum: 1 },
  first_name: json.text,
  last_name: json.text,
  locale: json.text,
  email: json.text,
  roles: json.listOf(json.oneOf(ROLES)),
  must_change_password: [json.truth, ({ mustChangePassword }) => mustChangePassword === true],
  first_password_ends_at: [json.orNull(json.timestamp), (user) => firstPasswordEnd(user) ?? null],
});

const EXAMPLE = { first_name: 'Vera', last_name: 'Bos', locale: 'nl', email: 'vera@example.com', roles: ['validator'] };

/** @throws HttpError 404 if it is not a positive integer */
function userId(id: string): number {
  if (!/^[1-9]\d{0,14}$/.test(id)) throw notFound(`There is no user ${id}.`);
  return Number(id);
}

/** @param tenant as it is, or after a change, which the directory may not know yet. @throws HttpError 404 */
const viewOf = (tenant: Tenant | undefined, id: number) => userView.show(known(tenant?.users, id, 'user'));

export const users: Resource = {
  tag: 'users',
  pathParameters: { id: { name: 'user_id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } } },
  schemas: {
    User: userView.schema,
    UserWithPassword: {
      type: 'object',
      properties: { ...userView.properties, password: json.text },
      required: Object.keys(userView.properties),
    },
  },
  operations: {
    'GET /users': {
      id: 'listUsers',
      summary: 'Users',
      allow: 'adminsAndAuditors',
      answer: json.all('User'),
      handle: (_api, { tenant }) => listReply(tenant.users.values(), userView.show),
    },
    'POST /users': {
      id: 'addUser',
      summary: `Add a user; without a password one is made for the first sign-in, within ${FIRST_PASSWORD_DAYS} days`,
      allow: 'admins',
      body: json.bodyOf(newUserBody, EXAMPLE),
      status: 201,
      answer: json.one('UserWithPassword'),
      async handle({ commands }, { caller, body }) {
        const { id, tenant, password } = await addUser(commands, caller, body);
        return dataReply({ ...viewOf(tenant, id), ...(password && { password }) });
      },
    },
    'PUT /users/:id': {
      id: 'changeUser',
      summary: 'Change a user; fields that the body lacks stay',
      allow: 'admins',
      body: json.bodyOf(changeUserBody, { roles: ['validator', 'auditor'] }),
      answer: json.one('User'),
      async handle({ commands }, { caller, path, body }) {
        const id = userId(path.id);
        const { tenant } = await changeUser(commands, caller, id, body);
        return dataReply(viewOf(tenant, id));
      },
    },
    'POST /users/:id/password': {
      id: 'resetPassword',
      summary: 'Give a user who forgot the password a new one for the next sign-in; all sessions end at once',
      allow: 'admins',
      answer: json.one('UserWithPassword'),
      async handle({ commands }, { caller, path }) {
        const id = userId(path.id);
        const { tenant, password } = await resetPassword(commands, caller, id);
        return dataReply({ ...viewOf(tenant, id), password });
      },
    },
    'DELETE /users/:id': {
      id: 'removeUser',
      summary: 'Remove a user, with all sessions',
      allow: 'admins',
      ...noContent(({ commands }, { caller, path }) => removeUser(commands, caller, userId(path.id))),
    },
  },
};
