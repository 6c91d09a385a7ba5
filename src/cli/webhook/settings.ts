/** Commands about webhooks that exist: list, rotate and promote secrets, enable and disable. */
import { Command } from 'commander';
import { parseBody } from '../../commands/body.js';
import { tenantOf } from '../../commands/tables.js';
import { promoteWebhookSecret, stageWebhookSecret } from '../../commands/webhooks/secrets.js';
import { disableWebhook, disableWebhookBody, enableWebhook } from '../../commands/webhooks/settings.js';
import type { Webhook } from '../../domain/identity/directory.js';
import { operator, withDirectory } from '../operator.js';
import { columns, type JsonOption, printResult, withJson } from '../output.js';

type ListOptions = JsonOption & { readonly tenant: string };
type OneOptions = ListOptions & { readonly id: string };
type DisableOptions = OneOptions & { readonly reason?: string };

export function listCommand(): Command {
  const definition = new Command('list')
    .description('List the webhooks of a tenant.')
    .requiredOption('--tenant <name>', 'tenant whose webhooks are listed');
  return withJson(definition, 'dynamic-assets webhook list --tenant acme').action(list);
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

function commandForOne(name: string, description: string): Command {
  const definition = new Command(name)
    .description(description)
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--id <id>', 'id of the webhook, as "webhook list" shows it');
  return withJson(definition, `dynamic-assets webhook ${name} --tenant acme --id 019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10`);
}

async function list(options: ListOptions): Promise<void> {
  const webhooks = await withDirectory(async ({ directory }) => [
    ...tenantOf({ directory }, options.tenant).webhooks.values(),
  ]);
  const rows = webhooks.map((webhook) => [webhook.id, stateOf(webhook), webhook.name, webhook.url]);
  printResult(
    options,
    webhooks.map(asJson),
    rows.length === 0
      ? ['There is no webhook yet. Make one with "dynamic-assets webhook create".']
      : columns([['ID', 'STATE', 'NAME', 'URL'], ...rows]),
  );
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

async function rotate({ tenant, id, ...output }: OneOptions): Promise<void> {
  const { secret } = await withDirectory(({ commands, secretBox }) =>
    stageWebhookSecret({ ...commands, secretBox }, operator(tenant), id),
  );
  printResult(output, { id, secret }, [
    ...columns([['new signing secret', secret]]),
    'It signs in webhook-signature beside the one in use. Give it to the receiver, then run "webhook promote".',
  ]);
}

async function promote({ tenant, id, ...output }: OneOptions): Promise<void> {
  await withDirectory(({ commands }) => promoteWebhookSecret(commands, operator(tenant), id));
  printResult(output, { id, rotating: false }, ['The new secret is the only one now.']);
}

async function enable({ tenant, id, ...output }: OneOptions): Promise<void> {
  await withDirectory(({ commands }) => enableWebhook(commands, operator(tenant), id));
  printResult(output, { id, enabled: true }, ['The webhook is enabled.']);
}

async function disable({ tenant, id, json, ...given }: DisableOptions): Promise<void> {
  const { reason } = parseBody(disableWebhookBody, given);
  await withDirectory(({ commands }) => disableWebhook(commands, operator(tenant), id, { cause: 'admin', reason }));
  printResult({ ...(json && { json }) }, { id, enabled: false }, ['The webhook is disabled; what is for it waits.']);
}
