import { Command } from 'commander';
import { createClient } from '../commands/identity/clients.js';
import { operator, withCommands } from './operator.js';
import { columns, commaSeparated, type JsonOption, printResult, withJson } from './output.js';

type CreateOptions = JsonOption & { readonly tenant: string; readonly name: string; readonly scopes?: string[] };

export function clientCommand(): Command {
  const definition = new Command('create')
    .description('Make an API client. Its secret is shown this once.')
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--name <text>', 'what it is for')
    .option('--scopes <list>', 'comma-separated scopes (default: all four)', commaSeparated);
  const example =
    'dynamic-assets client create --tenant acme --name ERP --scopes read:reference_data,write:reference_data';
  return new Command('client')
    .description('Make API clients.')
    .addCommand(withJson(definition, example).action(create));
}

async function create({ tenant, name, scopes, ...output }: CreateOptions): Promise<void> {
  const body = scopes === undefined ? { name } : { name, scopes };
  const made = await withCommands(({ commands }) => createClient(commands, operator(tenant), body));
  printResult(
    output,
    { client_id: made.clientId, client_secret: made.clientSecret, scopes: made.scopes },
    columns([
      ['client id', made.clientId],
      ['client secret', made.clientSecret],
      ['scopes', made.scopes.join(' ')],
    ]),
  );
}
