import { createInterface } from 'node:readline/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { TenantUsage } from '../api/tenantUsage.js';
import { parseBody } from '../commands/body.js';
import type { Caller } from '../commands/context.js';
import { createClient } from '../commands/identity/clients.js';
import { type DirectoryCommands, tenantNow } from '../commands/identity/directoryWriter.js';
import { newPassword } from '../commands/identity/secrets.js';
import {
  changeCleanUpGuard,
  changeQuotas,
  checkTenantName,
  createTenant,
  deleteTenant,
} from '../commands/identity/tenants.js';
import { addUser, newUserBody } from '../commands/identity/users.js';
import { readConfig } from '../config.js';
import { ORDER_MODELS } from '../domain/identity/events.js';
import type { Scope } from '../domain/identity/scopes.js';
import { QUOTA_NAMES, QUOTAS, type Quota } from '../domain/quotas.js';
import { LogUsage } from '../service/logUsage.js';
import { quotasOf } from '../service/quotas.js';
import { UsageError } from './errors.js';
import { operator, withFirstCommands, withReadModels, withTenant, withTenants } from './operator.js';
import { columns, type JsonOption, printResult, withJson } from './output.js';

type CreateOptions = JsonOption & {
  readonly orderModel: string;
  readonly displayName?: string;
  readonly adminEmail?: string;
};

