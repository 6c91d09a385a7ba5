/** A tenant's people, signed in: for tests of the platform API. */
import { addUser } from '#app/commands/identity/users.js';
import { type Answer, type Call, operator, type TestApi } from './harness.js';

export const PLATFORM = '/api/v1/platform';
export const PASSWORD = 'correct horse battery';

export type Role = 'admin' | 'validator' | 'auditor';

export type Person = {
  readonly id: number;
  readonly email: string;
  readonly token: string;
  /** A request to a path below the platform's, with this person's token. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
};

export const signIn = (api: TestApi, email: string, password: string, call: Call = {}): Promise<Answer> =>
  api.call('POST', `${PLATFORM}/session`, { ...call, body: { email, password } });

/** Adds a user and signs in. */
export async function addPerson(api: TestApi, tenant: string, name: string, roles: readonly Role[]): Promise<Person> {
  const email = `${name}@example.com`;
  const user = { email, password: PASSWORD, first_name: name, last_name: 'Bos', roles };
  const { id } = await addUser(api.service.commands, operator(tenant), user);
  const host = `${tenant}.localhost`;
  const { json } = await signIn(api, email, PASSWORD, { host });
  const token = String(json.data.token);
  return {
    id,
    email,
    token,
    call: (method, path, body) =>
      api.call(method, `${PLATFORM}${path}`, { host, token, ...(body === undefined ? {} : { body }) }),
  };
}
