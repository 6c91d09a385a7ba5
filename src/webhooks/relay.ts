/**
 * Turns events of the log into deliveries: one for each event, kind and subscribed webhook. Also publishes work that the
 * log requests: resends and backfills, and deliveries that waited for a webhook that was enabled again.
 *
 * The log is read once, slice by slice. Events of a tenant that have very many deliveries are left to a job (ranges.ts), so
 * that no other tenant waits for them. Deliveries of an order keep their sequence all the same: each names the one before.
 * When the log was put back to an older copy, or replaced, the relay sends all its events once more, under the same ids.
 */
import type { Commands, TenantDirectory } from '../commands/context.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import { kindsOf } from '../domain/webhook/catalogue.js';
import type { DeliverySubject, WebhookEvent } from '../domain/webhook/events.js';
import type { EventPosition, Position, RecordedEvent } from '../ports/eventStore.js';
import { isSameLog, type LogAnchor } from '../ports/logAnchor.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import {
  appendRequests,
  type DeliveryRequest,
  grouped,
  relayCaller,
  requestedMessage,
  requestsFor,
  streamsOf,
  subscriptionOf,
} from './deliveryRequests.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE, deliveryMessage, rangeMessage } from './queue.js';

/** Deliveries of one tenant that other tenants wait for when their events are relayed; more are requested apart. */
const RELAYED_OF_TENANT = 1_000;

export type RelayDeps = {
  readonly commands: Commands;
  readonly broker: MessageBroker;
  /** Accepts a log other than the checkpoint's, and starts over on it. Default false: it is an error. */
  readonly acceptLog?: boolean;
};

/** Approvals hold whole orders, so a slice is small. With fewer events, the writes at its end would dominate. */
const SLICE_EVENTS = 250;
/** A write for each event would cost more than relaying some again, whose ids are the same. */
const STORE_EVERY_MS = 200;
/** The name is from the time when the relay knew approvals only. */
const CHECKPOINT = 'approval-relay';

/** The relay's checkpoint; position 0 if it never ran. */
export const relayedAnchor = (broker: MessageBroker): Promise<LogAnchor> => broker.checkpoint(CHECKPOINT);

/**
 * Runs until the signal ends it. Two relays may run side by side for a moment: their writes are the same.
 * @throws OtherLogError
 */
export async function runRelay(deps: RelayDeps, signal: AbortSignal): Promise<void> {
  const { commands, broker, acceptLog = false } = deps;
  const log = await commands.eventStore.identity();
  const kept = await relayedAnchor(broker);
  const isSame = await isSameLog(commands.eventStore, kept, { whose: 'The webhook jobs', acceptLog });
  let { position } = isSame ? kept : { position: 0 };
  let relayed: EventPosition | undefined;
  /** An outage of the broker is reported by its other users. */
  const store = async (): Promise<void> => {
    if (relayed === undefined) return;
    const { position, eventId } = relayed;
    relayed = undefined;
    await broker.storeCheckpoint(CHECKPOINT, { log, position, eventId }).catch(() => undefined);
  };
  const storing = setInterval(() => void store(), STORE_EVERY_MS);
  try {
    while (!signal.aborted) {
      position = await relayFrom(deps, position, signal, (place) => {
        relayed = place;
      });
    }
  } finally {
    clearInterval(storing);
    await store();
  }
}

/**
 * Relays until the signal ends it, or other streams have to be read. Returns the position to continue from with those.
 *
 * Orders and tables are read only while some webhook subscribes to them, so that unwanted batches of a table cost
 * nothing. Nothing is missed: the subscriptions at `after` are known when the streams are chosen, and each later change
 * is in a `webhooks-` stream, which is always read. When a change needs other streams, its slice is read again with
 * those; events before that slice are older than the subscription.
 * @param relayed is told up to where everything is relayed
 */
