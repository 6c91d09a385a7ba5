/**
 * Work on many deliveries of one webhook: resuming it after it was disabled, and backfills.
 *
 * A backfill sends a range of the log to a webhook, which may be newer than that range: a delivery for each event and
 * kind. It reads the log in steps. Each step is a message that says how far the last step came, so a crash repeats at
 * most one step. That is harmless: ids follow from the backfill and the event.
 */
import { v5 } from 'uuid';
import type { Commands } from '../commands/context.js';
import { streamPagesBackwards } from '../commands/streamPages.js';
import { orderStream, tableStream, webhooksStream } from '../domain/streams.js';
import { doubled } from '../domain/webhook/delivery.js';
import type { WebhookEvent, WebhookEventKind } from '../domain/webhook/events.js';
import type { Position } from '../ports/eventStore.js';
import type { MessageBroker, Outcome } from '../ports/messageBroker.js';
import type { DeliveryLogEntry, DeliveryQuery } from '../queries/deliveries.js';
import type { DeliveryCache } from './deliveryCache.js';
import {
  appendRequests,
  type DeliveryRequest,
  RequestSequence,
  relayCaller,
  requestedMessage,
  type Subscription,
  subscriptionOf,
} from './deliveryRequests.js';
import {
  BACKFILL_QUEUE,
  type BackfillJob,
  DELIVERY_QUEUE,
  deliveryMessage,
  type ResumeJob,
  replayJob,
} from './queue.js';

export type ReplayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now' | 'progress' | 'queries'>;
  readonly broker: MessageBroker;
  readonly cache: DeliveryCache;
};

const BACKFILL = { kind: 'system', id: 'webhook-backfill' } as const;
const DONE: Outcome = { kind: 'done' };
const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });

/** Deliveries that are resumed with one publish to the broker. */
const PAGE = 200;
const CATCH_UP_MS = 1_000;

/** Approvals hold whole orders, so a slice is small. */
const SLICE_EVENTS = 100;
/** A step that finds nothing ends after this time, so that others get their turn. */
const STEP_MS = 1_000;
/**
 * A backfill waits while its webhook has this many open deliveries. Otherwise it would fill the queue, and new events
 * would wait behind it.
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
export async function runReplays(deps: ReplayDeps, signal: AbortSignal): Promise<void> {
  const served = new Set<string>();
  await deps.broker.consume(BACKFILL_QUEUE, { concurrency: TENANTS_AT_ONCE, signal }, async (message) => {
    const job = replayJob.safeParse(message.body);
    if (!job.success) return { kind: 'dead', reason: 'The message names no work.' };
    const { tenant } = job.data;
    if (served.has(tenant)) return retryIn(doubled(SERVED_MS.first, SERVED_MS.longest, message.redeliveries));
    served.add(tenant);
    try {
      return await work(deps, job.data, message.redeliveries, signal);
    } finally {
      served.delete(tenant);
    }
  });
}

async function work(
  deps: ReplayDeps,
  job: BackfillJob | ResumeJob,
  redeliveries: number,
  signal: AbortSignal,
): Promise<Outcome> {
  // The log was put back to an older copy, which does not have the request.
  if (!(await deps.commands.eventStore.holds({ position: job.position }))) return DONE;
  return job.task === 'resume'
    ? resume(deps, job, redeliveries, signal)
    : backfillStep(deps, job, redeliveries, signal);
}

/**
 * The webhook was enabled. Nothing was requested, and no message kept, while it was disabled: each open delivery gets a
 * message, and then what happened meanwhile is requested.
 */
