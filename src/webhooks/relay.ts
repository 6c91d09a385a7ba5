/**
 * Turns events of the log into deliveries: one for each event, kind and subscribed webhook. Also publishes work that the
 * log requests: replays, and deliveries that waited for a webhook that was enabled again.
 */
import { type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { Commands, TenantDirectory } from '../commands/context.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import { RELAYED_AT_ONCE } from '../domain/limits.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import { type DeliverySubject, kindsOf, type WebhookEvent } from '../domain/webhook/events.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import { acceptFound, findLog, NOWHERE } from '../ports/logAnchor.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { isTraced } from '../ports/tracedEvents.js';
import { inSpans, startSpan, traceparentOf } from '../ports/tracing.js';
import type { DeliveryCache } from './deliveryCache.js';
import {
  appendRequests,
  type DeliveryRequest,
  jobOf,
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
  type NamedDelivery,
  type ResumeJob,
} from './queue.js';
import { RelayCheckpoint, relayedAnchor } from './relayCheckpoint.js';
import { RelayPartitions } from './relayPartitions.js';

export type RelayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'>;
  readonly broker: MessageBroker;
  readonly cache: DeliveryCache;
  /** Unset if tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Accepts a log other than the checkpoint's, and starts over on it. Default false: it is an error. */
  readonly acceptLog?: boolean;
  /** Called with the reason if the log is processed again from its start. */
  readonly onReset?: (reason: string) => void;
};

/** Approvals hold whole orders, so a slice is small. With fewer events, the writes at its end would dominate. */
const SLICE_EVENTS = 250;

/** Orders that change at the same time, times their webhooks. */
const REMEMBERED_ORDERS = 50_000;

/**
 * Runs until the signal ends it. Two relays may run side by side for a moment: their writes are the same.
 * @throws OtherLogError
 */
export async function runRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const { eventStore } = deps.commands;
  const checkpoint = new RelayCheckpoint(deps.broker, await eventStore.identity());
  const partitions = new RelayPartitions(eventStore, checkpoint, signal);
  try {
    const kept = await relayedAnchor(deps.broker);
    const found = await findLog(eventStore, kept);
    acceptFound(found, 'The webhook jobs', deps.acceptLog ?? false);
    let position: Position | undefined = kept.position;
    if (found !== 'same') {
      deps.onReset?.('the relay was further in another copy of the event log: it reads this one from its start');
      position = await startOver(deps, checkpoint, signal);
    }
    while (position !== undefined) position = await relayFrom(deps, position, partitions);
  } finally {
    await partitions.end();
    checkpoint.stop();
  }
  partitions.throwIfFailed();
}

/**
 * Reads the log, and leaves what is to be relayed to the partitions, until other streams have to be read. Returns the
 * position to continue from with those; undefined if the partitions have ended.
 *
 * Orders and tables are read only while some webhook subscribes to them, so that unwanted batches of a table cost
 * nothing. Nothing is missed: the subscriptions at `after` are known when the streams are chosen, and each later change
 * is in a `webhooks-` stream, which is always read. When a change needs other streams, its slice is read again with
 * those; events before that slice are older than the subscription.
 */
async function relayFrom(deps: RelayDeps, after: Position, partitions: RelayPartitions): Promise<Position | undefined> {
  const { eventStore, directory } = deps.commands;
  const { signal } = partitions;
  await directory.waitFor(after);
  const streamPrefixes = wantedStreams(directory);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  partitions.begin(after, (events) => relayTurn(deps, events, sequence));
  let position = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount: SLICE_EVENTS, signal })) {
    const change = slice.events.findLast(isAboutWebhook);
    if (change !== undefined) {
      // A webhook that was created before an event must be known here when the event is relayed.
      await directory.waitFor(change.position);
      if (wantedStreams(directory).join() !== streamPrefixes.join()) return position;
    }
    await publishRequested(deps, slice.events);
    partitions.add(
      slice,
      slice.events.filter((event) => kindsOf(event).length > 0),
    );
    position = slice.position;
  }
  return undefined;
}

/** Work that events of the log request themselves. */
async function publishRequested({ broker }: RelayDeps, events: readonly RecordedEvent[]): Promise<void> {
  const replays = events.flatMap(replayMessages);
  const tasks = events.flatMap(taskMessages);
  if (tasks.length > 0) await broker.publish(BACKFILL_QUEUE, tasks);
  if (replays.length > 0) await broker.publish(DELIVERY_QUEUE, replays);
}

