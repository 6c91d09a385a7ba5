import { Command, Option } from 'commander';
import { ORDER_MODELS } from '../domain/identity/events.js';
import { openTenant, placeholderEmail } from './openTenant.js';
import { operator, tenantsByName, withDirectory } from './operator.js';
import { columns, printJson, printLines } from './output.js';

type CreateOptions = {
  readonly orderModel: string;
  readonly displayName?: string;
  readonly adminEmail?: string;
  readonly json?: true;
};

export function tenantCommand(): Command {
  return new Command('tenant')
    .description('Make and list tenants.')
    .addCommand(createCommand())
    .addCommand(listCommand());
}

function createCommand(): Command {
  return new Command('create')
    .description('Make a tenant with a first admin user and an API client with all scopes.')
    .argument('<name>', 'first label of its host name: lower-case letters, digits, single hyphens; at most 40')
    .addOption(new Option('--order-model <table>', 'what its orders are').choices(ORDER_MODELS).makeOptionMandatory())
    .option('--display-name <text>', 'name shown to people (default: the name)')
    .option('--admin-email <address>', 'of the first admin (default: admin@<name>.example)')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets tenant create acme --order-model dyn_stock_order')
    .action(create);
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const made = await withDirectory(({ commands }) =>
    openTenant(commands, operator(name), {
      orderModel: options.orderModel,
      displayName: options.displayName ?? name,
      adminEmail: options.adminEmail ?? placeholderEmail(name),
    }),
  );
  const { admin, client } = made;
  if (options.json) {
    printJson({ tenant: name, admin, client });
    return;
  }
  printLines(
    `Tenant ${name} is there. The password and the secret are shown this once:`,
    ...columns([
      ['  admin e-mail', admin.email],
      ['  admin password', admin.password],
      ['  client id', client.client_id],
      ['  client secret', client.client_secret],
      ['  scopes', client.scopes.join(' ')],
    ]),
  );
}

function listCommand(): Command {
  return new Command('list')
    .description('List the tenants.')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets tenant list')
    .action(list);
}

async function list(options: { readonly json?: true }): Promise<void> {
  await withDirectory(async ({ commands }) => {
    const tenants = tenantsByName(commands.directory);
    if (options.json) {
      printJson(tenants.map((t) => ({ tenant: t.name, display_name: t.displayName, order_model: t.orderModel })));
    } else if (tenants.length === 0) {
      printLines('There is no tenant yet. Make one with "dynamic-assets tenant create".');
    } else {
      const rows = tenants.map((tenant) => [tenant.name, tenant.orderModel, tenant.displayName]);
      printLines(...columns([['TENANT', 'ORDER MODEL', 'DISPLAY NAME'], ...rows]));
    }
  });
}