async function resume(deps: ReplayDeps, job: ResumeJob, redeliveries: number, signal: AbortSignal): Promise<Outcome> {
  const { eventStore, directory } = deps.commands;
  const { tenant, webhookId, position, done, requested = 0 } = job;
  if (done !== undefined) return missedStep(deps, { ...job, done, requested }, redeliveries, signal);
  await directory.waitFor(position);
  const webhook = directory.tenant(tenant)?.webhooks.get(webhookId);
  if (webhook === undefined) return DONE;
  // When it was enabled several times in a row, only the last is to publish messages.
  if (webhook.disabled === undefined && (webhook.enabledAt ?? position) === position) {
    const enabledMs = Date.parse(deps.commands.now()) - Date.parse(webhook.startedAt);
    // Clocks of processes differ.
    if (enabledMs >= 0 && enabledMs < SETTLE_MS) return retryIn(SETTLE_MS - enabledMs);
    if (!(await publishOpen(deps, job))) return retryIn(1_000);
  }
  const disabledAt = await disabledBefore(eventStore, job);
  if (disabledAt === undefined) return DONE;
  const next: ResumeJob = { ...job, done: disabledAt, requested };
  await deps.broker.publish(BACKFILL_QUEUE, [{ id: `${job.eventId} ${disabledAt}`, body: next }]);
  return DONE;
}

/**
 * Their own messages have ended, or wait for an attempt, so these have new ids.
 * @returns false while the delivery log does not show all
 */
async function publishOpen({ commands, broker }: ReplayDeps, job: ResumeJob): Promise<boolean> {
  const { tenant, webhookId, eventId, position } = job;
  const { queries } = commands;
  if (!(await commands.progress.waitFor(tenant, position, CATCH_UP_MS))) return false;
  let query: DeliveryQuery = { webhookId, state: 'open', order: 'oldest', limit: PAGE };
  for (;;) {
    const page = await queries.deliveries.page(tenant, query);
    const last = page.at(-1);
    if (last === undefined) return true;
    // Those requested since have their messages.
    const waiting = page.filter((each) => each.position < position);
    const message = ({ id, orderId }: DeliveryLogEntry) =>
      deliveryMessage(
        { tenant, deliveryId: id, webhookId, orderId: orderId ?? '', enabledAt: position },
        `${id}.${eventId}`,
      );
    await broker.publish(DELIVERY_QUEUE, waiting.map(message));
    if (waiting.length < page.length) return true;
    query = { ...query, after: last.position };
  }
}

/** Position of the event that had disabled the webhook. */
async function disabledBefore(
  eventStore: ReplayDeps['commands']['eventStore'],
  { tenant, webhookId, position }: ResumeJob,
): Promise<Position | undefined> {
  const stream = webhooksStream(tenant);
  const { revision = -1 } = (await eventStore.lastAppend(stream)) ?? {};
  for await (const events of streamPagesBackwards(eventStore, stream, { to: revision })) {
    const disabled = events.findLast(
      (each) =>
        each.position < position &&
        each.type === 'WebhookDisabled' &&
        (each.data as WebhookEvent['data']).id === webhookId,
    );
    if (disabled !== undefined) return disabled.position;
  }
  return undefined;
}

type MissedJob = ResumeJob & Progress;

/** One step through what a webhook missed. Requests what the relay would have requested, so it may be repeated. */
async function missedStep(
  { commands, broker, cache }: ReplayDeps,
  job: MissedJob,
  redeliveries: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const { tenant, webhookId, eventId, position: to } = job;
  await commands.directory.waitFor(to);
  const webhook = commands.directory.tenant(tenant)?.webhooks.get(webhookId);
  if (webhook === undefined) return DONE;
  if (webhook.disabled !== undefined) return retryIn(doubled(WAIT_MS.first, DISABLED_MS, redeliveries));
  if (!(await hasRoom(commands, job))) return retryIn(doubled(WAIT_MS.first, WAIT_MS.longest, redeliveries));
  const step = await request(
    commands,
    job,
    { subscription: subscriptionOf(webhook), kinds: webhook.events, to },
    signal,
    {
      append: async (requests) => {
        const last = await appendRequests(commands, cache, requests, relayCaller);
        if (requests.length > 0) await broker.publish(DELIVERY_QUEUE, requests.map(requestedMessage));
        return last;
      },
    },
  );
  if (step.isLast) return DONE;
  if (step.done === job.done) return retryIn(0);
  const next: MissedJob = { ...job, done: step.done, requested: step.requested };
  await broker.publish(BACKFILL_QUEUE, [{ id: `${eventId} ${next.done}`, body: next }]);
  return DONE;
}