/** Relays the first of these events of one tenant. @returns how many */
async function relayTurn(
  { commands, broker, cache, tracer }: RelayDeps,
  events: readonly RecordedEvent[],
  sequence: RequestSequence,
): Promise<number> {
  const turn = events.slice(0, eventsOfTurn(commands.directory, events));
  const requests = await sequence.requests(turn, (event) => subscriptions(commands.directory, event));
  for (const source of new Set(requests.map((request) => request.source))) cache.keepEvent(source);
  // Crash safety rests on this order. First the deliveries are appended, then the messages that name them are published,
  // so no message names a delivery that is missing, or one that waits for a missing one. The checkpoint moves after
  // that. After a crash before it the events are relayed again, which repeats nothing: the ids are the same.
  await traceRelay(tracer, requests, async (traceparent) => {
    await appendRequests(commands, cache, requests, (source) => relayCaller(source, traceparent(source)));
    if (requests.length > 0) await broker.publish(DELIVERY_QUEUE, requests.map(requestedMessage));
  });
  return turn.length;
}

/** So many that about `RELAYED_AT_ONCE` deliveries follow from them. */
function eventsOfTurn(directory: TenantDirectory, [event]: readonly RecordedEvent[]): number {
  const { webhooks } = (event && directory.tenant(event.metadata.tenant)) ?? {};
  return Math.max(1, Math.floor(RELAYED_AT_ONCE / Math.max(1, webhooks?.size ?? 0)));
}

/**
 * Does the relay's work on events within a span for each event that has deliveries. Everything that follows from the
 * event, first of all each attempt, is part of that span.
 * @param work is given a function that returns the `traceparent` of an event's span
 */
export async function traceRelay(
  tracer: Tracer | undefined,
  requests: readonly DeliveryRequest[],
  work: (traceparent: (source: RecordedEvent) => string | undefined) => Promise<void>,
): Promise<void> {
  if (tracer === undefined) return work(() => undefined);
  const now = Date.now();
  const deliveries = new Map<RecordedEvent, number>();
  for (const { source } of requests) {
    if (isTraced(source, now)) deliveries.set(source, (deliveries.get(source) ?? 0) + 1);
  }
  const spans = new Map<RecordedEvent, Span>();
  for (const [source, count] of deliveries) {
    const attributes = { 'dynamic_assets.event.type': source.type, 'dynamic_assets.deliveries': count };
    const options = { kind: SpanKind.CONSUMER, attributes };
    spans.set(source, startSpan(tracer, source.metadata.traceparent, 'relay', options));
  }
  await inSpans([...spans.values()], () => work((source) => traceparentOf(spans.get(source))));
}

// What events mean to the relay: which streams it reads, which webhooks want an event, and which messages follow.

const WEBHOOKS = 'webhooks-';

const isAboutWebhook = ({ stream }: RecordedEvent): boolean => stream.startsWith(WEBHOOKS);

/** Streams that some webhook needs: without webhooks, reading the log costs nothing. */
function wantedStreams(directory: TenantDirectory): readonly string[] {
  const kinds = [...directory.tenants()].flatMap(({ webhooks }) =>
    [...webhooks.values()].flatMap(({ events }) => events),
  );
  const prefixes = [WEBHOOKS, STREAM_PREFIXES.delivery];
  if (kinds.some((kind) => kind.startsWith('order.'))) prefixes.push(STREAM_PREFIXES.order);
  if (kinds.some((kind) => kind.startsWith('reference.'))) prefixes.push(STREAM_PREFIXES.table);
  return prefixes;
}

/** What the event's deliveries go to: webhooks of its tenant, each with what it wants. */
const subscriptions = (directory: TenantDirectory, { metadata: { tenant } }: RecordedEvent): readonly Subscription[] =>
  [...(directory.tenant(tenant)?.webhooks.values() ?? [])].map(subscriptionOf);

