/** A tenant's people: users with roles, signed in to the platform. */
import { z } from 'zod';
import type { Answer } from './http.js';
import { PLATFORM, type TenantClient } from './tenant.js';

export type Role = 'admin' | 'validator' | 'auditor';
export const PASSWORD = 'correct horse battery';

export type Person = {
  readonly id: number;
  readonly email: string;
  /** Of their session. */
  readonly token: string;
  /** A request to a path below the platform's, with this person's token. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
};

const userEnvelope = z.object({ data: z.looseObject({ id: z.int() }) });

/** Adds a user of this first name and these roles, as the first admin, and signs in. */
export async function addPerson(tenant: TenantClient, name: string, roles: readonly Role[]): Promise<Person> {
  const email = `${name}@example.com`;
  const body = { email, password: PASSWORD, first_name: name, last_name: 'Bos', roles };
  const { id } = userEnvelope.parse((await tenant.platform('POST', '/users', { body })).body).data;
  const token = await tenant.signIn({ email, password: PASSWORD });
  return {
    id,
    email,
    token,
    call: (method, path, sent) => tenant.platform(method, path, sent === undefined ? { token } : { token, body: sent }),
  };
}

/** Asks for a session, without a token. */
export const askSession = (
  tenant: TenantClient,
  email: string,
  password: string,
  headers: { readonly [name: string]: string } = {},
): Promise<Answer> => tenant.send('POST', `${PLATFORM}/session`, { token: null, body: { email, password }, headers });

/** The `data` of an answer, as this schema reads it. */
export const dataOf = <T>(schema: z.ZodType<T>, answer: Answer): T =>
  z.object({ data: schema }).parse(answer.body).data;