/** One step of a backfill. The relay publishes the deliveries that it requests, as for every replay. */
export async function backfillStep(
  { commands, broker, cache }: ReplayDeps,
  job: BackfillJob,
  redeliveries: number,
  signal: AbortSignal,
): Promise<Outcome> {
  await commands.directory.waitFor(job.position);
  if (commands.directory.tenant(job.tenant)?.webhooks.has(job.webhookId) !== true) return DONE;
  if (!(await hasRoom(commands, job))) return retryIn(doubled(WAIT_MS.first, WAIT_MS.longest, redeliveries));
  const { tenant, eventId: causationId, correlationId, kinds } = job;
  const caller = { tenant, actor: BACKFILL, correlationId, causationId };
  const wanted = { subscription: backfilled(job), kinds, to: job.position };
  const step = await request(commands, job, wanted, signal, {
    append: (requests) => appendRequests(commands, cache, requests, () => caller),
  });
  if (step.isLast) return DONE;
  if (step.done === job.done) return retryIn(0);
  const next: BackfillJob = { ...job, done: step.done, requested: step.requested };
  // Published before this step ends, so that no crash ends the backfill.
  await broker.publish(BACKFILL_QUEUE, [{ id: `${job.backfillId} ${next.done}`, body: next }]);
  return DONE;
}

type Progress = { readonly done: Position; readonly requested: Position };
type WebhookJob = Progress & Pick<ResumeJob, 'tenant' | 'webhookId'>;

async function hasRoom({ eventStore, queries, progress }: ReplayDeps['commands'], job: WebhookJob): Promise<boolean> {
  const { tenant, webhookId, requested } = job;
  const isInLog = await eventStore.holds({ position: requested });
  if (isInLog && !(await progress.waitFor(tenant, requested, CATCH_UP_MS))) return false;
  const open = await queries.deliveries.page(tenant, { webhookId, state: 'open', limit: MAX_OPEN });
  return open.length < MAX_OPEN;
}

type Wanted = {
  readonly subscription: Subscription;
  readonly kinds: readonly WebhookEventKind[];
  /** Position of the last event. */
  readonly to: Position;
};
type Append = (requests: readonly DeliveryRequest[]) => Promise<Position>;

/** Reads from the job's position on until something was requested. */
async function request(
  { eventStore }: ReplayDeps['commands'],
  { tenant, done: after, requested: before }: WebhookJob,
  { subscription, kinds, to }: Wanted,
  signal: AbortSignal,
  { append }: { readonly append: Append },
): Promise<Progress & { readonly isLast: boolean }> {
  const sequence = new RequestSequence(eventStore, SLICE_EVENTS);
  const until = Date.now() + STEP_MS;
  let done = after;
  const options = { after, streamPrefixes: streamsOf(tenant, kinds), maxCount: SLICE_EVENTS, signal };
  for await (const { events, position, caughtUp } of eventStore.subscribe(options)) {
    const inRange = events.filter((event) => event.position <= to);
    const requested = Math.max(before, await append(await sequence.requests(inRange, () => [subscription])));
    done = position;
    const isLast = caughtUp || position >= to;
    if (isLast || requested > before || Date.now() >= until) return { done, requested, isLast };
  }
  return { done, requested: before, isLast: false };
}

const streamsOf = (tenant: string, kinds: readonly WebhookEventKind[]): readonly string[] => [
  ...(kinds.some((kind) => kind.startsWith('order.')) ? [orderStream(tenant, '')] : []),
  ...(kinds.some((kind) => kind.startsWith('reference.')) ? [tableStream(tenant, '')] : []),
];

/** A range without an end has all up to its request, also what a clock that was ahead has dated later. */
const backfilled = ({ webhookId, backfillId, kinds, from, to }: BackfillJob): Subscription => ({
  webhookId,
  wants: (event, kind) => {
    const { occurredAt } = event.metadata;
    return kinds.includes(kind) && occurredAt >= from && (to === undefined || occurredAt < to);
  },
  deliveryId: (event, kind) => v5(`${backfillId} ${kind} ${event.id}`, webhookId),
  replay: { purpose: 'backfill' },
});