/** The delivery that an event requests; undefined for all other events, and for one that names no webhook. */
function requestedDelivery({ stream, type, data }: RecordedEvent) {
  if (type !== 'DeliveryRequested') return undefined;
  const { purpose, webhookId, orderId } = (data ?? {}) as DeliverySubject;
  if (typeof webhookId !== 'string') return undefined;
  const { tenant, rest: deliveryId } = parseStream(stream);
  return { job: { tenant, deliveryId, webhookId, orderId }, purpose };
}

/**
 * The message for a replay, which may have been requested by a process without a broker. The relay's own requests have no
 * purpose, so nothing is published twice.
 */
function replayMessages(event: RecordedEvent): readonly Message[] {
  const requested = requestedDelivery(event);
  return requested?.purpose === undefined ? [] : [deliveryMessage(requested.job)];
}

/** Work for the replays of this service that a webhook's event requests. */
function taskMessages({ id: eventId, position, metadata, ...recorded }: RecordedEvent): readonly Message[] {
  // An event that names no webhook parks its tenant in the directory. Other tenants continue.
  if (!recorded.stream.startsWith(WEBHOOKS) || !namesWebhook(recorded.data)) return [];
  const { tenant, correlationId } = metadata;
  const event = { type: recorded.type, data: recorded.data } as WebhookEvent;
  const task = { tenant, webhookId: event.data.id, eventId, position };
  if (event.type === 'WebhookEnabled') {
    const body: ResumeJob = { task: 'resume', ...task };
    return [{ id: eventId, body }];
  }
  if (event.type === 'WebhookBackfillRequested') {
    const { backfillId, kinds, from, to } = event.data;
    if (!Array.isArray(kinds)) return [];
    const range = { backfillId, kinds: [...kinds], from, ...(to === undefined ? {} : { to }) };
    const body: BackfillJob = { task: 'backfill', ...task, correlationId, ...range, done: 0, requested: 0 };
    return [{ id: backfillId, body }];
  }
  return [];
}

const namesWebhook = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'id' in data && typeof data.id === 'string';

// A log that lacks events which were relayed.

/**
 * Starts over on a log that lacks events which were relayed: an older copy was put back, or another log was accepted.
 * Processes it up to its present head. Meanwhile the stored checkpoint is a place that no log holds: after a crash all is
 * repeated, harmlessly.
 *
 * The log decides. A delivery that has ended there is left alone. One that is open there is published, since its job may
 * have been done after the copy was made. One that is wanted and was never requested there is requested; its id follows
 * from the event, so a receiver that had it before sees the id it knows.
 * @returns the position to continue from; undefined if the signal ended it
 */
async function startOver(
  { commands, broker, cache }: RelayDeps,
  checkpoint: RelayCheckpoint,
  signal: AbortSignal,
): Promise<Position | undefined> {
  const { eventStore, directory } = commands;
  await checkpoint.store(NOWHERE);
  const head = await eventStore.head();
  await directory.waitFor(head);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  // New message ids: the broker may hold a message with the delivery's id, dead or taken, and would ignore this one.
  const message = (job: NamedDelivery): Message => deliveryMessage(job, `${job.deliveryId} anew ${head}`);
  const options = { after: 0, streamPrefixes: wantedStreams(directory), maxCount: SLICE_EVENTS, signal };
  for await (const slice of eventStore.subscribe(options)) {
    const events = slice.events.filter(({ position }) => position <= head);
    const wanted = await sequence.requests(events, (event) => subscriptions(directory, event));
    const missing = await filtered(wanted, async (each) => (await loadDelivery(eventStore, each)) === undefined);
    await appendRequests(commands, cache, missing, relayCaller);
    const jobs = events.flatMap((event) => requestedDelivery(event)?.job ?? []);
    const open = await filtered(jobs, async (job) => {
      return (await loadDelivery(eventStore, job))?.delivery.outcome === 'open';
    });
    await broker.publish(DELIVERY_QUEUE, [...open, ...missing.map(jobOf)].map(message));
    await broker.publish(BACKFILL_QUEUE, events.flatMap(taskMessages));
    if (slice.position < head) continue;
    // The slice may reach beyond `head`.
    await checkpoint.store(slice.position === head ? slice : { position: head });
    return head;
  }
  return undefined;
}

async function filtered<Each>(all: readonly Each[], keep: (each: Each) => Promise<boolean>): Promise<readonly Each[]> {
  const kept = await Promise.all(all.map(keep));
  return all.filter((_, index) => kept[index]);
}
