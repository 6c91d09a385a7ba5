/** Makes a tenant ready for use: the tenant, a first admin, an API client with all scopes. */

import { parseBody } from '../commands/body.js';
import type { Caller } from '../commands/context.js';
import { createClient } from '../commands/identity/clients.js';
import type { DirectoryCommands } from '../commands/identity/directoryWriter.js';
import { newPassword } from '../commands/identity/secrets.js';
import { createTenant } from '../commands/identity/tenants.js';
import { addUser, newUserBody } from '../commands/identity/users.js';
import type { Scope } from '../domain/identity/scopes.js';
import { TENANT_NAME } from '../domain/streams.js';

export type OpenedTenant = {
  readonly admin: { readonly email: string; readonly password: string };
  readonly client: { readonly client_id: string; readonly client_secret: string; readonly scopes: readonly Scope[] };
};

/** An address to sign in with where nobody gave one. The domain is reserved (RFC 2606), so it is never somebody's. */
export const placeholderEmail = (tenant: string): string => `admin@${tenant}.example`;

/** @throws ValidationError (name, e-mail address), ConflictError (the tenant exists); nothing is made then */
export async function openTenant(
  commands: DirectoryCommands,
  caller: Caller,
  input: { readonly orderModel: string; readonly displayName: string; readonly adminEmail: string },
): Promise<OpenedTenant> {
  const admin = {
    email: input.adminEmail.toLowerCase(),
    password: newPassword(),
    first_name: 'Admin',
    last_name: input.displayName,
    roles: ['admin', 'validator'],
  };
  // Checked first, so that a wrong address leaves no tenant without an admin behind. A wrong name is refused below.
  if (TENANT_NAME.test(caller.tenant)) parseBody(newUserBody, admin);
  await createTenant(commands, caller, { orderModel: input.orderModel, displayName: input.displayName });
  await addUser(commands, caller, admin);
  const client = await createClient(commands, caller, { name: 'First API client' });
  return {
    admin: { email: admin.email, password: admin.password },
    client: { client_id: client.clientId, client_secret: client.clientSecret, scopes: client.scopes },
  };
}
