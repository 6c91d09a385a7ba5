/**
 * Turns events of the log into deliveries: one for each event, kind and webhook that is subscribed to it. Publishes what
 * the log asks for: replays, and what waited for a webhook that is enabled again.
 */
import type { Commands, TenantDirectory } from '../commands/context.js';
import type { Webhook } from '../domain/identity/directory.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { DeliverySubject, WebhookEvent } from '../domain/webhook/events.js';
import type { EventSlice, Position, RecordedEvent } from '../ports/eventStore.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { appendRequests, firstDeliveryId, RequestSequence, type Subscription } from './deliveryRequests.js';
import { BACKFILL_QUEUE, type BackfillJob, DELIVERY_QUEUE, deliveryMessage, type ResumeJob } from './queue.js';

export type RelayDeps = {
  readonly commands: Pick<Commands, 'eventStore' | 'directory' | 'now'>;
  readonly broker: MessageBroker;
};

/** From the time when the relay knew approvals only. */
const CHECKPOINT = 'approval-relay';
const RELAY = { kind: 'system', id: 'webhook-relay' } as const;

/** Approvals carry whole orders, so a slice is kept small; with fewer events, the writes at its end would dominate. */
const SLICE_EVENTS = 250;

/** Orders that change at the same time, times their webhooks. */
const REMEMBERED_ORDERS = 50_000;

const WEBHOOKS = 'webhooks-';

/** How long the checkpoint may stay behind while nothing is published. */
const QUIET_MS = 1_000;

/**
 * A webhook is sent nothing from before it was created, even when the relay starts anew from the beginning of the log
 * (another broker). The clocks of several processes differ, and a delivery too many is better than one that is lost.
 */
const CLOCK_TOLERANCE_MS = 10_000;

/** Runs until the signal ends it. Several relays may run side by side: what they write is the same. */
export async function runRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const quiet = new QuietCheckpoint(deps.broker);
  try {
    let position: Position | undefined = await deps.broker.checkpoint(CHECKPOINT);
    while (position !== undefined) position = await relayFrom(deps, position, quiet, signal);
  } finally {
    quiet.stop();
  }
}

/**
 * Goes on until other streams are to be read; returns where to begin with them. Undefined when the signal ended it.
 *
 * Orders and tables are read only while some webhook subscribes to them: the batches of a table cost nothing
 * otherwise. Nothing is missed by that. What the webhooks subscribed to at `after` is known when the streams are chosen, and
 * each later change stands in a `webhooks-` stream, which is always read. When one asks for other streams, the slice
 * that it came in is read again with those, and what was before that slice was before the subscription.
 */
async function relayFrom(
  deps: RelayDeps,
  after: Position,
  quiet: QuietCheckpoint,
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
      // Webhooks that were created before an event must be known here when it is relayed.
      await directory.waitFor(change.position);
      if (wantedStreams(directory).join() !== streamPrefixes.join()) return position;
    }
    await relay(deps, slice, sequence, quiet);
    position = slice.position;
  }
  return undefined;
}

const isAboutWebhook = ({ stream }: RecordedEvent): boolean => stream.startsWith(WEBHOOKS);

/** Where nobody has a webhook there are no deliveries, so reading them costs nothing. */
function wantedStreams(directory: TenantDirectory): readonly string[] {
  const kinds = [...directory.tenants()].flatMap(({ webhooks }) =>
    [...webhooks.values()].flatMap(({ events }) => events),
  );
  const prefixes = [WEBHOOKS, STREAM_PREFIXES.delivery];
  if (kinds.some((kind) => kind.startsWith('order.'))) prefixes.push(STREAM_PREFIXES.order);
  if (kinds.some((kind) => kind.startsWith('reference.'))) prefixes.push(STREAM_PREFIXES.table);
  return prefixes;
}

