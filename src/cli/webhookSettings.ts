/** Commands about a webhook that is there: list, rotate and promote secrets, enable and disable. */
import { Command } from 'commander';
import { parseBody } from '../commands/body.js';
import { tenantOf } from '../commands/tables.js';
import { promoteWebhookSecret, stageWebhookSecret } from '../commands/webhooks/secrets.js';
import { disableWebhook, disableWebhookBody, enableWebhook } from '../commands/webhooks/settings.js';
import type { Webhook } from '../domain/identity/directory.js';
import { operator, withDirectory } from './operator.js';
import { columns, printJson, printLines } from './output.js';

type ListOptions = { readonly tenant: string; readonly json?: true };
type OneOptions = ListOptions & { readonly id: string };
type DisableOptions = OneOptions & { readonly reason?: string };

export function listCommand(): Command {
  return new Command('list')
    .description('List the webhooks of a tenant.')
    .requiredOption('--tenant <name>', 'tenant whose webhooks are listed')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets webhook list --tenant acme')
    .action(list);
}

export const rotateCommand = (): Command =>
  commandForOne(
    'rotate',
    'Begin to change the signing secret: a second one signs beside it. It is shown this once.',
  ).action(rotate);

export const promoteCommand = (): Command =>
  commandForOne(
    'promote',
    'End a rotation: the second secret takes the place of the first, which signs nothing any more.',
  ).action(promote);

export const enableCommand = (): Command =>
  commandForOne('enable', 'Send to a disabled webhook again, what waited for it first.').action(enable);

export const disableCommand = (): Command =>
  commandForOne('disable', 'Send nothing to a webhook until it is enabled; what is for it waits.')
    .option('--reason <text>', 'why, for those who look at it')
    .action(disable);

const commandForOne = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--id <id>', 'id of the webhook, as "webhook list" shows it')
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `\nExample:\n  $ dynamic-assets webhook ${name} --tenant acme --id 019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10`,
    );

async function list({ tenant, json }: ListOptions): Promise<void> {
  await withDirectory(async ({ directory }) => {
    const webhooks = [...tenantOf({ directory }, tenant).webhooks.values()];
    if (json) {
      printJson(webhooks.map(asJson));
    } else if (webhooks.length === 0) {
      printLines('There is no webhook yet. Make one with "dynamic-assets webhook create".');
    } else {
      const rows = webhooks.map((webhook) => [webhook.id, stateOf(webhook), webhook.name, webhook.url]);
      printLines(...columns([['ID', 'STATE', 'NAME', 'URL'], ...rows]));
    }
  });
}

const stateOf = ({ disabled, stagedSecret }: Webhook): string => {
  const state = disabled === undefined ? 'enabled' : `disabled (${disabled.cause})`;
  return stagedSecret === undefined ? state : `${state}, rotating`;
};

const asJson = ({ id, name, url, events, disabled, stagedSecret }: Webhook) => ({
  id,
  name,
  url,
  events,
  enabled: disabled === undefined,
  disabled: disabled ?? null,
  rotating: stagedSecret !== undefined,
});

async function rotate({ tenant, id, json }: OneOptions): Promise<void> {
  const { secret } = await withDirectory(({ commands, secretBox }) =>
    stageWebhookSecret({ ...commands, secretBox }, operator(tenant), id),
  );
  if (json) {
    printJson({ id, secret });
    return;
  }
  printLines(
    ...columns([['new signing secret', secret]]),
    'It signs in webhook-signature beside the one in use. Give it to the receiver, then run "webhook promote".',
  );
}

async function promote({ tenant, id, json }: OneOptions): Promise<void> {
  await withDirectory(({ commands }) => promoteWebhookSecret(commands, operator(tenant), id));
  if (json) printJson({ id, rotating: false });
  else printLines('The new secret is the only one now.');
}

async function enable({ tenant, id, json }: OneOptions): Promise<void> {
  await withDirectory(({ commands }) => enableWebhook(commands, operator(tenant), id));
  if (json) printJson({ id, enabled: true });
  else printLines('The webhook is enabled.');
}

async function disable({ tenant, id, json, ...given }: DisableOptions): Promise<void> {
  const { reason } = parseBody(disableWebhookBody, given);
  await withDirectory(({ commands }) => disableWebhook(commands, operator(tenant), id, { cause: 'admin', reason }));
  if (json) printJson({ id, enabled: false });
  else printLines('The webhook is disabled; what is for it waits.');
}