export function tenantCommand(): Command {
  return new Command('tenant')
    .description('Make, list, show and delete tenants, and set their quotas.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(quotasCommand())
    .addCommand(guardCommand())
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
  // Before the log is made.
  checkNewTenant(name, { orderModel, displayName, adminEmail });
  const { admin, client } = await withFirstCommands(({ commands }) =>
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

const showCommand = (): Command =>
  withJson(
    new Command('show').description('Show a tenant and what it uses of its quotas.').argument('<name>', 'the tenant'),
    'dynamic-assets tenant show acme',
  ).action(show);

async function show(name: string, options: JsonOption): Promise<void> {
  const config = readConfig(process.env);
  const { tenant, quotas } = await withReadModels(name, async ({ eventStore, queries }) => {
    const found = await tenantNow({ eventStore }, name);
    const log = { tally: await LogUsage.now(eventStore, config) };
    const directory = { tenant: () => found };
    const usage = new TenantUsage({ log, queries, directory, quotas: quotasOf(config) });
    const uses = QUOTA_NAMES.map(async (quota) => {
      const limit = usage.limit(found, quota);
      return [quota, { limit: limit === 0 ? null : limit, used: (await usage.now(found, quota)) ?? null }] as const;
    });
    return { tenant: found, quotas: await Promise.all(uses) };
  });
  const { displayName, orderModel } = tenant;
  const rows = quotas.map(([quota, { limit, used }]) => [
    QUOTAS[quota].name,
    used === null ? 'not known' : String(used),
    limit === null ? 'no limit' : String(limit),
    tenant.quotas?.[quota] === undefined ? "the installation's" : 'its own',
  ]);
  const shown = Object.fromEntries(quotas.map(([quota, use]) => [QUOTAS[quota].name, use]));
  printResult(options, { tenant: name, display_name: displayName, order_model: orderModel, quotas: shown }, [
    ...columns([
      ['Tenant', name],
      ['Display name', displayName],
      ['Order model', orderModel],
    ]),
    ...columns([['QUOTA', 'USED', 'LIMIT', 'WHOSE LIMIT'], ...rows]),
  ]);
}

const DEFAULT = 'default';
type QuotaOptions = JsonOption & { readonly [quota in Quota]?: number | typeof DEFAULT };

function quotasCommand(): Command {
  const definition = new Command('quotas')
    .description(
      'Set quotas of one tenant, instead of the settings QUOTA_… of the installation. Those that are not named stay. A running service knows them at once.',
    )
    .argument('<name>', 'the tenant');
  for (const quota of QUOTA_NAMES) {
    const { name, counts } = QUOTAS[quota];
    definition.option(
      `--${name.replaceAll('_', '-')} <number>`,
      `${counts}; 0 for no limit, or "default"`,
      quotaOption,
    );
  }
  return withJson(definition, 'dynamic-assets tenant quotas acme --records 50000000 --log-bytes default').action(
    setQuotas,
  );
}

function guardCommand(): Command {
  const definition = new Command('clean-up-guard')
    .description(
      'Guard the clean-ups of one tenant: those of more than this share of a table, or of a batch id that no record has, need the confirmation of their number. A new tenant has no guard.',
    )
    .argument('<name>', 'the tenant')
    .option('--max-percent <number>', 'share of a table, 0 to 100', percentOption)
    .option('--min-records <number>', 'clean-ups of so many records are never refused', countOption, 0)
    .option('--off', 'no guard');
  return withJson(definition, 'dynamic-assets tenant clean-up-guard acme --max-percent 50 --min-records 100').action(
    setGuard,
  );
}

type GuardOptions = JsonOption & {
  readonly maxPercent?: number;
  readonly minRecords: number;
  readonly off?: true;
};

async function setGuard(name: string, { maxPercent, minRecords, off, ...output }: GuardOptions): Promise<void> {
  if ((maxPercent === undefined) !== (off === true)) throw new UsageError('Name one of --max-percent and --off.');
  const guard = maxPercent === undefined ? undefined : { maxPercent, minRecords };
  await withTenant(name, ({ commands }) => changeCleanUpGuard(commands, operator(name), guard));
  const shown = guard === undefined ? null : { max_percent: guard.maxPercent, min_records: minRecords };
  const percent = `more than ${maxPercent} percent of a table and more than ${minRecords} records`;
  printResult(output, { tenant: name, clean_up_guard: shown }, [
    guard === undefined
      ? `Clean-ups of ${name} are not guarded.`
      : `Clean-ups of ${name} are confirmed beyond ${percent}.`,
  ]);
}

function countOption(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function percentOption(text: string): number {
  const percent = countOption(text);
  if (percent <= 100) return percent;
  throw new InvalidArgumentError('It must be 0 to 100.');
}

function quotaOption(text: string): number | typeof DEFAULT {
  if (text === DEFAULT) return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, or "default".');
}

async function setQuotas(name: string, options: QuotaOptions): Promise<void> {
  const set = QUOTA_NAMES.flatMap((quota) => {
    const value = options[quota];
    return value === undefined ? [] : [[quota, value === DEFAULT ? null : value] as const];
  });
  if (set.length === 0) throw new UsageError('Name at least one quota, such as --records 50000000.');
  await withTenant(name, ({ commands }) => changeQuotas(commands, operator(name), Object.fromEntries(set)));
  const shown = set.map(([quota, value]) => [QUOTAS[quota].name, value] as const);
  printResult(options, { tenant: name, quotas: Object.fromEntries(shown) }, [
    `Quotas of ${name} are set:`,
    ...columns(shown.map(([quota, value]) => [`  ${quota}`, value === null ? "the installation's" : String(value)])),
  ]);
}

function deleteCommand(): Command {
  const definition = new Command('delete')
    .description(
      'Delete a tenant for good: its tokens and sessions end at once, nothing more is sent to its webhooks, and its rows are removed. Its events stay in the log, and its name cannot be used again.',
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
    `Tenant ${name} is deleted. A running service ends its tokens, sessions and webhooks now, and removes its rows;`,
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

type NewTenant = { readonly orderModel: string; readonly displayName: string; readonly adminEmail: string };

const adminOf = ({ adminEmail, displayName }: NewTenant) => ({
  email: adminEmail.toLowerCase(),
  password: newPassword(),
  first_name: 'Admin',
  last_name: displayName,
  roles: ['admin', 'validator'],
});

/** @throws ValidationError (name, e-mail address) */
function checkNewTenant(name: string, input: NewTenant): void {
  checkTenantName(name);
  parseBody(newUserBody, adminOf(input));
}

/**
 * Creates a tenant, its first admin, and an API client with all scopes.
 * @throws ValidationError (name, e-mail address), ConflictError (the tenant exists); then nothing was created
 */
export async function openTenant(commands: DirectoryCommands, caller: Caller, input: NewTenant): Promise<OpenedTenant> {
  const admin = adminOf(input);
  // A wrong address must not leave a tenant without an admin.
  checkNewTenant(caller.tenant, input);
  await createTenant(commands, caller, { orderModel: input.orderModel, displayName: input.displayName });
  await addUser(commands, caller, admin);
  const client = await createClient(commands, caller, { name: 'First API client' });
  return {
    admin: { email: admin.email, password: admin.password },
    client: { client_id: client.clientId, client_secret: client.clientSecret, scopes: client.scopes },
  };
}