async function relayFrom(
  deps: RelayDeps,
  after: Position,
  signal: AbortSignal,
  relayed: (place: EventPosition) => void,
): Promise<Position> {
  const { eventStore, directory } = deps.commands;
  await directory.waitFor(after);
  const streamPrefixes = wantedStreams(directory);
  let done = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount: SLICE_EVENTS, signal })) {
    const change = slice.events.findLast(({ stream }) => stream.startsWith(WEBHOOKS));
    if (change !== undefined) {
      // A webhook that was created before an event must be known here when the event is relayed.
      await directory.waitFor(change.position);
      if (wantedStreams(directory).join() !== streamPrefixes.join()) return done;
    }
    await publishWork(deps.broker, slice.events.flatMap(resendMessages), slice.events.flatMap(taskMessages));
    const wanted = slice.events.filter((event) => kindsOf(event).length > 0);
    const tenants = [...grouped(wanted, ({ stream }) => parseStream(stream).tenant)];
    await Promise.all(tenants.map(([tenant, events]) => relayTenant(deps, tenant, events, done)));
    done = slice.position;
    relayed(slice);
  }
  return done;
}

/** @param done position before the slice of these events */
async function relayTenant(
  deps: RelayDeps,
  tenant: string,
  events: readonly RecordedEvent[],
  done: Position,
): Promise<void> {
  const { directory, eventStore } = deps.commands;
  const webhooks = [...(directory.tenant(tenant)?.webhooks.values() ?? [])];
  const enabled = webhooks.filter(({ disabled }) => disabled === undefined).length;
  const position = events.at(-1)?.position ?? done;
  if (events.length > 1 && events.length * enabled > RELAYED_OF_TENANT)
    await publishWork(deps.broker, [], [rangeMessage({ task: 'relay', tenant, position, done })]);
  else await relayRequests(deps, await requestsFor(eventStore, events, webhooks.map(subscriptionOf)));
}

/**
 * Crash safety rests on this order. First the deliveries are appended, then the messages that name them are published, so
 * no message names a delivery that is missing, or one that waits for a missing one. The checkpoint moves after that. What a
 * crash makes the relay do again repeats nothing: the ids are the same.
 * @returns position of the last request; 0 if there is none
 */
export async function relayRequests(
  { commands, broker }: RelayDeps,
  requests: readonly DeliveryRequest[],
): Promise<Position> {
  const last = await appendRequests(commands, requests, relayCaller);
  await publishWork(broker, requests.map(requestedMessage));
  return last;
}

/** @param deliveries that are due @param tasks on ranges of the log */
export async function publishWork(
  broker: MessageBroker,
  deliveries: readonly Message[],
  tasks: readonly Message[] = [],
): Promise<void> {
  if (tasks.length > 0) await broker.publish(BACKFILL_QUEUE, tasks);
  if (deliveries.length > 0) await broker.publish(DELIVERY_QUEUE, deliveries);
}

// What events mean to the relay: which streams it reads, and which messages follow.

const WEBHOOKS = 'webhooks-';

/** Streams that some webhook needs: without webhooks, reading the log costs nothing. */
function wantedStreams(directory: TenantDirectory): readonly string[] {
  const webhooks = [...directory.tenants()].flatMap((tenant) => [...tenant.webhooks.values()]);
  const kinds = webhooks.flatMap(({ events }) => events);
  return [WEBHOOKS, STREAM_PREFIXES.delivery, ...streamsOf(kinds, STREAM_PREFIXES.order, STREAM_PREFIXES.table)];
}

/**
 * The message for a resend or backfill, which may have been requested by a process without a broker. The relay's own requests have no
 * purpose, so nothing is published twice.
 */
function resendMessages({ stream, type, data }: RecordedEvent): readonly Message[] {
  if (type !== 'DeliveryRequested') return [];
  const { purpose, webhookId, orderId } = (data ?? {}) as DeliverySubject;
  const { tenant, rest: deliveryId } = parseStream(stream);
  return purpose === undefined ? [] : [deliveryMessage({ tenant, deliveryId, webhookId, orderId })];
}

/** Work that a webhook's event requests. */
function taskMessages({ id: eventId, stream, type, data, position, metadata }: RecordedEvent): readonly Message[] {
  if (!stream.startsWith(WEBHOOKS)) return [];
  const { tenant, correlationId } = metadata;
  const event = { type, data: data ?? {} } as WebhookEvent;
  const { id: webhookId } = event.data;
  const asked = { tenant, webhookId, eventId, position };
  if (event.type === 'WebhookEnabled') return [rangeMessage({ task: 'resume', ...asked })];
  if (event.type !== 'WebhookBackfillRequested') return [];
  const { backfillId, kinds, from, to, failedOnly } = event.data;
  return [
    rangeMessage({ task: 'backfill', ...asked, correlationId, backfillId, kinds, from, to, failedOnly, done: 0 }),
  ];
}
