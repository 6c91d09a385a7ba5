/** Makes deliveries: takes due ones from the queue, calls the receiver, records what came of it. */
import type { Logger } from 'pino';
import { type Commands, MAX_ATTEMPTS } from '../commands/context.js';
import { failExport } from '../commands/orders/failExport.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { MAX_DELIVERY_ATTEMPTS } from '../domain/webhook/backoff.js';
import {
  type CallResult,
  decideOutcome,
  failDelivery,
  nextStep,
  waitAfterFailure,
} from '../domain/webhook/delivery.js';
import type { MessageBroker, Outcome, ReceivedMessage } from '../ports/messageBroker.js';
import { type DeliveryKey, type LoadedDelivery, loadDelivery, recordDelivery } from './deliveryLog.js';
import { exportBody } from './exportBody.js';
import type { WebhookCall, WebhookTransport } from './httpsTransport.js';
import { DELIVERY_QUEUE, deliveryJob } from './queue.js';
import { signatureOf } from './signature.js';

export type SubscriberDeps = {
  readonly commands: Commands;
  readonly broker: MessageBroker;
  readonly transport: WebhookTransport;
  readonly settings: SubscriberSettings;
  readonly logger: Logger;
  /** From 0 to 1, for the jitter. */
  readonly random: () => number;
};

export type SubscriberSettings = {
  /** Deliveries in work at once (default of the service: 50). A slow receiver holds up one of them. */
  readonly concurrency: number;
  /** Waits in milliseconds, see domain/webhook/backoff.ts. */
  readonly backoffMs: readonly number[];
  /** After this long a call has surely ended, or its process has. More than the transport's limit; default 20,000. */
  readonly callLimitMs?: number;
  /** Shown to receivers as `User-Agent: dynamic-assets/<version>`. */
  readonly version: string;
};

const DONE: Outcome = { kind: 'done' };
/** Another process wrote to the delivery; it is looked at anew after this. */
const CONTENDED: Outcome = { kind: 'again', delayMs: 1000 };
const CALL_LIMIT_MS = 20_000;
const MAX_TROUBLE_WAIT_MS = 60_000;

/** Runs until the signal ends it, and then until the calls in work have ended. */
export async function runSubscriber(deps: SubscriberDeps, signal: AbortSignal): Promise<void> {
  const { concurrency } = deps.settings;
  await deps.broker.consume(DELIVERY_QUEUE, { concurrency, signal }, (message) => handle(deps, message));
}

async function handle(deps: SubscriberDeps, message: ReceivedMessage): Promise<Outcome> {
  const job = deliveryJob.safeParse(message.body);
  if (!job.success) return { kind: 'dead', reason: 'The message names no delivery.' };
  try {
    return await deliver(deps, job.data);
  } catch (error) {
    // The service's own trouble (the log cannot be reached), not the receiver's; the log tells how far it had come.
    const delayMs = Math.min(MAX_TROUBLE_WAIT_MS, 1000 * 2 ** Math.min(message.redeliveries, 10));
    deps.logger.error({ err: error, ...job.data, delayMs }, 'webhook delivery is put off');
    return { kind: 'again', delayMs };
  }
}

/** Takes the delivery on from wherever it stands, by its log alone, as far as it goes now. */
async function deliver(deps: SubscriberDeps, key: DeliveryKey): Promise<Outcome> {
  const { commands, settings } = deps;
  const loaded = await loadDelivery(commands, key);
  if (loaded === undefined) return { kind: 'dead', reason: `There is no delivery ${key.deliveryId}.` };
  const timing = { waits: settings.backoffMs, callLimitMs: settings.callLimitMs ?? CALL_LIMIT_MS };
  const step = nextStep(loaded.delivery, commands.now(), timing);
  switch (step.kind) {
    case 'over':
      return DONE;
    case 'wait':
      return { kind: 'again', delayMs: step.delayMs };
    case 'settle':
      return (await recordDelivery(commands, loaded, [step.event])) === undefined ? CONTENDED : deliver(deps, key);
    case 'exhausted':
      return giveUp(deps, loaded);
    case 'attempt':
      return attempt(deps, loaded, step.attempt);
  }
}

