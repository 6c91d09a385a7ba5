/** Tenants: created by an operator, each with one order model. */
import { type DirectoryEvent, ORDER_MODELS } from '../../domain/identity/events.js';
import { TENANT_NAME, tenantStream } from '../../domain/streams.js';
import { parseBody } from '../body.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { loadStream, writeStream } from '../writeStream.js';
import { createClient } from './clients.js';
import {
  type DirectoryCommands,
  type DirectoryWrite,
  waitUntilKnown,
  writeDirectory,
  writeTenant,
} from './directoryWriter.js';
import { newPassword } from './secrets.js';
import { addUser, newUserBody } from './users.js';

/** @throws ValidationError for a name that is no host label */
function checkTenantName(name: string): void {
  if (TENANT_NAME.test(name)) return;
  throw new ValidationError({
    name: ['The name must be 1 to 40 lower-case letters, digits and single hyphens: it becomes part of a host name.'],
  });
}

type NewTenant = { readonly displayName?: string | undefined; readonly orderModel: string };

/** @throws ValidationError for a name that is no host label or an unknown order model; ConflictError when it exists */
export const createTenant: DirectoryWrite<[NewTenant]> = async (commands, caller, input) => {
  const name = caller.tenant;
  checkTenantName(name);
  const orderModel = ORDER_MODELS.find((model) => model === input.orderModel);
  if (orderModel === undefined) {
    throw new ValidationError({ order_model: [`The order model must be one of ${ORDER_MODELS.join(', ')}.`] });
  }
  return writeTenant(commands, caller, tenantStream(name), (tenant) => {
    if (tenant !== undefined) throw new ConflictError(`Tenant ${name} exists already.`);
    return [{ type: 'TenantCreated', data: { name, displayName: input.displayName ?? name, orderModel } }];
  });
};

type Opening = NewTenant & { readonly adminEmail?: string | undefined };
export type OpenedTenant = Awaited<ReturnType<typeof openTenant>>;

/** @throws ValidationError (name, e-mail address of the admin) */
export function firstAdmin(name: string, { displayName = name, adminEmail }: Omit<Opening, 'orderModel'>) {
  checkTenantName(name);
  // The domain is reserved (RFC 2606), so it never belongs to anybody.
  const email = (adminEmail ?? `admin@${name}.example`).toLowerCase();
  const admin = { email, first_name: 'Admin', last_name: displayName, roles: ['admin', 'validator'] };
  return parseBody(newUserBody, { ...admin, password: newPassword() });
}

/**
 * Creates a tenant, its first admin, and an API client with all scopes. The password and the secret are shown only here.
 * @throws ValidationError (name, e-mail address), ConflictError (the tenant exists); then nothing was created
 */
export async function openTenant(commands: DirectoryCommands, caller: Caller, opening: Opening) {
  // A wrong address must not leave a tenant without an admin.
  const { email, password = '', ...admin } = firstAdmin(caller.tenant, opening);
  await createTenant(commands, caller, opening);
  await addUser(commands, caller, { email, password, ...admin });
  const { clientId, clientSecret, scopes } = await createClient(commands, caller, { name: 'First API client' });
  return { admin: { email, password }, client: { client_id: clientId, client_secret: clientSecret, scopes } };
}

/**
 * Hosts, tokens and sessions of the tenant end, its webhooks are sent nothing more, its read models are dropped, and its
 * name is not given again. Its events stay in the log. @throws NotFoundError
 */
export async function deleteTenant(commands: DirectoryCommands, caller: Caller): Promise<void> {
  const { tenant: name } = caller;
  const stream = tenantStream(name);
  const { position } = await writeStream(commands, caller, {
    stream,
    // A parked tenant has no state.
    load: () => loadStream(commands.eventStore, stream, (_, { type }) => type !== 'TenantDeleted', false),
    decide: (isThere) => {
      if (!isThere) throw new NotFoundError(`There is no tenant ${name}.`);
      return [{ type: 'TenantDeleted', data: { name } } as const];
    },
  });
  await waitUntilKnown(commands, caller, position);
}

export type SettingEvent = Extract<
  DirectoryEvent,
  { type: 'RateLimitChanged' | 'RateLimitRemoved' | 'CleanUpGuardChanged' | 'QuotasChanged' }
>;

/** Changes settings of the tenant. @throws NotFoundError */
export const changeTenant: DirectoryWrite<[readonly SettingEvent[]]> = (commands, caller, events) =>
  writeDirectory(commands, caller, tenantStream(caller.tenant), () => events);