async function relay(
  { commands, broker }: RelayDeps,
  { events, position }: EventSlice,
  sequence: RequestSequence,
  quiet: QuietCheckpoint,
): Promise<void> {
  const requests = await sequence.requests(events, (event) => subscriptions(commands.directory, event));
  // Crash safety rests on the order of the steps. First the deliveries are in the log, then the messages that name them
  // are published, so no message names what is not there, nor anything that waits for what is not there. The checkpoint
  // moves with the last messages, so after a crash before that the slice is gone through again, which repeats nothing:
  // the ids are the same.
  await appendRequests(commands, requests, ({ id: causationId, metadata: { tenant, correlationId } }) => ({
    tenant,
    actor: RELAY,
    correlationId,
    causationId,
  }));
  const deliveries = [
    ...requests.map(({ tenant, deliveryId, subject: { webhookId, orderId } }) =>
      deliveryMessage({ tenant, deliveryId, webhookId, orderId }),
    ),
    ...events.flatMap(replayMessages),
  ];
  const tasks = events.flatMap(taskMessages);
  if (tasks.length > 0) await broker.publish(BACKFILL_QUEUE, tasks);
  if (deliveries.length + tasks.length === 0) quiet.passed(position);
  else await broker.publishWithCheckpoint(DELIVERY_QUEUE, deliveries, { name: CHECKPOINT, position });
}

/** The tenant's webhooks; each says what it wants. */
function subscriptions(directory: TenantDirectory, event: RecordedEvent): readonly Subscription[] {
  const { webhooks } = directory.tenant(event.metadata.tenant) ?? {};
  return [...(webhooks?.values() ?? [])].map((webhook) => ({
    webhookId: webhook.id,
    wants: (each, kind) => webhook.events.includes(kind) && isOfItsTime(webhook, each),
    deliveryId: (each, kind) => firstDeliveryId(webhook.id, each, kind),
  }));
}

const isOfItsTime = (webhook: Webhook, event: RecordedEvent): boolean =>
  Date.parse(webhook.createdAt) <= Date.parse(event.metadata.occurredAt) + CLOCK_TOLERANCE_MS;

/**
 * A replay was requested by a process that may have no broker. What the relay has requested itself has no purpose, so
 * nothing is published twice.
 */
function replayMessages({ stream, type, data }: RecordedEvent): readonly Message[] {
  if (type !== 'DeliveryRequested') return [];
  const { purpose, webhookId, orderId } = data as DeliverySubject;
  if (purpose === undefined) return [];
  const { tenant, rest: deliveryId } = parseStream(stream);
  return [deliveryMessage({ tenant, deliveryId, webhookId, orderId })];
}

/** What the replays of this service are to do because of an event of a webhook. */
function taskMessages({ id: eventId, position, metadata, ...recorded }: RecordedEvent): readonly Message[] {
  if (!recorded.stream.startsWith(WEBHOOKS)) return [];
  const { tenant, correlationId } = metadata;
  const event = { type: recorded.type, data: recorded.data } as WebhookEvent;
  const asked = { tenant, webhookId: event.data.id, eventId, position };
  if (event.type === 'WebhookEnabled') {
    const body: ResumeJob = { task: 'resume', ...asked };
    return [{ id: eventId, body }];
  }
  if (event.type === 'WebhookBackfillRequested') {
    const { backfillId, kinds, from, to } = event.data;
    const range = { backfillId, kinds: [...kinds], from, to };
    const body: BackfillJob = { task: 'backfill', ...asked, correlationId, ...range, done: 0, requested: 0 };
    return [{ id: backfillId, body }];
  }
  return [];
}

/**
 * Moves the checkpoint where nothing is published: not with each event, for that costs a write, and soon after the last
 * one, so that a start finds little to go through again.
 */
class QuietCheckpoint {
  readonly #broker: MessageBroker;
  #timer: NodeJS.Timeout | undefined;
  #position: Position = 0;

  constructor(broker: MessageBroker) {
    this.#broker = broker;
  }

  /** Everything up to here needs nothing more. */
  passed(position: Position): void {
    this.#position = position;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const checkpoint = { name: CHECKPOINT, position: this.#position };
      // A broker that is away is reported by whoever needs it; going on from an older checkpoint is harmless.
      this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, [], checkpoint).catch(() => undefined);
    }, QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
