/** The commands `webhook`: settings, secrets, a test, and the list of deliveries. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { HttpError } from '../api/errors.js';
import { parseJson } from '../api/jsonText.js';
import { parseBody } from '../commands/body.js';
import { newId, now } from '../commands/clock.js';
import { NotFoundError } from '../commands/context.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { resealSigningKeys } from '../commands/identity/signingKeys.js';
import {
  promoteWebhookSecret,
  type ResealReport,
  resealWebhookSecrets,
  stageWebhookSecret,
} from '../commands/webhooks/secrets.js';
import { createWebhook, disableWebhook, disableWebhookBody, enableWebhook } from '../commands/webhooks/settings.js';
import { readConfig, version } from '../config.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { webhooksStream } from '../domain/streams.js';
import { exampleBody } from '../domain/webhook/catalogue/example.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../domain/webhook/events.js';
import type { DeliveryLogEntry, DeliveryState } from '../queries/deliveries.js';
import {
  HOW_TO_RESUME,
  heldSentence,
  heldWebhooks,
  holdWebhooks,
  openTransport,
  resumeWebhooks,
} from '../service/webhooks.js';
import { addressPolicy } from '../webhooks/targetAddress.js';
import { signedRequest } from '../webhooks/webhookRequest.js';
import { CliError, UsageError } from './errors.js';
import { operator, withReadModels, withTenant, withTenants } from './operator.js';
import { columns, commaSeparated, type JsonOption, printLines, printResult, withJson } from './output.js';

type ListOptions = JsonOption & { readonly tenant: string };
type OneOptions = ListOptions & { readonly id: string };
type DisableOptions = OneOptions & { readonly reason?: string };
type CreateOptions = ListOptions & {
  readonly url: string;
  readonly name?: string;
  readonly events?: string[];
  readonly customData?: string;
};

export function webhookCommand(): Command {
  const disable = commandForOne('disable', 'Disable a webhook: its events wait until it is enabled.');
  return new Command('webhook')
    .alias('webhooks')
    .description('Make and manage webhooks.')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(
      commandForOne(
        'rotate',
        'Begin a rotation of the signing secret: a second one signs beside it, and is shown only now.',
      ).action(rotate),
    )
    .addCommand(commandForOne('promote', 'End a rotation: the second secret replaces the first.').action(promote))
    .addCommand(
      commandForOne('enable', 'Enable a disabled webhook. The events that waited are sent first.').action(enable),
    )
    .addCommand(disable.option('--reason <text>', 'the reason that others are shown').action(disableOne))
    .addCommand(testCommand())
    .addCommand(deliveriesCommand())
    .addCommand(
      switchCommand(
        'hold',
        'Send nothing to any webhook of this installation until "webhook resume", as in a restored copy: deliveries wait, those that people ask for as well.',
        hold,
      ),
    )
    .addCommand(
      switchCommand(
        'resume',
        'Send webhooks again, those that waited first, after "webhook hold" or "restore".',
        resume,
      ),
    )
    .addCommand(resealCommand());
}

function createCommand(): Command {
  const kinds = WEBHOOK_EVENT_KINDS.join(', ');
  const definition = new Command('create')
    .description('Send events of a tenant to an HTTPS endpoint. The signing secret is shown only now.')
    .requiredOption('--tenant <name>', 'tenant whose events are sent')
    .requiredOption('--url <url>', 'endpoint, https only')
    .option('--name <text>', 'what it is for (default: the host of the URL)')
    .option('--events <list>', `comma-separated: ${kinds} (default: order.approved)`, commaSeparated)
    .option('--custom-data <json>', 'JSON object to send along as custom_data');
  const example =
    'dynamic-assets webhook create --tenant acme --url https://erp.acme.example/orders --events order.approved';
  return withJson(definition, example).action(create);
}

/** Parses as for a request: nothing is rounded or dropped. @throws UsageError */
function jsonValue(text: string): unknown {
  try {
    return parseJson(text, 'refused');
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw new UsageError(`--custom-data must be a JSON object, such as '{"warehouse":"north"}'. ${error.reason}`);
  }
}

