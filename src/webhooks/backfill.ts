/**
 * Sends a range of the log to a webhook, whenever that was made: a delivery for each event and kind. It goes through the
 * log in steps; each is a message that says how far the one before has come, so a crash repeats one step at most, and
 * repeats it harmlessly: ids follow from the backfill and the event.
 */
import { v5 } from 'uuid';
import type { Commands } from '../commands/context.js';
import { orderStream, tableStream } from '../domain/streams.js';
import type { DeliveryLog } from '../ports/deliveryLog.js';
import type { EventSlice, Position } from '../ports/eventStore.js';
import type { MessageBroker, Outcome } from '../ports/messageBroker.js';
import { firstDeliveryId, RequestSequence, record, type Telling } from './deliveryRequests.js';
import { BACKFILL_QUEUE, type BackfillJob } from './queue.js';

export type BackfillDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'> & { readonly readModels: DeliveryLog };
  readonly broker: MessageBroker;
};

const BACKFILL = { kind: 'system', id: 'webhook-backfill' } as const;
const DONE: Outcome = { kind: 'done' };

/** Approvals carry whole orders, so a slice is kept small. */
const SLICE_EVENTS = 100;

/** A step in which nothing is found ends after this long, so that others get their turn. */
const STEP_MS = 1_000;

/**
 * A backfill waits while its webhook has so many deliveries open. Otherwise it would fill the queue, and what is new
 * would wait behind it.
 */
const MOST_OPEN = 200;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
const PROJECTION_WAIT_MS = 1_000;

/** One step. What it requests reaches the queue through the relay, as every replay does. */
export async function backfillStep(
  { commands, broker }: BackfillDeps,
  job: BackfillJob,
  redeliveries: number,
  signal: AbortSignal,
): Promise<Outcome> {
  await commands.directory.waitFor(job.position);
  if (commands.directory.tenant(job.tenant)?.webhooks.has(job.webhookId) !== true) return DONE;
  if (!(await hasRoom(commands, job))) {
    return { kind: 'again', delayMs: Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(redeliveries, 10)) };
  }
  const step = await request(commands, job, signal);
  if (step.isLast) return DONE;
  if (step.done === job.done) return { kind: 'again', delayMs: 0 };
  const next: BackfillJob = { ...job, done: step.done, requested: step.requested };
  // Before the end of this one, so that no crash ends the backfill.
  await broker.publish(BACKFILL_QUEUE, [{ id: `${job.backfillId} ${next.done}`, body: next }]);
  return DONE;
}

async function hasRoom({ readModels }: BackfillDeps['commands'], job: BackfillJob): Promise<boolean> {
  const { tenant, webhookId, requested } = job;
  if (!(await readModels.waitFor('deliveries', requested, PROJECTION_WAIT_MS))) return false;
  const open = await readModels.deliveries(tenant, { webhookId, state: 'open', limit: MOST_OPEN });
  return open.length < MOST_OPEN;
}

type Step = { readonly done: Position; readonly requested: Position; readonly isLast: boolean };

/** Goes on from where the job stands, until something was requested. */
async function request(commands: BackfillDeps['commands'], job: BackfillJob, signal: AbortSignal): Promise<Step> {
  const sequence = new RequestSequence(commands.eventStore, SLICE_EVENTS);
  const telling = tellingOf(job);
  const until = Date.now() + STEP_MS;
  let done = job.done;
  const options = { after: job.done, streamPrefixes: streamsOf(job), maxCount: SLICE_EVENTS, signal };
  for await (const slice of commands.eventStore.subscribe(options)) {
    const requested = await requestSlice(commands, job, slice, sequence, telling);
    done = slice.position;
    if (slice.caughtUp) return { done, requested, isLast: true };
    if (requested > job.requested || Date.now() >= until) return { done, requested, isLast: false };
  }
  return { done, requested: job.requested, isLast: false };
}

/** @returns position of the last delivery that was requested */
async function requestSlice(
  commands: BackfillDeps['commands'],
  { tenant, eventId: causationId, correlationId, requested }: BackfillJob,
  slice: EventSlice,
  sequence: RequestSequence,
  telling: Telling,
): Promise<Position> {
  const requests = await sequence.requests(slice.events, () => [telling]);
  const caller = { tenant, actor: BACKFILL, correlationId, causationId };
  const positions = await Promise.all(requests.map((each) => record(commands, caller, each)));
  return Math.max(requested, ...positions);
}

const streamsOf = ({ tenant, kinds }: BackfillJob): readonly string[] => [
  ...(kinds.some((kind) => kind.startsWith('order.')) ? [orderStream(tenant, '')] : []),
  ...(kinds.some((kind) => kind.startsWith('reference.')) ? [tableStream(tenant, '')] : []),
];

const tellingOf = ({ webhookId, backfillId, kinds, from, to }: BackfillJob): Telling => ({
  webhookId,
  wants: (event, kind) => kinds.includes(kind) && event.metadata.occurredAt >= from && event.metadata.occurredAt < to,
  deliveryId: (event, kind) => v5(`${backfillId} ${kind} ${event.id}`, webhookId),
  // Whoever has had the event already knows it by the id it came with.
  replay: (event, kind) => ({ purpose: 'backfill', messageId: firstDeliveryId(webhookId, event, kind) }),
});
