/** Tenants with their first API clients and users. What their admins do themselves is on the platform and in its API. */
import { InvalidArgumentError } from 'commander';
import { createClient } from '../commands/identity/clients.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { newPassword } from '../commands/identity/secrets.js';
import { changeTenant, deleteTenant, firstAdmin, type OpenedTenant, openTenant } from '../commands/identity/tenants.js';
import { addUser, resetPassword } from '../commands/identity/users.js';
import { ORDER_MODELS } from '../domain/identity/events.js';
import { ROLES } from '../domain/identity/scopes.js';
import { QUOTA_NAMES, QUOTAS } from '../domain/quotas.js';
import { usersStream } from '../domain/streams.js';
import { columns, command, list, oneOf, parsed, required, text } from './command.js';
import { UsageError } from './errors.js';
import { operator, withFirstLog, withLog, withTenant } from './operator.js';

const NAME = ['<name>', 'the tenant'] as const;

const shownClient = (made: OpenedTenant['client']) =>
  [
    ['client id', made.client_id],
    ['client secret', made.client_secret],
    ['scopes', made.scopes.join(' ')],
  ] as const;

const create = command({
  name: 'tenant create',
  about: 'Make a tenant with a first admin user and an API client with all scopes.',
  example: 'dynamic-assets tenant create acme --order-model dyn_stock_order',
  argument: ['<name>', 'first label of its host name: lower-case letters, digits, single hyphens; at most 40'],
  options: {
    orderModel: oneOf(ORDER_MODELS, '<table>', 'table of its orders'),
    displayName: text('<text>', 'display name (default: the name)'),
    adminEmail: text('<address>', 'of the first admin (default: admin@<name>.example)'),
  },
  async run(opening, name) {
    // Before the log is made.
    firstAdmin(name, opening);
    const made = await withFirstLog(({ commands }) => openTenant(commands, operator(name), opening));
    return { tenant: name, ...made };
  },
  lines: ({ tenant, admin, client }) => [
    `Tenant ${tenant} was made. The password and the secret are shown only now:`,
    ...columns([
      ['  admin e-mail', admin.email],
      ['  admin password', admin.password],
      ...shownClient(client).map(([name, value]) => [`  ${name}`, value]),
    ]),
  ],
});

const listAll = command({
  name: 'tenant list',
  about: 'List the tenants.',
  example: 'dynamic-assets tenant list',
  async run() {
    const { all } = await withLog(({ tenants }) => tenants());
    return all.map((each) => ({ tenant: each.name, display_name: each.displayName, order_model: each.orderModel }));
  },
  lines: (all) =>
    all.length === 0
      ? ['There is no tenant yet. Make one with "dynamic-assets tenant create".']
      : columns([
          ['TENANT', 'ORDER MODEL', 'DISPLAY NAME'],
          ...all.map((each) => [each.tenant, each.order_model, each.display_name]),
        ]),
});

const DEFAULT = 'default';

function quotaValue(given: string): number | typeof DEFAULT {
  if (given === DEFAULT) return DEFAULT;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new InvalidArgumentError('It must be a whole number, or "default".');
}

const quotas = command({
  name: 'tenant quotas',
  about:
    'Set quotas of one tenant, instead of the settings QUOTA_… of the installation. Those that are not named stay.',
  example: 'dynamic-assets tenant quotas acme --records 50000000 --log-bytes default',
  argument: NAME,
  options: Object.fromEntries(
    QUOTA_NAMES.map((quota) => [
      quota,
      parsed('<number>', `${QUOTAS[quota].counts}; 0 for no limit, or "default"`, quotaValue),
    ]),
  ),
  async run(given, tenant) {
    const set = QUOTA_NAMES.flatMap((quota) => {
      const value = given[quota];
      return value === undefined ? [] : [[quota, value === DEFAULT ? null : value] as const];
    });
    if (set.length === 0) throw new UsageError('Name at least one quota, such as --records 50000000.');
    const event = { type: 'QuotasChanged', data: Object.fromEntries(set) } as const;
    await withTenant(tenant, ({ commands }) => changeTenant(commands, operator(tenant), [event]));
    return { tenant, quotas: Object.fromEntries(set.map(([quota, value]) => [QUOTAS[quota].name, value])) };
  },
  lines: ({ tenant, quotas: set }) => [
    `Quotas of ${tenant} are set:`,
    ...columns(Object.entries(set).map(([quota, value]) => [`  ${quota}`, String(value ?? "the installation's")])),
  ],
});

