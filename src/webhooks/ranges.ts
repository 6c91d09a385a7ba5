/**
 * Work on many deliveries of a tenant: a range of the log is read in steps, and deliveries of its events are requested. The
 * relay leaves out what would take long; a webhook missed events while it was disabled; an admin asks for past ones; or the
 * log was put back. A step is a message that says how far the last one came, so a crash repeats at most one step, which is
 * harmless: ids follow from the events.
 */
import { v5 } from 'uuid';
import type { Caller, Commands } from '../commands/context.js';
import { streamPagesBackwards } from '../commands/streamPages.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import { RELAYED_AT_ONCE } from '../domain/limits.js';
import { orderStream, tableStream, webhooksStream } from '../domain/streams.js';
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../domain/webhook/catalogue.js';
import { doubled } from '../domain/webhook/delivery.js';
import type { WebhookEvent } from '../domain/webhook/events.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { Message, Outcome } from '../ports/messageBroker.js';
import type { DeliveryLogEntry, DeliveryQuery } from '../queries/deliveries.js';
import {
  appendRequests,
  jobOf,
  relayCaller,
  requestsFor,
  type Subscription,
  subscriptionOf,
} from './deliveryRequests.js';
import { BACKFILL_QUEUE, deliveryMessage, type NamedDelivery, type RangeJob, rangeJob, rangeMessage } from './queue.js';
import {
  publishWork,
  type RelayDeps,
  relayRequests,
  requestedDelivery,
  subscriptionsIn,
  taskMessages,
  wantedStreams,
} from './relay.js';

export type RangeDeps = Pick<RelayDeps, 'broker' | 'tracer'> & {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now' | 'progress' | 'queries'>;
};

type Job<Task extends RangeJob['task']> = Extract<RangeJob, { task: Task }>;

const BACKFILL = { kind: 'system', id: 'webhook-backfill' } as const;
const DONE: Outcome = { kind: 'done' };
const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });

/** Deliveries that are resumed with one publish to the broker. */
const PAGE = 200;
const CATCH_UP_MS = 1_000;
/** Approvals hold whole orders, so a slice is small. */
const SLICE_EVENTS = 100;
/** A step ends after this time, so that others get their turn. */
const STEP_MS = 1_000;
/**
 * A replay waits while its webhook has this many open deliveries. Otherwise it would fill the queue, and new events would
 * wait behind it.
 */
const MAX_OPEN = 200;
const WAIT_MS = { first: 100, longest: 10_000 };
/** A webhook may be disabled again at once, and enabled again. */
const SETTLE_MS = 1_000;
/** Longest wait of what a webhook missed that is disabled again. */
const DISABLED_MS = 60_000;
/** Tenants that are served at once, each with one piece of work: a tenant that asks for much waits for itself. */
const TENANTS_AT_ONCE = 4;
/** Waits of a message whose tenant is being served. */
const SERVED_MS = { first: 20, longest: 10_000 };

/** Runs until the signal ends it, then until the work in flight has ended. */
export async function runRanges(deps: RangeDeps, signal: AbortSignal): Promise<void> {
  const served = new Set<string>();
  await deps.broker.consume(BACKFILL_QUEUE, { concurrency: TENANTS_AT_ONCE, signal }, async (message) => {
    const { success, data: job } = rangeJob.safeParse(message.body);
    if (!success) return { kind: 'dead', reason: 'The message names no work.' };
    if (served.has(job.tenant)) return retryIn(doubled(SERVED_MS.first, SERVED_MS.longest, message.redeliveries));
    served.add(job.tenant);
    try {
      return await work(deps, job, message.redeliveries, signal);
    } finally {
      served.delete(job.tenant);
    }
  });
}

