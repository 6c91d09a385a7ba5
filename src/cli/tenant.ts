import { Command, Option } from 'commander';
import { ORDER_MODELS } from '../domain/identity/events.js';
import { openTenant, placeholderEmail } from './openTenant.js';
import { operator, tenantsByName, withDirectory } from './operator.js';
import { columns, type JsonOption, printResult, withJson } from './output.js';

type CreateOptions = JsonOption & {
  readonly orderModel: string;
  readonly displayName?: string;
  readonly adminEmail?: string;
};

export function tenantCommand(): Command {
  return new Command('tenant')
    .description('Make and list tenants.')
    .addCommand(createCommand())
    .addCommand(listCommand());
}

function createCommand(): Command {
  const definition = new Command('create')
    .description('Make a tenant with a first admin user and an API client with all scopes.')
    .argument('<name>', 'first label of its host name: lower-case letters, digits, single hyphens; at most 40')
    .addOption(new Option('--order-model <table>', 'what its orders are').choices(ORDER_MODELS).makeOptionMandatory())
    .option('--display-name <text>', 'name shown to people (default: the name)')
    .option('--admin-email <address>', 'of the first admin (default: admin@<name>.example)');
  return withJson(definition, 'dynamic-assets tenant create acme --order-model dyn_stock_order').action(create);
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const { orderModel, displayName = name, adminEmail = placeholderEmail(name) } = options;
  const { admin, client } = await withDirectory(({ commands }) =>
    openTenant(commands, operator(name), { orderModel, displayName, adminEmail }),
  );
  printResult(options, { tenant: name, admin, client }, [
    `Tenant ${name} is there. The password and the secret are shown this once:`,
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
  const tenants = await withDirectory(async ({ directory }) => tenantsByName(directory));
  const rows = tenants.map(({ name, orderModel, displayName }) => [name, orderModel, displayName]);
  printResult(
    options,
    tenants.map((t) => ({ tenant: t.name, display_name: t.displayName, order_model: t.orderModel })),
    rows.length === 0
      ? ['There is no tenant yet. Make one with "dynamic-assets tenant create".']
      : columns([['TENANT', 'ORDER MODEL', 'DISPLAY NAME'], ...rows]),
  );
}