async function create({ tenant, url, name, events, customData, ...output }: CreateOptions): Promise<void> {
  const body = { url, name, events, custom_data: customData === undefined ? undefined : jsonValue(customData) };
  const { id, secret } = await withTenant(tenant, ({ commands, checkTarget }) =>
    createWebhook(commands, operator(tenant), body, checkTarget),
  );
  const rows = [
    ['webhook id', id],
    ['signing secret', secret],
  ];
  printResult(output, { id, secret }, columns(rows));
}

function listCommand(): Command {
  const definition = new Command('list')
    .description('List the webhooks of a tenant.')
    .requiredOption('--tenant <name>', 'tenant whose webhooks are listed');
  return withJson(definition, 'dynamic-assets webhook list --tenant acme').action(list);
}

function commandForOne(name: string, description: string): Command {
  const definition = new Command(name)
    .description(description)
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--id <id>', 'id of the webhook, as "webhook list" shows it');
  return withJson(definition, `dynamic-assets webhook ${name} --tenant acme --id 019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10`);
}

async function list(options: ListOptions): Promise<void> {
  const known = await withTenant(options.tenant, ({ commands }) =>
    tenantNow(commands, options.tenant, webhooksStream(options.tenant)),
  );
  const webhooks = [...known.webhooks.values()];
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
  const { secret } = await withTenant(tenant, ({ commands }) => stageWebhookSecret(commands, operator(tenant), id));
  printResult(output, { id, secret }, [
    ...columns([['new signing secret', secret]]),
    'It signs in webhook-signature beside the one in use. Give it to the receiver, then run "webhook promote".',
  ]);
}

async function promote({ tenant, id, ...output }: OneOptions): Promise<void> {
  await withTenant(tenant, ({ commands }) => promoteWebhookSecret(commands, operator(tenant), id));
  printResult(output, { id, rotating: false }, ['The new secret is the only one now.']);
}

async function enable({ tenant, id, ...output }: OneOptions): Promise<void> {
  await withTenant(tenant, ({ commands }) => enableWebhook(commands, operator(tenant), id));
  printResult(output, { id, enabled: true }, ['The webhook is enabled.']);
}

async function disableOne({ tenant, id, json, ...given }: DisableOptions): Promise<void> {
  const { reason } = parseBody(disableWebhookBody, given);
  await withTenant(tenant, ({ commands }) =>
    disableWebhook(commands, operator(tenant), id, { cause: 'admin', reason }),
  );
  printResult({ ...(json && { json }) }, { id, enabled: false }, ['The webhook is disabled; its deliveries wait.']);
}

function resealCommand(): Command {
  const definition = new Command('reseal').description(
    'Seal the signing secrets of all tenants, and the keys that sign tokens, again under the first key of SECRETS_KEY. All of them stay the same.',
  );
  return withJson(definition, 'SECRETS_KEY=<new key>,<old key> dynamic-assets webhook reseal').action(reseal);
}

/** @throws CliError listing the secrets that no key opens; all others are sealed again */
async function reseal(options: JsonOption): Promise<void> {
  const { reports, signingKeys } = await withTenants(async (tenants, { commands }) => {
    const done: ResealReport[] = [];
    for (const { name } of tenants) done.push(await resealWebhookSecrets(commands, operator(name)));
    // Last: from then on no process starts without the new key.
    return { reports: done, signingKeys: await resealSigningKeys(commands, operator('').actor) };
  });
  const resealed = reports.reduce((sum, report) => sum + report.resealed, 0);
  const current = reports.reduce((sum, report) => sum + report.current, 0);
  const unopenable = reports.flatMap((report) => report.unopenable);
  const asJson = unopenable.map(({ tenant, webhookId, which }) => ({ tenant, webhook_id: webhookId, secret: which }));
  printResult(
    options,
    { resealed, current, unopenable: asJson, signing_keys: signingKeys },
    columns([
      ['sealed again', String(resealed)],
      ['under the first key already', String(current)],
      ['opened by no key', String(unopenable.length)],
      ['token keys sealed again', String(signingKeys)],
    ]),
  );
  if (unopenable.length === 0) return;
  const rows = unopenable.map(({ tenant, webhookId, which }) => [tenant, webhookId, which]);
  throw new CliError(
    [
      'No key opens these; add the key they were sealed under to SECRETS_KEY, or give the webhooks new secrets:',
      ...columns([['TENANT', 'WEBHOOK', 'SECRET'], ...rows]),
    ].join('\n'),
  );
}

