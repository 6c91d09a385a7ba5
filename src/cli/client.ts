import { Command } from 'commander';
import { createClient } from '../commands/identity/clients.js';
import { operator, withDirectory } from './operator.js';
import { columns, commaSeparated, printJson, printLines } from './output.js';

type CreateOptions = {
  readonly tenant: string;
  readonly name: string;
  readonly scopes?: string[];
  readonly json?: true;
};

export function clientCommand(): Command {
  const create = new Command('create')
    .description('Make an API client. Its secret is shown this once.')
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--name <text>', 'what it is for')
    .option('--scopes <list>', 'comma-separated scopes (default: all four)', commaSeparated)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ dynamic-assets client create --tenant acme --name ERP --scopes read:reference_data,write:reference_data',
    )
    .action(createAction);
  return new Command('client').description('Make API clients.').addCommand(create);
}

async function createAction({ tenant, name, scopes, json }: CreateOptions): Promise<void> {
  const body = scopes === undefined ? { name } : { name, scopes };
  const made = await withDirectory(({ commands }) => createClient(commands, operator(tenant), body));
  const client = { client_id: made.clientId, client_secret: made.clientSecret, scopes: made.scopes };
  if (json) {
    printJson(client);
    return;
  }
  printLines(
    ...columns([
      ['client id', client.client_id],
      ['client secret', client.client_secret],
      ['scopes', client.scopes.join(' ')],
    ]),
  );
}
