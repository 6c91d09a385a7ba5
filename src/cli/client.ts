import { Command } from 'commander';
import { createClient, removeClient } from '../commands/identity/clients.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { clientsStream } from '../domain/streams.js';
import { UnknownNameError } from './errors.js';
import { type OperatorTools, operator, withTenant } from './operator.js';
import { columns, commaSeparated, type JsonOption, printResult, withJson } from './output.js';

type ListOptions = JsonOption & { readonly tenant: string };
type CreateOptions = ListOptions & { readonly name: string; readonly scopes?: string[] };
type RemoveOptions = ListOptions & { readonly id: string };

export function clientCommand(): Command {
  return new Command('client')
    .description('Make, list and remove API clients.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(removeCommand());
}

function createCommand(): Command {
  const definition = new Command('create')
    .description('Make an API client. Its secret is shown only now.')
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--name <text>', 'what it is for')
    .option('--scopes <list>', 'comma-separated scopes (default: all four)', commaSeparated);
  const example =
    'dynamic-assets client create --tenant acme --name ERP --scopes read:reference_data,write:reference_data';
  return withJson(definition, example).action(create);
}

async function create({ tenant, name, scopes, ...output }: CreateOptions): Promise<void> {
  const body = scopes === undefined ? { name } : { name, scopes };
  const made = await withTenant(tenant, ({ commands }) => createClient(commands, operator(tenant), body));
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

function listCommand(): Command {
  const definition = new Command('list')
    .description('List the API clients of a tenant; never their secrets.')
    .requiredOption('--tenant <name>', 'tenant whose clients are listed');
  return withJson(definition, 'dynamic-assets client list --tenant acme').action(list);
}

async function list({ tenant, ...output }: ListOptions): Promise<void> {
  const clients = await withTenant(tenant, ({ commands }) => clientsOf(commands, tenant));
  const rows = clients.map(({ clientId, name, createdAt, scopes }) => [clientId, name, createdAt, scopes.join(' ')]);
  printResult(
    output,
    clients.map((c) => ({ client_id: c.clientId, name: c.name, scopes: c.scopes, created_at: c.createdAt })),
    rows.length === 0
      ? ['There is no API client. Make one with "dynamic-assets client create".']
      : columns([['CLIENT ID', 'NAME', 'CREATED AT', 'SCOPES'], ...rows]),
  );
}

function removeCommand(): Command {
  const definition = new Command('remove')
    .description('Remove an API client. Its tokens end at once.')
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--id <id>', 'client id, as "client list" shows it');
  const example = 'dynamic-assets client remove --tenant acme --id 019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';
  return withJson(definition, example).action(remove);
}

async function remove({ tenant, id, ...output }: RemoveOptions): Promise<void> {
  await withTenant(tenant, async ({ commands }) => {
    const known = (await clientsOf(commands, tenant)).map(({ clientId }) => clientId);
    if (!known.includes(id)) throw new UnknownNameError(`API client ${id}`, known, `${tenant} has none.`);
    await removeClient(commands, operator(tenant), id);
  });
  printResult(output, { client_id: id, removed: true }, ['The client is removed, and its tokens have ended.']);
}

const clientsOf = async (commands: OperatorTools['commands'], tenant: string) => [
  ...(await tenantNow(commands, tenant, clientsStream(tenant))).clients.values(),
];
