/**
 * Work on many deliveries of a tenant: a range of the log is read in steps, and deliveries of its events are requested. The
 * relay leaves out what would take long; a webhook missed events while it was disabled; or an admin asks for past ones. A
 * step is a message that says how far the last one came, so a crash repeats at most one step, which is harmless: ids follow
 * from the events.
 */
import { v5 } from 'uuid';
import type { Caller } from '../commands/context.js';
import { streamPages } from '../commands/logReads.js';
import { loadOrder } from '../commands/orders/orderStream.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import { orderStream, tableStream, webhooksStream } from '../domain/streams.js';
import type { WebhookEvent } from '../domain/webhook/events.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { Outcome } from '../ports/messageBroker.js';
import type { DeliveryQuery } from '../queries/deliveries.js';
import { doubled } from '../supervision/keepRunning.js';
import {
  appendRequests,
  type DeliveryRequest,
  RELAYED_AT_ONCE,
  requestsFor,
  type Subscription,
  streamsOf,
  subscriptionOf,
} from './deliveryRequests.js';
import { BACKFILL_QUEUE, DONE, deliveryMessage, type RangeJob, rangeJob, rangeMessage, retryIn } from './queue.js';
import { publishWork, type RelayDeps, relayRequests } from './relay.js';

const BACKFILL = { kind: 'system', id: 'webhook-backfill' } as const;

/** Deliveries that are resumed with one publish to the broker. */
const PAGE = 200;
const CATCH_UP_MS = 1_000;
/** Approvals hold whole orders, so a slice is small. */
const SLICE_EVENTS = 100;
/** A step ends after this time, so that others get their turn. */
const STEP_MS = 1_000;
/**
 * A resend or backfill waits while its webhook has this many open deliveries. Otherwise it would fill the queue, and new events would
 * wait behind it.
 */
const MAX_OPEN = 200;
const later = (redeliveries: number): Outcome => retryIn(doubled(100, 10_000, redeliveries));
/** Tenants that are served at once, each with one piece of work: a tenant that asks for much waits for itself. */
const TENANTS_AT_ONCE = 4;

/** Runs until the signal ends it, then until the work in flight has ended. */
export async function runRanges(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const served = new Set<string>();
  await deps.broker.consume(BACKFILL_QUEUE, { concurrency: TENANTS_AT_ONCE, signal }, async (message) => {
    const { success, data: job } = rangeJob.safeParse(message.body);
    // Of no release that is known.
    if (!success) return DONE;
    if (served.has(job.tenant)) return later(message.redeliveries);
    served.add(job.tenant);
    try {
      return await work(deps, job, message.redeliveries, signal);
    } finally {
      served.delete(job.tenant);
    }
  });
}

async function work(deps: RelayDeps, job: RangeJob, redeliveries: number, signal: AbortSignal): Promise<Outcome> {
  const { eventStore, directory } = deps.commands;
  const { task, tenant, webhookId, position } = job;
  // The log was put back to an older copy, which does not have the range.
  if (!(await eventStore.holds({ position }))) return DONE;
  await directory.waitFor(position);
  const webhooks = [...(directory.tenant(tenant)?.webhooks.values() ?? [])];
  if (task === 'relay') return step(deps, job, webhooks.map(subscriptionOf), signal);
  const webhook = webhooks.find(({ id }) => id === webhookId);
  if (webhook === undefined) return DONE;
  if (task === 'resume' && job.done === undefined) return resume(deps, job, webhook);
  const isHeld = task === 'resume' && webhook.disabled !== undefined;
  if (isHeld || !(await hasRoom(deps, job))) return later(redeliveries);
  return step(deps, job, [task === 'resume' ? subscriptionOf(webhook) : backfilled(job)], signal);
}

/** Reads on until something was requested; what the relay left out, for as long as a step may take. */
async function step(
  deps: RelayDeps,
  job: RangeJob,
  subscriptions: readonly Subscription[],
  signal: AbortSignal,
): Promise<Outcome> {
  const { eventStore } = deps.commands;
  const { task, tenant, position: to, done: after = 0 } = job;
  const until = Date.now() + STEP_MS;
  let next = { done: after, requested: job.requested };
  // So few at once that about RELAYED_AT_ONCE deliveries follow from them: making their ids takes the thread.
  const maxCount = task === 'relay' ? Math.ceil(RELAYED_AT_ONCE / Math.max(1, subscriptions.length)) : SLICE_EVENTS;
  const kinds = subscriptions.flatMap((each) => each.kinds);
  const streamPrefixes = streamsOf(kinds, orderStream(tenant, ''), tableStream(tenant, ''));
  if (streamPrefixes.length === 0) return DONE;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount, signal })) {
    const events = slice.events.filter(({ position }) => position <= to);
    const all = await requestsFor(eventStore, events, subscriptions);
    const requests = job.failedOnly ? await failedOf(deps, all) : all;
    // The relay publishes those of a backfill, as all that is sent again.
    const requested = await (task === 'backfill'
      ? appendRequests(deps.commands, requests, () => callerOf(job))
      : relayRequests(deps, requests));
    next = { done: slice.position, requested: Math.max(next.requested, requested) };
    if (slice.caughtUp || slice.position >= to) return DONE;
    if ((requested > 0 && task !== 'relay') || Date.now() >= until) break;
  }
  if (next.done === after) return retryIn(0);
  // Published before this step ends, so that no crash ends the work.
  await publishWork(deps.broker, [], [rangeMessage({ ...job, ...next })]);
  return DONE;
}

