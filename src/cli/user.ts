import { Command } from 'commander';
import { newPassword } from '../commands/identity/secrets.js';
import { addUser } from '../commands/identity/users.js';
import { ROLES } from '../domain/identity/scopes.js';
import { operator, withDirectory } from './operator.js';
import { columns, commaSeparated, printJson, printLines } from './output.js';

type CreateOptions = {
  readonly tenant: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly roles: string[];
  readonly locale: string;
  readonly password?: string;
  readonly json?: true;
};

export function userCommand(): Command {
  const create = new Command('create')
    .description('Add a user of the platform.')
    .requiredOption('--tenant <name>', 'tenant the user belongs to')
    .requiredOption('--email <address>', 'e-mail address, used to sign in')
    .requiredOption('--first-name <name>', 'first name')
    .requiredOption('--last-name <name>', 'last name')
    .option('--roles <list>', `comma-separated: ${ROLES.join(', ')}`, commaSeparated, ['validator'])
    .option('--locale <locale>', 'language, such as en or nl_NL', 'en')
    .option('--password <text>', 'at least 12 characters (default: one is made and shown this once)')
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ dynamic-assets user create --tenant acme --email eva@acme.example --first-name Eva --last-name Smit --roles validator',
    )
    .action(createAction);
  return new Command('user').description('Add users of the platform.').addCommand(create);
}

async function createAction(options: CreateOptions): Promise<void> {
  const { tenant, email, roles, locale, json } = options;
  const password = options.password ?? newPassword();
  const body = { email, password, first_name: options.firstName, last_name: options.lastName, locale, roles };
  const { id } = await withDirectory(({ commands }) => addUser(commands, operator(tenant), body));
  if (json) {
    printJson({ id, email, password, roles });
    return;
  }
  printLines(
    ...columns([
      ['user id', String(id)],
      ['e-mail', email],
      ['password', password],
      ['roles', roles.join(', ')],
    ]),
  );
}
