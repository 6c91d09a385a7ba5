/**
 * Work on many deliveries of one webhook: resuming deliveries that waited while it was disabled, and backfills.
 *
 * A backfill sends a range of the log to a webhook, which may be newer than that range: a delivery for each event and
 * kind. It reads the log in steps. Each step is a message that says how far the last step came, so a crash repeats at
 * most one step. That is harmless: ids follow from the backfill and the event.
 */
import { v5 } from 'uuid';
import type { Commands } from '../commands/context.js';
import { orderStream, tableStream } from '../domain/streams.js';
import { doubled } from '../domain/webhook/delivery.js';
import type { DeliveryLog, DeliveryLogEntry, DeliveryQuery } from '../ports/deliveryLog.js';
import type { Position } from '../ports/eventStore.js';
import type { MessageBroker, Outcome } from '../ports/messageBroker.js';
import type { DeliveryCache } from './deliveryCache.js';
import { appendRequests, RequestSequence, type Subscription } from './deliveryRequests.js';
import {
  BACKFILL_QUEUE,
  type BackfillJob,
  DELIVERY_QUEUE,
  deliveryMessage,
  type ResumeJob,
  replayJob,
} from './queue.js';

export type ReplayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'> & { readonly readModels: DeliveryLog };
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
  return job.task === 'resume' ? resume(deps, job) : backfillStep(deps, job, redeliveries, signal);
}

/**
 * Makes every open delivery of a webhook due. Their own messages may be redelivered only in an hour, so new messages
 * are published, with ids that the queue does not hold.
 */
async function resume({ commands, broker }: ReplayDeps, job: ResumeJob): Promise<Outcome> {
  const { tenant, webhookId, eventId, position } = job;
  const { readModels } = commands;
  if (!(await readModels.waitFor('deliveries', position, CATCH_UP_MS, tenant))) return retryIn(1_000);
  let query: DeliveryQuery = { webhookId, state: 'open', order: 'oldest', limit: PAGE };
  for (;;) {
    const page = await readModels.deliveries(tenant, query);
    const last = page.at(-1);
    if (last === undefined) return DONE;
    const message = ({ id, orderId }: DeliveryLogEntry) =>
      deliveryMessage({ tenant, deliveryId: id, webhookId, orderId: orderId ?? '' }, `${id}.${eventId}`);
    await broker.publish(DELIVERY_QUEUE, page.map(message));
    query = { ...query, after: last.position };
  }
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
  const step = await request(commands, cache, job, signal);
  if (step.isLast) return DONE;
  if (step.done === job.done) return retryIn(0);
  const next: BackfillJob = { ...job, done: step.done, requested: step.requested };
  // Published before this step ends, so that no crash ends the backfill.
  await broker.publish(BACKFILL_QUEUE, [{ id: `${job.backfillId} ${next.done}`, body: next }]);
  return DONE;
}

async function hasRoom({ eventStore, readModels }: ReplayDeps['commands'], job: BackfillJob): Promise<boolean> {
  const { tenant, webhookId, requested } = job;
  const isInLog = await eventStore.holds({ position: requested });
  if (isInLog && !(await readModels.waitFor('deliveries', requested, CATCH_UP_MS, tenant))) return false;
  const open = await readModels.deliveries(tenant, { webhookId, state: 'open', limit: MAX_OPEN });
  return open.length < MAX_OPEN;
}

type Step = { readonly done: Position; readonly requested: Position; readonly isLast: boolean };

/** Reads from the job's position on until something was requested. */
async function request(
  commands: ReplayDeps['commands'],
  cache: DeliveryCache,
  job: BackfillJob,
  signal: AbortSignal,
): Promise<Step> {
  const { tenant, eventId: causationId, correlationId } = job;
  const caller = { tenant, actor: BACKFILL, correlationId, causationId };
  const sequence = new RequestSequence(commands.eventStore, SLICE_EVENTS);
  const subscription = subscriptionOf(job);
  const until = Date.now() + STEP_MS;
  let { done } = job;
  const options = { after: done, streamPrefixes: streamsOf(job), maxCount: SLICE_EVENTS, signal };
  for await (const { events, position, caughtUp } of commands.eventStore.subscribe(options)) {
    const requests = await sequence.requests(events, () => [subscription]);
    const requested = Math.max(job.requested, await appendRequests(commands, cache, requests, () => caller));
    done = position;
    const isOver = caughtUp || requested > job.requested || Date.now() >= until;
    if (isOver) return { done, requested, isLast: caughtUp };
  }
  return { done, requested: job.requested, isLast: false };
}

const streamsOf = ({ tenant, kinds }: BackfillJob): readonly string[] => [
  ...(kinds.some((kind) => kind.startsWith('order.')) ? [orderStream(tenant, '')] : []),
  ...(kinds.some((kind) => kind.startsWith('reference.')) ? [tableStream(tenant, '')] : []),
];

const subscriptionOf = ({ webhookId, backfillId, kinds, from, to }: BackfillJob): Subscription => ({
  webhookId,
  wants: (event, kind) => kinds.includes(kind) && event.metadata.occurredAt >= from && event.metadata.occurredAt < to,
  deliveryId: (event, kind) => v5(`${backfillId} ${kind} ${event.id}`, webhookId),
  replay: { purpose: 'backfill' },
});