/**
 * Those whose event has failed deliveries only, as far as the delivery log goes back; of an order's export, while the order
 * still waits for it.
 */
async function failedOf(
  { commands: { eventStore, queries } }: RelayDeps,
  requests: readonly DeliveryRequest[],
): Promise<readonly DeliveryRequest[]> {
  const failed: DeliveryRequest[] = [];
  for (const { tenant, subject, source, ...request } of requests) {
    const { webhookId, orderId, kind } = subject;
    const sequence = { gte: source.revision, lte: source.revision };
    const alike = { webhookId, orderId: orderId || undefined, sequence, limit: PAGE };
    const messageId = firstDeliveryId(webhookId, source, kind);
    const sent = (await queries.deliveries.page(tenant, alike)).filter((each) => each.messageId === messageId);
    if (!sent.some(({ id }) => id === messageId) || sent.some(({ state }) => state !== 'failed')) continue;
    const order = kind === 'order.approved' ? (await loadOrder(eventStore, tenant, orderId))?.state : undefined;
    if (order === undefined || (order.approval === source.id && order.lackedBy.length > 0))
      failed.push({ tenant, subject, source, ...request });
  }
  return failed;
}

const callerOf = ({ tenant, eventId: causationId, correlationId }: RangeJob): Caller => ({
  tenant,
  actor: BACKFILL,
  correlationId,
  causationId,
});

/**
 * The webhook was enabled. Nothing was requested, and no message kept, while it was disabled: each open delivery gets a
 * message, and then what happened meanwhile is requested.
 */
async function resume(deps: RelayDeps, job: RangeJob, webhook: Webhook): Promise<Outcome> {
  const { broker, commands } = deps;
  // When it was enabled several times in a row, only the last is to publish messages.
  if (webhook.disabled === undefined && (webhook.enabledAt ?? job.position) === job.position) {
    if (!(await commands.progress.waitFor(job.tenant, job.position, CATCH_UP_MS))) return retryIn(CATCH_UP_MS);
    await publishOpen(deps, job);
  }
  const done = await disabledBefore(deps, job);
  if (done !== undefined) await publishWork(broker, [], [rangeMessage({ ...job, done })]);
  return DONE;
}

/** Their own messages have ended, or wait for an attempt, so these have new ids. */
async function publishOpen({ commands: { queries }, broker }: RelayDeps, job: RangeJob): Promise<void> {
  const { tenant, webhookId, eventId, position: enabledAt } = job;
  let query: DeliveryQuery = { webhookId, state: 'open', order: 'oldest', limit: PAGE };
  for (;;) {
    const page = await queries.deliveries.page(tenant, query);
    // Those requested since have their messages.
    const waiting = page.filter(({ position }) => position < enabledAt);
    const messages = waiting.map(({ id: deliveryId, orderId = '' }) =>
      deliveryMessage({ tenant, deliveryId, webhookId, orderId, enabledAt }, `${deliveryId}.${eventId}`),
    );
    await publishWork(broker, messages);
    if (waiting.length < PAGE) return;
    query = { ...query, after: waiting.at(-1)?.position };
  }
}

/** Position of the event that had disabled the webhook. */
async function disabledBefore(
  { commands: { eventStore } }: RelayDeps,
  { tenant, webhookId, position }: RangeJob,
): Promise<Position | undefined> {
  const stream = webhooksStream(tenant);
  const { revision: to = -1 } = (await eventStore.lastAppend(stream)) ?? {};
  const isIt = ({ type, data, position: at }: RecordedEvent): boolean =>
    at < position && type === 'WebhookDisabled' && (data as WebhookEvent['data']).id === webhookId;
  for await (const events of streamPages(eventStore, stream, { to, backwards: true })) {
    const disabled = events.findLast(isIt);
    if (disabled !== undefined) return disabled.position;
  }
  return undefined;
}

async function hasRoom(
  { commands }: RelayDeps,
  { tenant, webhookId, position, requested }: RangeJob,
): Promise<boolean> {
  const { eventStore, queries, progress } = commands;
  const shown = (await eventStore.holds({ position: requested })) ? Math.max(position, requested) : position;
  if (!(await progress.waitFor(tenant, shown, CATCH_UP_MS))) return false;
  const open = await queries.deliveries.page(tenant, { webhookId, state: 'open', limit: MAX_OPEN });
  return open.length < MAX_OPEN;
}

/** A range without an end has all up to its request, also what a clock that was ahead has dated later. */
const backfilled = ({ webhookId, backfillId, kinds, from, to, failedOnly }: RangeJob): Subscription => ({
  webhookId,
  kinds,
  wants: ({ metadata: { occurredAt } }) => occurredAt >= from && (to === undefined || occurredAt < to),
  deliveryId: (event, kind) => v5(`${backfillId} ${kind} ${event.id}`, webhookId),
  request: { purpose: failedOnly ? 'resend' : 'backfill' },
});