type TestOptions = JsonOption & { readonly tenant: string; readonly id: string; readonly event: WebhookEventKind };
type DeliveriesOptions = JsonOption & {
  readonly tenant: string;
  readonly id?: string;
  readonly order?: string;
  readonly state?: DeliveryState;
  readonly limit: number;
};

const STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

function testCommand(): Command {
  const definition = new Command('test')
    .description(
      'Send a signed example to a webhook once, from this machine, even if it is disabled, and report the outcome. It is not in the delivery log. Exits with 1 if the webhook did not accept it.',
    )
    .requiredOption('--tenant <name>', 'tenant it belongs to')
    .requiredOption('--id <id>', 'id of the webhook, as "webhook list" shows it')
    .addOption(
      new Option('--event <kind>', 'kind of the example').choices(WEBHOOK_EVENT_KINDS).default('order.approved'),
    );
  return withJson(
    definition,
    'dynamic-assets webhook test --tenant acme --id 019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10',
  ).action(test);
}

/** @throws CliError if the receiver did not accept it, or webhooks are held */
async function test({ tenant: name, id, event, ...output }: TestOptions): Promise<void> {
  const config = readConfig(process.env);
  const held = heldWebhooks(config);
  if (held !== undefined) throw new CliError(`${heldSentence(held)} ${HOW_TO_RESUME}`);
  const { request, webhook } = await withTenant(name, async ({ commands }) => {
    const tenant = await tenantNow(commands, name, webhooksStream(name));
    const webhook = webhookOf(tenant, id);
    const subject = { kind: event, purpose: 'test', sourceRevision: 0 } as const;
    const body = Buffer.from(JSON.stringify(exampleBody(event, tenant, webhook.customData)));
    const parts = { secretBox: commands.secretBox, now };
    return { webhook, request: await signedRequest(parts, webhook, { subject, messageId: newId(), body }, version()) };
  });
  const policy = addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS);
  const transport = openTransport(config, policy);
  const result = await transport.post(request).finally(() => transport.close());
  const { ok, status, durationMs, responseBody } = result;
  const reason = reasonOf(result);
  const shown = { id, event, ok, status, duration_ms: durationMs, reason, response_body: responseBody };
  const { host } = new URL(webhook.url);
  const rows = [
    ['webhook', `${webhook.name}, ${host}`],
    ['status', status === null ? 'no answer' : String(status)],
    ['took', `${durationMs} ms`],
    ...(reason === null ? [] : [['reason', reason]]),
  ];
  printResult(output, shown, columns(rows));
  if (reason !== null) throw new CliError(`The webhook did not accept it: ${reason}`);
}

const reasonOf = (result: AttemptResult): string | null => (result.ok ? null : result.reason);

