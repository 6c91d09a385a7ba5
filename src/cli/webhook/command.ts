import { Command, InvalidArgumentError } from 'commander';
import { createWebhook } from '../../commands/webhooks/settings.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import { operator, withDirectory } from '../operator.js';
import { columns, commaSeparated, type JsonOption, printResult, withJson } from '../output.js';
import { resealCommand } from './reseal.js';
import { disableCommand, enableCommand, listCommand, promoteCommand, rotateCommand } from './settings.js';

type CreateOptions = JsonOption & {
  readonly tenant: string;
  readonly url: string;
  readonly name?: string;
  readonly events?: string[];
  readonly customData?: unknown;
};

export function webhookCommand(): Command {
  return new Command('webhook')
    .description('Make and manage webhooks.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(rotateCommand())
    .addCommand(promoteCommand())
    .addCommand(enableCommand())
    .addCommand(disableCommand())
    .addCommand(resealCommand());
}

function createCommand(): Command {
  const kinds = WEBHOOK_EVENT_KINDS.join(', ');
  const definition = new Command('create')
    .description('Send events of a tenant to an HTTPS endpoint. The signing secret is shown this once.')
    .requiredOption('--tenant <name>', 'tenant whose events are sent')
    .requiredOption('--url <url>', 'endpoint, https only')
    .option('--name <text>', 'what it is for (default: the host of the URL)')
    .option('--events <list>', `comma-separated: ${kinds} (default: order.approved)`, commaSeparated)
    .option('--custom-data <json>', 'JSON object that is sent along as custom_data', jsonValue);
  const example =
    'dynamic-assets webhook create --tenant acme --url https://erp.acme.example/orders --events order.approved';
  return withJson(definition, example).action(create);
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be a JSON object, such as \'{"warehouse":"north"}\'.');
  }
}

async function create({ tenant, url, name, events, customData, ...output }: CreateOptions): Promise<void> {
  const body = {
    url,
    ...(name === undefined ? {} : { name }),
    ...(events === undefined ? {} : { events }),
    ...(customData === undefined ? {} : { custom_data: customData }),
  };
  const { id, secret } = await withDirectory(({ commands, secretBox, checkTarget }) =>
    createWebhook({ ...commands, secretBox }, operator(tenant), body, checkTarget),
  );
  const rows = [
    ['webhook id', id],
    ['signing secret', secret],
  ];
  printResult(output, { id, secret }, columns(rows));
}
