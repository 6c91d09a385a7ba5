import { Command, InvalidArgumentError } from 'commander';
import { createWebhook } from '../commands/webhooks/settings.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/events.js';
import { operator, withDirectory } from './operator.js';
import { columns, commaSeparated, printJson, printLines } from './output.js';
import { resealCommand } from './webhookReseal.js';
import { disableCommand, enableCommand, listCommand, promoteCommand, rotateCommand } from './webhookSettings.js';

type CreateOptions = {
  readonly tenant: string;
  readonly url: string;
  readonly name?: string;
  readonly events?: string[];
  readonly customData?: unknown;
  readonly json?: true;
};

export function webhookCommand(): Command {
  const create = new Command('create')
    .description('Send events of a tenant to an HTTPS endpoint. The signing secret is shown this once.')
    .requiredOption('--tenant <name>', 'tenant whose events are sent')
    .requiredOption('--url <url>', 'endpoint, https only')
    .option('--name <text>', 'what it is for (default: the host of the URL)')
    .option(
      '--events <list>',
      `comma-separated: ${WEBHOOK_EVENT_KINDS.join(', ')} (default: order.approved)`,
      commaSeparated,
    )
    .option('--custom-data <json>', 'JSON object that is sent along as custom_data', jsonValue)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ dynamic-assets webhook create --tenant acme --url https://erp.acme.example/orders --events order.approved',
    )
    .action(createAction);
  const webhook = new Command('webhook').description('Make and manage webhooks.').addCommand(create);
  for (const command of [
    listCommand(),
    rotateCommand(),
    promoteCommand(),
    enableCommand(),
    disableCommand(),
    resealCommand(),
  ]) {
    webhook.addCommand(command);
  }
  return webhook;
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be a JSON object, such as \'{"warehouse":"north"}\'.');
  }
}

async function createAction(options: CreateOptions): Promise<void> {
  const body = {
    url: options.url,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.events === undefined ? {} : { events: options.events }),
    ...(options.customData === undefined ? {} : { custom_data: options.customData }),
  };
  const { id, secret } = await withDirectory(({ commands, secretBox, checkTarget }) =>
    createWebhook({ ...commands, secretBox }, operator(options.tenant), body, checkTarget),
  );
  if (options.json) printJson({ id, secret });
  else {
    printLines(
      ...columns([
        ['webhook id', id],
        ['signing secret', secret],
      ]),
    );
  }
}