function webhookOf({ webhooks }: Tenant, id: string): Webhook {
  const webhook = webhooks.get(id);
  if (webhook === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
  return webhook;
}

const switchCommand = (name: string, description: string, act: (output: JsonOption) => void): Command =>
  withJson(new Command(name).description(description), `dynamic-assets webhook ${name}`).action(act);

function hold(output: JsonOption): void {
  const config = readConfig(process.env);
  if (heldWebhooks(config) === undefined) holdWebhooks(config, 'by "dynamic-assets webhook hold"');
  printResult(output, { held: true }, ['Webhooks are held. A running service stops sending within a second.']);
}

function resume(output: JsonOption): void {
  resumeWebhooks(readConfig(process.env));
  printResult(output, { held: false }, ['Webhooks are sent. A running service begins within a second.']);
}

function deliveriesCommand(): Command {
  const definition = new Command('deliveries')
    .description('List the deliveries to webhooks of a tenant, newest first, with their outcome.')
    .requiredOption('--tenant <name>', 'tenant whose deliveries are listed')
    .option('--id <id>', 'only this webhook, which may be removed (default: all existing ones)')
    .option('--order <id>', 'only this order')
    .addOption(new Option('--state <state>', 'open: neither delivered nor given up').choices(STATES))
    .option('--limit <count>', `at most this many, up to ${MAX_LIMIT}`, limitOption, DEFAULT_LIMIT);
  return withJson(definition, 'dynamic-assets webhook deliveries --tenant acme --state failed').action(deliveries);
}

function limitOption(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidArgumentError(`It must be 1 to ${MAX_LIMIT}.`);
}

async function deliveries({ tenant: name, id, order, state, limit, ...output }: DeliveriesOptions): Promise<void> {
  const { webhooks, entries } = await withReadModels(name, async ({ eventStore, queries }) => {
    const { webhooks } = await tenantNow({ eventStore }, name, webhooksStream(name));
    const query = { orderId: order?.toLowerCase(), state, limit };
    const entries: DeliveryLogEntry[] = [];
    for (const webhookId of id === undefined ? webhooks.keys() : [id]) {
      entries.push(...(await queries.deliveries.page(name, { ...query, webhookId })));
    }
    const isKnown = id === undefined || webhooks.has(id) || entries.length > 0;
    if (!isKnown) throw new NotFoundError(`There is no webhook ${id}, and no delivery to it.`);
    return { webhooks, entries: entries.sort((a, b) => b.position - a.position).slice(0, limit) };
  });
  const rows = entries.map((entry) => [
    entry.requestedAt,
    entry.state,
    String(entry.attempts.length),
    entry.kind,
    entry.orderId ?? entry.table ?? '-',
    webhooks.get(entry.webhookId)?.name ?? entry.webhookId,
    lastOf(entry, webhooks.get(entry.webhookId)),
  ]);
  const header = ['REQUESTED', 'STATE', 'ATTEMPTS', 'EVENT', 'ABOUT', 'WEBHOOK', 'LAST'];
  if (output.json) printResult(output, entries.map(deliveryJson), []);
  else printLines(...(rows.length === 0 ? ['There is no such delivery.'] : columns([header, ...rows])));
}

/** Outcome of the last attempt, or what an open delivery waits for. */
function lastOf({ state, attempts, retryAt, reason }: DeliveryLogEntry, webhook: Webhook | undefined): string {
  const last = attempts.at(-1);
  const outcome = last === undefined ? 'not sent yet' : (last.reason ?? `HTTP ${last.status}, ${last.durationMs} ms`);
  if (state === 'failed') return last === undefined ? (reason ?? '') : outcome;
  if (state === 'succeeded') return outcome;
  if (webhook?.disabled !== undefined) return `${outcome}; the webhook is disabled: ${webhook.disabled.reason}`;
  return retryAt === null ? outcome : `${outcome}; next at ${retryAt}`;
}

const deliveryJson = ({
  id,
  webhookId,
  kind,
  purpose,
  orderId,
  table,
  state,
  attempts,
  ...entry
}: DeliveryLogEntry) => ({
  id,
  webhook_id: webhookId,
  kind,
  purpose,
  order_id: orderId,
  table,
  state,
  requested_at: entry.requestedAt,
  ended_at: entry.endedAt,
  retry_at: entry.retryAt,
  reason: entry.reason,
  attempts: attempts.map(({ attempt, startedAt, durationMs, status, reason }) => ({
    attempt,
    started_at: startedAt,
    duration_ms: durationMs,
    status,
    reason,
  })),
});