const remove = command({
  name: 'tenant delete',
  about: 'Delete a tenant for good. Its events stay in the log, and its name cannot be used again.',
  example: 'dynamic-assets tenant delete acme --confirm acme',
  argument: NAME,
  options: { confirm: required('<name>', 'the name again') },
  async run({ confirm }, tenant) {
    if (confirm !== tenant) throw new UsageError(`Nothing was deleted: that is not the name ${tenant}.`);
    await withTenant(tenant, ({ commands }) => deleteTenant(commands, operator(tenant)));
    return { tenant, deleted: true };
  },
  lines: ({ tenant }) => [
    `Tenant ${tenant} is deleted. A service ends its tokens, sessions and webhooks now, or at its start, and removes its rows.`,
    `Its events stay in the log and in backups (docs/operations.md, "Delete a tenant").`,
  ],
});

const clientCreate = command({
  name: 'client create',
  about: 'Make an API client. Its secret is shown only now.',
  example: 'dynamic-assets client create --tenant acme --name ERP --scopes read:reference_data,write:reference_data',
  options: {
    tenant: required('<name>', 'tenant it belongs to'),
    name: required('<text>', 'what it is for'),
    scopes: list('comma-separated scopes (default: all four)'),
  },
  async run({ tenant, name, scopes }) {
    const body = { name, ...(scopes && { scopes }) };
    const made = await withTenant(tenant, ({ commands }) => createClient(commands, operator(tenant), body));
    return { client_id: made.clientId, client_secret: made.clientSecret, scopes: made.scopes };
  },
  lines: (made) => columns(shownClient(made)),
});

const userCreate = command({
  name: 'user create',
  about: 'Add a user of the platform. The password is shown only now.',
  example:
    'dynamic-assets user create --tenant acme --email eva@acme.example --first-name Eva --last-name Smit --roles validator',
  options: {
    tenant: required('<name>', 'tenant the user belongs to'),
    email: required('<address>', 'e-mail address, used to sign in'),
    firstName: required('<name>', 'first name'),
    lastName: required('<name>', 'last name'),
    roles: list(`comma-separated: ${ROLES.join(', ')} (default: validator)`),
  },
  async run({ tenant, email, firstName, lastName, roles = ['validator'] }) {
    const password = newPassword();
    const body = { email, password, first_name: firstName, last_name: lastName, locale: 'en', roles };
    const { id } = await withTenant(tenant, ({ commands }) => addUser(commands, operator(tenant), body));
    return { id, email, password, roles };
  },
  lines: ({ id, email, password, roles }) =>
    columns([
      ['user id', String(id)],
      ['e-mail', email],
      ['password', password],
      ['roles', roles.join(', ')],
    ]),
});

const userSetPassword = command({
  name: 'user set-password',
  about: 'Give a user a password for the next sign-in, which is shown only now. All sessions of the user end at once.',
  example: 'dynamic-assets user set-password --tenant acme --email eva@acme.example',
  options: {
    tenant: required('<name>', 'tenant the user belongs to'),
    email: required('<address>', 'e-mail address of the user'),
  },
  run: ({ tenant, email }) =>
    withTenant(tenant, async ({ commands }) => {
      const users = [...(await tenantNow(commands, tenant, usersStream(tenant))).users.values()];
      const user = users.find((each) => each.email === email.toLowerCase());
      if (user === undefined) throw new UsageError(`There is no user ${email} in ${tenant}.`);
      const { password } = await resetPassword(commands, operator(tenant), user.id);
      return { id: user.id, email, password, changed: true };
    }),
  lines: ({ password }) => columns([['password', password]]),
});

export const tenantCommands = [create, listAll, quotas, remove, clientCreate, userCreate, userSetPassword];
