import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'commander';
import { parseBody } from '../commands/body.js';
import type { Caller } from '../commands/context.js';
import { createClient } from '../commands/identity/clients.js';
import type { DirectoryCommands } from '../commands/identity/directoryWriter.js';
import { newPassword } from '../commands/identity/secrets.js';
import { createTenant, deleteTenant } from '../commands/identity/tenants.js';
import { addUser, newUserBody } from '../commands/identity/users.js';
import { ORDER_MODELS } from '../domain/identity/events.js';
import type { Scope } from '../domain/identity/scopes.js';
import { TENANT_NAME } from '../domain/streams.js';
import { UsageError } from './errors.js';
import { operator, withCommands, withTenant, withTenants } from './operator.js';
import { columns, type JsonOption, printResult, withJson } from './output.js';

type CreateOptions = JsonOption & {
  readonly orderModel: string;
  readonly displayName?: string;
  readonly adminEmail?: string;
};

export function tenantCommand(): Command {
  return new Command('tenant')
    .description('Make, list and delete tenants.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(deleteCommand());
}

function createCommand(): Command {
  const definition = new Command('create')
    .description('Make a tenant with a first admin user and an API client with all scopes.')
    .argument('<name>', 'first label of its host name: lower-case letters, digits, single hyphens; at most 40')
    .addOption(new Option('--order-model <table>', 'table of its orders').choices(ORDER_MODELS).makeOptionMandatory())
    .option('--display-name <text>', 'display name (default: the name)')
    .option('--admin-email <address>', 'of the first admin (default: admin@<name>.example)');
  return withJson(definition, 'dynamic-assets tenant create acme --order-model dyn_stock_order').action(create);
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const { orderModel, displayName = name, adminEmail = placeholderEmail(name) } = options;
  const { admin, client } = await withCommands(({ commands }) =>
    openTenant(commands, operator(name), { orderModel, displayName, adminEmail }),
  );
  printResult(options, { tenant: name, admin, client }, [
    `Tenant ${name} was made. The password and the secret are shown only now:`,
    ...columns([
      ['  admin e-mail', admin.email],
      ['  admin password', admin.password],
      ['  client id', client.client_id],
      ['  client secret', client.client_secret],
      ['  scopes', client.scopes.join(' ')],
    ]),
  ]);
}

const listCommand = (): Command =>
  withJson(new Command('list').description('List the tenants.'), 'dynamic-assets tenant list').action(list);

async function list(options: JsonOption): Promise<void> {
  const tenants = await withTenants(async (all) => all);
  const rows = tenants.map(({ name, orderModel, displayName }) => [name, orderModel, displayName]);
  printResult(
    options,
    tenants.map((t) => ({ tenant: t.name, display_name: t.displayName, order_model: t.orderModel })),
    rows.length === 0
      ? ['There is no tenant yet. Make one with "dynamic-assets tenant create".']
      : columns([['TENANT', 'ORDER MODEL', 'DISPLAY NAME'], ...rows]),
  );
}

function deleteCommand(): Command {
  const definition = new Command('delete')
    .description(
      'Delete a tenant for good: its tokens and sessions end at once, nothing more is sent to its webhooks, and its read models are dropped. Its events stay in the log, and its name cannot be used again.',
    )
    .argument('<name>', 'the tenant')
    .option('--confirm <name>', 'the name again, for scripts (default: asked for)');
  return withJson(definition, 'dynamic-assets tenant delete acme --confirm acme').action(remove);
}

async function remove(name: string, { confirm, ...output }: JsonOption & { readonly confirm?: string }): Promise<void> {
  await withTenant(name, async ({ commands }) => {
    if ((confirm ?? (await askForName(name))) !== name)
      throw new UsageError(`Nothing was deleted: that is not the name ${name}.`);
    await deleteTenant(commands, operator(name));
  });
  printResult(output, { tenant: name, deleted: true }, [
    `Tenant ${name} is deleted. A running service ends its tokens, sessions and webhooks now, and drops its read models;`,
    'one that is not running does so when it starts.',
    `Its events stay in the log. "dynamic-assets migrate --without ${name}" copies the log without them; backups that were`,
    'made before have them as well (docs/operations.md, "Delete a tenant").',
  ]);
}

async function askForName(name: string): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError(`Confirm the name: --confirm ${name}`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(`Everything of ${name} will be deleted. Type its name again: `);
  } finally {
    lines.close();
  }
}

export type OpenedTenant = {
  readonly admin: { readonly email: string; readonly password: string };
  readonly client: { readonly client_id: string; readonly client_secret: string; readonly scopes: readonly Scope[] };
};

/** The default address of the first admin. The domain is reserved (RFC 2606), so it never belongs to anybody. */
export const placeholderEmail = (tenant: string): string => `admin@${tenant}.example`;

/**
 * Creates a tenant, its first admin, and an API client with all scopes.
 * @throws ValidationError (name, e-mail address), ConflictError (the tenant exists); then nothing was created
 */
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
  // Checked first: a wrong address must not leave a tenant without an admin. `createTenant` checks the name.
  if (TENANT_NAME.test(caller.tenant)) parseBody(newUserBody, admin);
  await createTenant(commands, caller, { orderModel: input.orderModel, displayName: input.displayName });
  await addUser(commands, caller, admin);
  const client = await createClient(commands, caller, { name: 'First API client' });
  return {
    admin: { email: admin.email, password: admin.password },
    client: { client_id: client.clientId, client_secret: client.clientSecret, scopes: client.scopes },
  };
}
