/**
 * Turns events of the log into deliveries: one for each event, kind and subscribed webhook. Also publishes work that the
 * log requests: replays, and deliveries that waited for a webhook that was enabled again.
 */
import { type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { Caller, Commands, TenantDirectory } from '../commands/context.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryIds.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import { type Webhook, wantedSince } from '../domain/identity/directory.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { DeliverySubject, WebhookEvent, WebhookEventKind } from '../domain/webhook/events.js';
import type { EventPosition, EventSlice, LogAnchor, Position, RecordedEvent } from '../ports/eventStore.js';
import { acceptFound, anchorAt, findLog, NOWHERE } from '../ports/logAnchor.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { isTraced } from '../ports/tracedEvents.js';
import { inSpans, startSpan, traceparentOf } from '../ports/tracing.js';
import type { DeliveryCache } from './deliveryCache.js';
import { appendRequests, type DeliveryRequest, RequestSequence, type Subscription } from './deliveryRequests.js';
import {
  BACKFILL_QUEUE,
  type BackfillJob,
  DELIVERY_QUEUE,
  type DeliveryJob,
  deliveryMessage,
  type ResumeJob,
} from './queue.js';

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

const RELAY = { kind: 'system', id: 'webhook-relay' } as const;

/**
 * Runs until the signal ends it. Several relays may run side by side: their writes are the same.
 * @throws OtherLogError
 */
export async function runRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const { eventStore } = deps.commands;
  const checkpoint = new RelayCheckpoint(deps.broker, await eventStore.identity());
  try {
    const kept = await relayedAnchor(deps.broker);
    const found = await findLog(eventStore, kept);
    acceptFound(found, 'The webhook jobs', deps.acceptLog ?? false);
    let position: Position | undefined = kept.position;
    if (found !== 'same') {
      deps.onReset?.('the relay was further in another copy of the event log: it reads this one from its start');
      position = await startOver(deps, checkpoint, signal);
    }
    while (position !== undefined) position = await relayFrom(deps, position, checkpoint, signal);
  } finally {
    checkpoint.stop();
  }
}

/**
 * Relays until other streams have to be read. Returns the position to continue from with those; undefined if the signal
 * ended it.
 *
 * Orders and tables are read only while some webhook subscribes to them, so that unwanted batches of a table cost
 * nothing. Nothing is missed: the subscriptions at `after` are known when the streams are chosen, and each later change
 * is in a `webhooks-` stream, which is always read. When a change needs other streams, its slice is read again with
 * those; events before that slice are older than the subscription.
 */
async function relayFrom(
  deps: RelayDeps,
  after: Position,
  checkpoint: RelayCheckpoint,
  signal: AbortSignal,
): Promise<Position | undefined> {
  const { eventStore, directory } = deps.commands;
  await directory.waitFor(after);
  const streamPrefixes = wantedStreams(directory);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  let position = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount: SLICE_EVENTS, signal })) {
    const change = slice.events.findLast(isAboutWebhook);
    if (change !== undefined) {
      // A webhook that was created before an event must be known here when the event is relayed.
      await directory.waitFor(change.position);
      if (wantedStreams(directory).join() !== streamPrefixes.join()) return position;
    }
    await relaySlice(deps, slice, sequence, checkpoint);
    position = slice.position;
  }
  return undefined;
}

async function relaySlice(
  { commands, broker, cache, tracer }: RelayDeps,
  slice: EventSlice,
  sequence: RequestSequence,
  checkpoint: RelayCheckpoint,
): Promise<void> {
  const { events } = slice;
  const requests = await sequence.requests(events, (event) => subscriptions(commands.directory, event));
  for (const source of new Set(requests.map((request) => request.source))) cache.keepEvent(source);
  // Crash safety rests on this order. First the deliveries are appended, then the messages that name them are published,
  // so no message names a delivery that is missing, or one that waits for a missing one. The checkpoint moves with the
  // last messages. After a crash before that the slice is processed again, which repeats nothing: the ids are the same.
  await traceRelay(tracer, requests, async (traceparent) => {
    await appendRequests(commands, cache, requests, (source) => relayCaller(source, traceparent(source)));
    const deliveries = [
      ...requests.map((request) => deliveryMessage(jobOfRequest(request))),
      ...events.flatMap(replayMessages),
    ];
    const tasks = events.flatMap(taskMessages);
    if (tasks.length > 0) await broker.publish(BACKFILL_QUEUE, tasks);
    if (deliveries.length + tasks.length === 0) checkpoint.advance(slice);
    else await checkpoint.publish(deliveries, slice);
  });
}

/**
 * Does the relay's work on a slice within a span for each event that has deliveries. Everything that follows from the
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

/**
 * On whose behalf an event's deliveries are requested.
 * @param traceparent of the relay's span for the event
 */