async function attempt(deps: SubscriberDeps, loaded: LoadedDelivery, number: number): Promise<Outcome> {
  const { commands, transport } = deps;
  const target = await targetOf(commands, loaded);
  if (target === undefined) {
    const ended = await recordDelivery(commands, loaded, failDelivery(loaded.delivery, 'webhook removed'));
    return ended === undefined ? CONTENDED : DONE;
  }
  const call = await callTo(deps, target, loaded);
  const data = { attempt: number, url: call.url };
  // Before the call, so that a crash can hide no attempt; who cannot record it makes no call.
  const started = await recordDelivery(commands, loaded, [{ type: 'DeliveryAttemptStarted', data }]);
  if (started === undefined) return CONTENDED;
  const result = await transport.post(call);
  return settle(deps, started, number, result);
}

type Target = { readonly tenant: Tenant; readonly webhook: Webhook };

/** undefined when the webhook was removed. */
async function targetOf({ directory }: Commands, loaded: LoadedDelivery): Promise<Target | undefined> {
  // A directory that lags behind the relay's would take a new webhook for a removed one.
  await directory.waitFor(loaded.requestedAt);
  const tenant = directory.tenant(loaded.tenant);
  const webhook = tenant?.webhooks.get(loaded.delivery.subject.webhookId);
  return tenant === undefined || webhook === undefined ? undefined : { tenant, webhook };
}

async function callTo(
  { commands, settings }: SubscriberDeps,
  { tenant, webhook }: Target,
  { delivery, deliveryId }: LoadedDelivery,
): Promise<WebhookCall> {
  const body = await exportBody(commands.eventStore, tenant, webhook, delivery.subject);
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `dynamic-assets/${settings.version}`,
    Signature: signatureOf(body, commands.secretBox.open(webhook.sealedSecret)),
    'webhook-id': deliveryId,
  };
  return { url: webhook.url, headers, body };
}

/** Records what came of the call, also when others wrote meanwhile, and says what is next. */
async function settle(
  deps: SubscriberDeps,
  started: LoadedDelivery,
  number: number,
  result: CallResult,
): Promise<Outcome> {
  const { commands, settings, logger } = deps;
  let current: LoadedDelivery | undefined = started;
  for (let tries = 0; tries < MAX_ATTEMPTS && current !== undefined; tries++) {
    const settled = await recordDelivery(commands, current, decideOutcome(current.delivery, number, result));
    if (settled !== undefined) {
      const { delivery, tenant, deliveryId } = settled;
      const { ok, status, durationMs } = result;
      const { orderId } = delivery.subject;
      logger.info({ tenant, deliveryId, orderId, attempt: number, ok, status, durationMs }, 'webhook attempt');
      if (delivery.outcome !== 'open') return DONE;
      if (delivery.unsettled === undefined && delivery.started >= MAX_DELIVERY_ATTEMPTS) return giveUp(deps, settled);
      return { kind: 'again', delayMs: waitAfterFailure(delivery, result, settings.backoffMs, deps.random()) };
    }
    current = await loadDelivery(commands, started);
  }
  return CONTENDED;
}

/**
 * No attempt is left (spec §6.4). The order is failed first, which may be done twice without harm, and then the
 * delivery is ended: after a crash in between, the message comes again, finds no attempt left, and gets here.
 */
async function giveUp({ commands, logger }: SubscriberDeps, loaded: LoadedDelivery): Promise<Outcome> {
  const { delivery, deliveryId, tenant, caller } = loaded;
  const { orderId, webhookId, sourceEventId } = delivery.subject;
  const webhook = commands.directory.tenant(tenant)?.webhooks.get(webhookId);
  const reason = `All ${delivery.started} attempts to deliver to webhook ${webhook?.name ?? webhookId} failed.`;
  const reasons = [reason, ...delivery.failures];
  await failExport(commands, caller, { orderId, approvalEventId: sourceEventId, reasons, webhookId, deliveryId });
  const ended = await recordDelivery(commands, loaded, failDelivery(delivery, delivery.failures.at(-1) ?? reason));
  logger.warn({ tenant, deliveryId, orderId, webhookId, reasons }, 'webhook delivery failed for good');
  return ended === undefined ? CONTENDED : DONE;
}
