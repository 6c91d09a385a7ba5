import { Command } from 'commander';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { newPassword } from '../commands/identity/secrets.js';
import { addUser, changeUser, removeUser } from '../commands/identity/users.js';
import type { User } from '../domain/identity/events.js';
import { ROLES } from '../domain/identity/scopes.js';
import { usersStream } from '../domain/streams.js';
import { UnknownNameError } from './errors.js';
import { type OperatorTools, operator, withTenant } from './operator.js';
import { columns, commaSeparated, type JsonOption, printResult, withJson } from './output.js';
import { readPassword } from './secretInput.js';

type ListOptions = JsonOption & { readonly tenant: string };
type OneOptions = ListOptions & { readonly email: string };
type CreateOptions = OneOptions & {
  readonly firstName: string;
  readonly lastName: string;
  readonly roles: string[];
  readonly locale: string;
  readonly askPassword?: true;
};

export function userCommand(): Command {
  return new Command('user')
    .description('Add, list and remove users of the platform.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(commandForOne('remove', 'Remove a user, whose sessions end at once.').action(remove))
    .addCommand(
      commandForOne(
        'set-password',
        'Give a user a new password, which is asked for, or read from standard input. All sessions of the user end at once.',
      ).action(setPassword),
    );
}

function createCommand(): Command {
  const definition = new Command('create')
    .description('Add a user of the platform.')
    .requiredOption('--tenant <name>', 'tenant the user belongs to')
    .requiredOption('--email <address>', 'e-mail address, used to sign in')
    .requiredOption('--first-name <name>', 'first name')
    .requiredOption('--last-name <name>', 'last name')
    .option('--roles <list>', `comma-separated: ${ROLES.join(', ')}`, commaSeparated, ['validator'])
    .option('--locale <locale>', 'language, such as en or nl_NL', 'en')
    .option(
      '--ask-password',
      'ask for the password, or read it from standard input (default: one is made and shown once)',
    );
  const example =
    'dynamic-assets user create --tenant acme --email eva@acme.example --first-name Eva --last-name Smit --roles validator';
  return withJson(definition, example).action(create);
}

async function create(options: CreateOptions): Promise<void> {
  const { tenant, email, firstName, lastName, locale, roles, askPassword } = options;
  const made = askPassword ? undefined : newPassword();
  const password = made ?? (await readPassword());
  const body = { email, password, first_name: firstName, last_name: lastName, locale, roles };
  const { id } = await withTenant(tenant, ({ commands }) => addUser(commands, operator(tenant), body));
  printResult(
    options,
    { id, email, password: made, roles },
    columns([
      ['user id', String(id)],
      ['e-mail', email],
      ...(made === undefined ? [] : [['password', made]]),
      ['roles', roles.join(', ')],
    ]),
  );
}

function listCommand(): Command {
  const definition = new Command('list')
    .description('List the users of a tenant.')
    .requiredOption('--tenant <name>', 'tenant whose users are listed');
  return withJson(definition, 'dynamic-assets user list --tenant acme').action(list);
}

async function list({ tenant, ...output }: ListOptions): Promise<void> {
  const users = await withTenant(tenant, ({ commands }) => usersOf(commands, tenant));
  const rows = users.map(({ id, email, firstName, lastName, roles }) => [
    String(id),
    email,
    roles.join(','),
    `${firstName} ${lastName}`,
  ]);
  printResult(
    output,
    users.map(({ id, email, firstName, lastName, locale, roles }) => ({
      id,
      email,
      first_name: firstName,
      last_name: lastName,
      locale,
      roles,
    })),
    rows.length === 0
      ? ['There is no user. Add one with "dynamic-assets user create".']
      : columns([['ID', 'E-MAIL', 'ROLES', 'NAME'], ...rows]),
  );
}

function commandForOne(name: string, description: string): Command {
  const definition = new Command(name)
    .description(description)
    .requiredOption('--tenant <name>', 'tenant the user belongs to')
    .requiredOption('--email <address>', 'e-mail address of the user');
  return withJson(definition, `dynamic-assets user ${name} --tenant acme --email eva@acme.example`);
}

async function remove({ tenant, email, ...output }: OneOptions): Promise<void> {
  const { id } = await withTenant(tenant, async ({ commands }) => {
    const user = await userWith(commands, tenant, email);
    await removeUser(commands, operator(tenant), user.id);
    return user;
  });
  printResult(output, { id, email, removed: true }, ['The user is removed, and all sessions have ended.']);
}

async function setPassword({ tenant, email, ...output }: OneOptions): Promise<void> {
  const { id } = await withTenant(tenant, async ({ commands }) => {
    const user = await userWith(commands, tenant, email);
    await changeUser(commands, operator(tenant), user.id, { password: await readPassword() });
    return user;
  });
  printResult(output, { id, email, changed: true }, ['The password is changed, and all sessions have ended.']);
}

/** @throws UnknownNameError */
async function userWith(commands: OperatorTools['commands'], tenant: string, email: string): Promise<User> {
  const users = await usersOf(commands, tenant);
  const user = users.find((each) => each.email === email.toLowerCase());
  if (user !== undefined) return user;
  const known = users.map((each) => each.email);
  throw new UnknownNameError(`user ${email} in ${tenant}`, known, `${tenant} has none.`);
}

const usersOf = async (commands: OperatorTools['commands'], tenant: string) => [
  ...(await tenantNow(commands, tenant, usersStream(tenant))).users.values(),
];
