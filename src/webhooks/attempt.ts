/** One attempt of a delivery: recorded, made, and its outcome recorded. */
import { setTimeout as wait } from 'node:timers/promises';
import { failExport } from '../commands/orders/lifecycle.js';
import { MAX_ATTEMPTS } from '../commands/writeStream.js';
import { jittered, MAX_DELIVERY_ATTEMPTS } from '../domain/webhook/backoff.js';
import { type CallResult, decideOutcome, failDelivery, waitAfterFailure } from '../domain/webhook/delivery.js';
import { EventStoreUnavailableError } from '../ports/eventStore.js';
import type { Outcome } from '../ports/messageBroker.js';
import { type LoadedDelivery, loadDelivery, recordDelivery } from './deliveryLog.js';
import { type Endpoint, endpointKey } from './endpoint.js';
import type { SubscriberRun } from './subscriberRun.js';
import { type Target, webhookCall } from './webhookCall.js';

const DONE: Outcome = { kind: 'done' };
/** Another process wrote to the delivery; it is looked at anew after this. */
export const CONTENDED: Outcome = { kind: 'again', delayMs: 1000 };

/** How long the log may be away before the outcome of a call is given up, which counts the attempt as cut off. */
const OUTAGE_TRIES = 5;
const OUTAGE_WAIT_MS = 1_000;

/** How long a message for a disabled webhook stays away, longer each time. Enabling it publishes new ones. */
const FIRST_DISABLED_MS = 60_000;
const LONGEST_DISABLED_MS = 3_600_000;

/** A call that was made. `started` is the delivery as it was recorded before it. */
type Called = { readonly started: LoadedDelivery; readonly url: string; readonly result: CallResult };

/** Makes the attempt of this number, if its webhook is to be called, when it is its turn there. */
export async function attempt(
  run: SubscriberRun,
  loaded: LoadedDelivery,
  number: number,
  redeliveries: number,
): Promise<Outcome> {
  // What is not to be called now does not stand in the line.
  const target = await targetOf(run, loaded, redeliveries);
  if ('kind' in target) return target;
  const called = await run.lanes.call(endpointKey(endpointOf(loaded)), () => call(run, loaded, number, redeliveries));
  // The service stops.
  if (called === undefined) return { kind: 'again', delayMs: 0 };
  return 'kind' in called ? called : settle(run, called, number);
}

const endpointOf = ({ tenant, delivery }: LoadedDelivery): Endpoint => ({
  tenant,
  webhookId: delivery.subject.webhookId,
});

/** The webhook to call; what becomes of the message where there is nothing to call. */
async function targetOf(run: SubscriberRun, loaded: LoadedDelivery, redeliveries: number): Promise<Target | Outcome> {
  const { commands, circuits, random } = run;
  // A directory that lags behind the relay's would take a new webhook for a removed one.
  await commands.directory.waitFor(loaded.requestedAt);
  const tenant = commands.directory.tenant(loaded.tenant);
  const webhook = tenant?.webhooks.get(loaded.delivery.subject.webhookId);
  if (tenant === undefined || webhook === undefined) {
    const ended = await recordDelivery(commands, loaded, failDelivery(loaded.delivery, 'webhook removed'));
    return ended === undefined ? CONTENDED : DONE;
  }
  if (webhook.disabled === undefined) return { tenant, webhook };
  // Whoever enables it wants it to be called.
  circuits.forget(endpointKey(endpointOf(loaded)));
  const delayMs = Math.min(LONGEST_DISABLED_MS, FIRST_DISABLED_MS * 2 ** Math.min(redeliveries, 10));
  return { kind: 'again', delayMs: jittered(delayMs, random()) };
}