async function work(deps: RangeDeps, job: RangeJob, redeliveries: number, signal: AbortSignal): Promise<Outcome> {
  const { eventStore, directory } = deps.commands;
  // The log was put back to an older copy, which does not have the range.
  if (!(await eventStore.holds({ position: job.position }))) return DONE;
  await directory.waitFor(job.position);
  if (job.task === 'relay' || job.task === 'again') {
    const streamPrefixes = job.task === 'again' ? wantedStreams(directory) : streamsOf(job.tenant, WEBHOOK_EVENT_KINDS);
    return step(deps, job, { subscriptionsTo: subscriptionsIn(directory), streamPrefixes }, signal);
  }
  const webhook = directory.tenant(job.tenant)?.webhooks.get(job.webhookId);
  if (webhook === undefined) return DONE;
  if (job.task === 'resume' && job.done === undefined) return resume(deps, job, webhook);
  if (job.task === 'resume' && webhook.disabled !== undefined)
    return retryIn(doubled(WAIT_MS.first, DISABLED_MS, redeliveries));
  if (!(await hasRoom(deps, job))) return retryIn(doubled(WAIT_MS.first, WAIT_MS.longest, redeliveries));
  const subscriptions = [job.task === 'resume' ? subscriptionOf(webhook) : backfilled(job)];
  const streamPrefixes = streamsOf(job.tenant, job.task === 'resume' ? webhook.events : job.kinds);
  return step(deps, job, { subscriptionsTo: () => subscriptions, streamPrefixes }, signal);
}

const streamsOf = (tenant: string, kinds: readonly WebhookEventKind[]): readonly string[] => [
  ...(kinds.some((kind) => kind.startsWith('order.')) ? [orderStream(tenant, '')] : []),
  ...(kinds.some((kind) => kind.startsWith('reference.')) ? [tableStream(tenant, '')] : []),
];

type Wanted = {
  readonly subscriptionsTo: (event: RecordedEvent) => readonly Subscription[];
  readonly streamPrefixes: readonly string[];
};

/** Reads on until something was requested; what the relay left out, for as long as a step may take. */
async function step(
  deps: RangeDeps,
  job: RangeJob,
  { subscriptionsTo, streamPrefixes }: Wanted,
  signal: AbortSignal,
): Promise<Outcome> {
  const { eventStore, directory } = deps.commands;
  const { tenant, position: to, done: after = 0 } = job;
  const until = Date.now() + STEP_MS;
  let next = { done: after, requested: job.requested ?? 0 };
  // So few at once that about RELAYED_AT_ONCE deliveries follow from them: making their ids takes the thread.
  const perEvent = directory.tenant(tenant)?.webhooks.size ?? 1;
  const maxCount = job.task === 'relay' ? Math.ceil(RELAYED_AT_ONCE / Math.max(1, perEvent)) : SLICE_EVENTS;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount, signal })) {
    const events = slice.events.filter(({ position }) => position <= to);
    const requested = await request(deps, job, events, subscriptionsTo);
    next = { done: slice.position, requested: Math.max(next.requested, requested) };
    if (slice.caughtUp || slice.position >= to) return DONE;
    if ((requested > 0 && job.task !== 'relay') || Date.now() >= until) break;
  }
  if (next.done === after) return retryIn(0);
  // Published before this step ends, so that no crash ends the work.
  await deps.broker.publish(BACKFILL_QUEUE, [rangeMessage({ ...job, ...next })]);
  return DONE;
}

/** @returns position of the last delivery that was requested; 0 if there is none */
async function request(
  deps: RangeDeps,
  job: RangeJob,
  events: readonly RecordedEvent[],
  subscriptionsTo: Wanted['subscriptionsTo'],
): Promise<Position> {
  const { eventStore } = deps.commands;
  const requests = await requestsFor(eventStore, events, subscriptionsTo);
  if (job.task === 'relay' || job.task === 'resume') return relayRequests(deps, requests);
  if (job.task === 'backfill') {
    const { tenant, eventId: causationId, correlationId } = job;
    const caller: Caller = { tenant, actor: BACKFILL, correlationId, causationId };
    // The relay publishes them, as all replays.
    return appendRequests(deps.commands, requests, () => caller);
  }
  // The log decides. A delivery that has ended there is left alone. One that is open there is published, since its job may
  // have been done after the copy was made. One that is wanted and was never requested there is requested; its id follows
  // from the event, so a receiver that had it before sees the id it knows.
  const last = await appendRequests(deps.commands, requests, relayCaller);
  const jobs = [...events.flatMap(requestedDelivery).map((each) => each.job), ...requests.map(jobOf)];
  const loaded = await Promise.all(jobs.map((each) => loadDelivery(eventStore, each)));
  const open = jobs.filter((_, index) => loaded[index]?.delivery.outcome === 'open');
  // New message ids: the broker may hold a message with the delivery's id, dead or taken, and would ignore this one.
  const message = (each: NamedDelivery): Message => deliveryMessage(each, `${each.deliveryId} again ${job.position}`);
  await publishWork(deps.broker, open.map(message), events.flatMap(taskMessages));
  return last;
}

