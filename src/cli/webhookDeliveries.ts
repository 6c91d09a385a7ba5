/** `webhook test` and `webhook deliveries`: sends an example, and lists deliveries with their outcome. */
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { newId, now } from '../commands/clock.js';
import { NotFoundError } from '../commands/context.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import { readConfig, version } from '../config.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { webhooksStream } from '../domain/streams.js';
import { exampleBody } from '../domain/webhook/catalogue/example.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../domain/webhook/events.js';
import type { DeliveryLogEntry, DeliveryState } from '../ports/deliveryLog.js';
import { createHttpsTransport } from '../webhooks/httpsTransport.js';
import { addressPolicy } from '../webhooks/targetAddress.js';
import { signedRequest } from '../webhooks/webhookRequest.js';
import { CliError } from './errors.js';
import { withReadModels, withTenant } from './operator.js';
import { columns, type JsonOption, printLines, printResult, withJson } from './output.js';

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

export function testCommand(): Command {
  const definition = new Command('test')
    .description(
      'Send a signed example to a webhook now, once, from this machine, even if it is disabled, and report the outcome. It is not in the delivery log. Exits with 1 if the webhook did not take it.',
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

/** @throws CliError if the receiver did not take it */
async function test({ tenant: name, id, event, ...output }: TestOptions): Promise<void> {
  const config = readConfig(process.env);
  const { request, webhook } = await withTenant(name, async ({ commands }) => {
    const tenant = await tenantNow(commands, name, webhooksStream(name));
    const webhook = webhookOf(tenant, id);
    const subject = { kind: event, purpose: 'test', sourceRevision: 0 } as const;
    const body = Buffer.from(JSON.stringify(exampleBody(event, tenant, webhook.customData)));
    const parts = { secretBox: commands.secretBox, now };
    return { webhook, request: signedRequest(parts, webhook, { subject, messageId: newId(), body }, version()) };
  });
  const transport = createHttpsTransport({
    policy: addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS),
    totalTimeoutMs: config.WEBHOOK_TIMEOUT_MS,
    ...(config.WEBHOOK_CA_FILE === undefined ? {} : { caPem: readFileSync(config.WEBHOOK_CA_FILE, 'utf8') }),
  });
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
  if (reason !== null) throw new CliError(`The webhook did not take it: ${reason}`);
}

const reasonOf = (result: AttemptResult): string | null => (result.ok ? null : result.reason);

function webhookOf({ webhooks }: Tenant, id: string): Webhook {
  const webhook = webhooks.get(id);
  if (webhook === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
  return webhook;
}

export function deliveriesCommand(): Command {
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
  const { webhooks, entries } = await withReadModels(name, async ({ eventStore, readModels }) => {
    const { webhooks } = await tenantNow({ eventStore }, name, webhooksStream(name));
    const query = { orderId: order?.toLowerCase(), state, limit };
    const entries: DeliveryLogEntry[] = [];
    for (const webhookId of id === undefined ? webhooks.keys() : [id]) {
      entries.push(...(await readModels.deliveries(name, { ...query, webhookId })));
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
  if (output.json) printResult(output, entries.map(asJson), []);
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

const asJson = ({ id, webhookId, kind, purpose, orderId, table, state, attempts, ...entry }: DeliveryLogEntry) => ({
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