async function call(
  run: SubscriberRun,
  loaded: LoadedDelivery,
  number: number,
  redeliveries: number,
): Promise<Called | Outcome> {
  const { commands, circuits, transport, settings, metrics } = run;
  // Asked again: it may have stood in the line for long.
  const target = await targetOf(run, loaded, redeliveries);
  if ('kind' in target) return target;
  const endpoint = endpointOf(loaded);
  const passage = circuits.pass(endpointKey(endpoint));
  if (passage === undefined) return { kind: 'again', delayMs: circuits.waitMs(endpointKey(endpoint)) };
  let result: CallResult | undefined;
  try {
    const request = await webhookCall(commands, target, loaded, settings.version);
    const { url } = request;
    // Before the call, so that a crash can hide no attempt; who cannot record it makes no call.
    const event = { type: 'DeliveryAttemptStarted', data: { attempt: number, url } } as const;
    const started = await recordDelivery(commands, loaded, [event]);
    if (started === undefined) return CONTENDED;
    result = await transport.post(request);
    metrics?.attempted(endpoint, result);
    return { started, url, result };
  } finally {
    if (result === undefined) passage('unused');
    else passage(result.ok ? 'succeeded' : 'failed');
  }
}

/** When the next attempt is due if this one has failed now: ISO 8601. */
export function retryAfter(run: SubscriberRun, { delivery }: LoadedDelivery, result: CallResult): string {
  const waitMs = waitAfterFailure(delivery, result, run.settings.backoffMs, run.random());
  return new Date(Date.parse(run.commands.now()) + waitMs).toISOString();
}

/** Records what came of the call, and says what is next. */
async function settle(run: SubscriberRun, called: Called, number: number): Promise<Outcome> {
  const { commands, health, logger } = run;
  const { url, result } = called;
  const retryAt = retryAfter(run, called.started, result);
  const settled = await recordOutcome(run, called, number, retryAt);
  if (settled === undefined) return CONTENDED;
  const { delivery, tenant, deliveryId } = settled;
  const { ok, status, durationMs } = result;
  const { orderId } = delivery.subject;
  logger.info({ tenant, deliveryId, orderId, attempt: number, ok, status, durationMs }, 'webhook attempt');
  if (ok) health.succeeded(settled);
  else await health.failed(settled, url, result);
  if (delivery.outcome !== 'open') return DONE;
  if (delivery.unsettled === undefined && delivery.started >= MAX_DELIVERY_ATTEMPTS) return giveUp(run, settled);
  const dueMs = Date.parse(delivery.retryAt ?? retryAt) - Date.parse(commands.now());
  return { kind: 'again', delayMs: Math.max(0, dueMs) };
}

/** Also when others wrote meanwhile, or the log is away for a moment: the receiver's answer is not to be forgotten. */
async function recordOutcome(
  { commands }: SubscriberRun,
  { started, result }: Called,
  number: number,
  retryAt: string,
): Promise<LoadedDelivery | undefined> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    try {
      const current = tries === 0 ? started : await loadDelivery(commands, started);
      if (current === undefined) return undefined;
      const settled = await recordDelivery(commands, current, decideOutcome(current.delivery, number, result, retryAt));
      if (settled !== undefined) return settled;
    } catch (error) {
      if (!(error instanceof EventStoreUnavailableError) || tries >= OUTAGE_TRIES) throw error;
      await wait(OUTAGE_WAIT_MS);
    }
  }
  return undefined;
}

/**
 * No attempt is left (spec §6.4). The order is failed first, which may be done twice without harm, and then the
 * delivery is ended: after a crash in between, the message comes again, finds no attempt left, and gets here.
 */
export async function giveUp(run: SubscriberRun, loaded: LoadedDelivery): Promise<Outcome> {
  const { commands, logger, metrics } = run;
  const { delivery, deliveryId, tenant, caller } = loaded;
  const { kind, purpose, orderId, webhookId, sourceEventId } = delivery.subject;
  const webhook = commands.directory.tenant(tenant)?.webhooks.get(webhookId);
  const reason = `All ${delivery.started} attempts to deliver to webhook ${webhook?.name ?? webhookId} failed.`;
  const reasons = [reason, ...delivery.failures];
  // Only an export that was due matters to the order: other kinds tell of it, and replays repeat what was told.
  if (kind === 'order.approved' && purpose === undefined) {
    await failExport(commands, caller, { orderId, approvalEventId: sourceEventId, reasons, webhookId, deliveryId });
  }
  const ended = await recordDelivery(commands, loaded, failDelivery(delivery, delivery.failures.at(-1) ?? reason));
  if (ended === undefined) return CONTENDED;
  logger.warn({ tenant, deliveryId, orderId, webhookId, reasons }, 'webhook delivery failed for good');
  metrics?.failedForGood({ tenant, webhookId });
  return DONE;
}