/**
 * The webhook was enabled. Nothing was requested, and no message kept, while it was disabled: each open delivery gets a
 * message, and then what happened meanwhile is requested.
 */
async function resume(deps: RangeDeps, job: Job<'resume'>, webhook: Webhook): Promise<Outcome> {
  const { tenant, position } = job;
  // When it was enabled several times in a row, only the last is to publish messages.
  if (webhook.disabled === undefined && (webhook.enabledAt ?? position) === position) {
    const enabledMs = Date.parse(deps.commands.now()) - Date.parse(webhook.startedAt);
    // Clocks of processes differ.
    if (enabledMs >= 0 && enabledMs < SETTLE_MS) return retryIn(SETTLE_MS - enabledMs);
    if (!(await deps.commands.progress.waitFor(tenant, position, CATCH_UP_MS))) return retryIn(CATCH_UP_MS);
    await publishOpen(deps, job);
  }
  const done = await disabledBefore(deps, job);
  if (done !== undefined) await deps.broker.publish(BACKFILL_QUEUE, [rangeMessage({ ...job, done, requested: 0 })]);
  return DONE;
}

/** Their own messages have ended, or wait for an attempt, so these have new ids. */
async function publishOpen({ commands: { queries }, broker }: RangeDeps, job: Job<'resume'>): Promise<void> {
  const { tenant, webhookId, eventId, position: enabledAt } = job;
  const message = ({ id: deliveryId, orderId }: DeliveryLogEntry): Message =>
    deliveryMessage({ tenant, deliveryId, webhookId, orderId: orderId ?? '', enabledAt }, `${deliveryId}.${eventId}`);
  let query: DeliveryQuery = { webhookId, state: 'open', order: 'oldest', limit: PAGE };
  for (;;) {
    const page = await queries.deliveries.page(tenant, query);
    // Those requested since have their messages.
    const waiting = page.filter(({ position }) => position < enabledAt);
    await publishWork(broker, waiting.map(message));
    const last = waiting.at(-1);
    if (last === undefined || waiting.length < page.length) return;
    query = { ...query, after: last.position };
  }
}

/** Position of the event that had disabled the webhook. */
async function disabledBefore(
  { commands: { eventStore } }: RangeDeps,
  { tenant, webhookId, position }: Job<'resume'>,
): Promise<Position | undefined> {
  const stream = webhooksStream(tenant);
  const { revision: to = -1 } = (await eventStore.lastAppend(stream)) ?? {};
  const isIt = ({ type, data, position: at }: RecordedEvent): boolean =>
    at < position && type === 'WebhookDisabled' && (data as WebhookEvent['data']).id === webhookId;
  for await (const events of streamPagesBackwards(eventStore, stream, { to })) {
    const disabled = events.findLast(isIt);
    if (disabled !== undefined) return disabled.position;
  }
  return undefined;
}

async function hasRoom({ commands }: RangeDeps, job: Job<'resume' | 'backfill'>): Promise<boolean> {
  const { eventStore, queries, progress } = commands;
  const { tenant, webhookId, requested = 0 } = job;
  const isInLog = await eventStore.holds({ position: requested });
  if (isInLog && !(await progress.waitFor(tenant, requested, CATCH_UP_MS))) return false;
  const open = await queries.deliveries.page(tenant, { webhookId, state: 'open', limit: MAX_OPEN });
  return open.length < MAX_OPEN;
}

/** A range without an end has all up to its request, also what a clock that was ahead has dated later. */
const backfilled = ({ webhookId, backfillId, kinds, from, to }: Job<'backfill'>): Subscription => ({
  webhookId,
  wants: (event, kind) => {
    const { occurredAt } = event.metadata;
    return kinds.includes(kind) && occurredAt >= from && (to === undefined || occurredAt < to);
  },
  deliveryId: (event, kind) => v5(`${backfillId} ${kind} ${event.id}`, webhookId),
  replay: { purpose: 'backfill' },
});