const relayCaller = (
  { id: causationId, metadata: { tenant, correlationId } }: RecordedEvent,
  traceparent?: string,
): Caller => ({ tenant, actor: RELAY, correlationId, causationId, traceparent });

/** The tenant's webhooks, each with what it wants. */
function subscriptions(directory: TenantDirectory, event: RecordedEvent): readonly Subscription[] {
  const { webhooks } = directory.tenant(event.metadata.tenant) ?? {};
  return [...(webhooks?.values() ?? [])].map((webhook) => ({
    webhookId: webhook.id,
    wants: (each, kind) => webhook.events.includes(kind) && isWantedSince(webhook, each, kind),
    deliveryId: (each, kind) => firstDeliveryId(webhook.id, each, kind),
  }));
}

/** Clocks of processes differ, and a delivery too many is better than a lost one. */
const CLOCK_TOLERANCE_MS = 10_000;

/**
 * A webhook gets no events from before it was created or subscribed to their kind, even if the relay starts at the
 * beginning of the log (another broker, an older copy of the log).
 */
const isWantedSince = (webhook: Webhook, event: RecordedEvent, kind: WebhookEventKind): boolean =>
  Date.parse(wantedSince(webhook, kind)) <= Date.parse(event.metadata.occurredAt) + CLOCK_TOLERANCE_MS;

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
    const range = { backfillId, kinds: [...kinds], from, to };
    const body: BackfillJob = { task: 'backfill', ...task, correlationId, ...range, done: 0, requested: 0 };
    return [{ id: backfillId, body }];
  }
  return [];
}

const namesWebhook = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'id' in data && typeof data.id === 'string';

const jobOfRequest = ({ tenant, deliveryId, subject }: DeliveryRequest): Required<DeliveryJob> => {
  const { webhookId, orderId } = subject;
  return { tenant, deliveryId, webhookId, orderId };
};

// The checkpoint. The broker stores it, with or after the messages that it covers.

/** The name is from the time when the relay knew approvals only. */
const CHECKPOINT = 'approval-relay';

/** How long the stored checkpoint may lag while nothing is published. */
const QUIET_MS = 1_000;

/** The relay's checkpoint; position 0 if it never ran. */
export const relayedAnchor = (broker: Pick<MessageBroker, 'checkpoint'>): Promise<LogAnchor> =>
  broker.checkpoint(CHECKPOINT);

class RelayCheckpoint {
  readonly #broker: MessageBroker;
  readonly #log: string;
  #timer: NodeJS.Timeout | undefined;
  #passed: EventPosition = { position: 0 };

  /** @param log id of the log that is relayed */
  constructor(broker: MessageBroker, log: string) {
    this.#broker = broker;
    this.#log = log;
  }

  async publish(messages: readonly Message[], place: EventPosition): Promise<void> {
    const checkpoint = { name: CHECKPOINT, ...anchorAt(this.#log, place) };
    await this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, messages, checkpoint);
  }

  /** Replaces a checkpoint that the log does not have. */
  async reset(place: EventPosition): Promise<void> {
    const checkpoint = { name: CHECKPOINT, ...anchorAt(this.#log, place), replaces: true };
    await this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, [], checkpoint);
  }

  /**
   * Nothing up to here needs publishing. Storing this with each event would cost a write each; storing it soon after the
   * last one keeps the next start short.
   */
  advance(place: EventPosition): void {
    this.#passed = place;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A broker outage is reported by its other users. Resuming at an older checkpoint is harmless.
      this.publish([], this.#passed).catch(() => undefined);
    }, QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

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
  await checkpoint.reset(NOWHERE);
  const head = await eventStore.head();
  await directory.waitFor(head);
  const sequence = new RequestSequence(eventStore, REMEMBERED_ORDERS);
  // New message ids: the broker may hold a message with the delivery's id, dead or taken, and would ignore this one.
  const message = (job: Required<DeliveryJob>): Message => deliveryMessage(job, `${job.deliveryId} anew ${head}`);
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
    await broker.publish(DELIVERY_QUEUE, [...open, ...missing.map(jobOfRequest)].map(message));
    await broker.publish(BACKFILL_QUEUE, events.flatMap(taskMessages));
    if (slice.position < head) continue;
    // The slice may reach beyond `head`.
    await checkpoint.reset(slice.position === head ? slice : { position: head });
    return head;
  }
  return undefined;
}

async function filtered<Each>(all: readonly Each[], keep: (each: Each) => Promise<boolean>): Promise<readonly Each[]> {
  const kept = await Promise.all(all.map(keep));
  return all.filter((_, index) => kept[index]);
}
