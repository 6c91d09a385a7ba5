import { Command } from 'commander';
import { newPassword } from '../commands/identity/secrets.js';
import { addUser } from '../commands/identity/users.js';
import { ROLES } from '../domain/identity/scopes.js';
import { operator, withCommands } from './operator.js';
import { columns, commaSeparated, type JsonOption, printResult, withJson } from './output.js';

type CreateOptions = JsonOption & {
  readonly tenant: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly roles: string[];
  readonly locale: string;
  readonly password?: string;
};

export function userCommand(): Command {
  const definition = new Command('create')
    .description('Add a user of the platform.')
    .requiredOption('--tenant <name>', 'tenant the user belongs to')
    .requiredOption('--email <address>', 'e-mail address, used to sign in')
    .requiredOption('--first-name <name>', 'first name')
    .requiredOption('--last-name <name>', 'last name')
    .option('--roles <list>', `comma-separated: ${ROLES.join(', ')}`, commaSeparated, ['validator'])
    .option('--locale <locale>', 'language, such as en or nl_NL', 'en')
    .option('--password <text>', 'at least 12 characters (default: one is made and shown this once)');
  const example =
    'dynamic-assets user create --tenant acme --email eva@acme.example --first-name Eva --last-name Smit --roles validator';
  return new Command('user')
    .description('Add users of the platform.')
    .addCommand(withJson(definition, example).action(create));
}

async function create(options: CreateOptions): Promise<void> {
  const { tenant, email, firstName, lastName, locale, roles, password = newPassword() } = options;
  const body = { email, password, first_name: firstName, last_name: lastName, locale, roles };
  const { id } = await withCommands(({ commands }) => addUser(commands, operator(tenant), body));
  printResult(
    options,
    { id, email, password, roles },
    columns([
      ['user id', String(id)],
      ['e-mail', email],
      ['password', password],
      ['roles', roles.join(', ')],
    ]),
  );
}
