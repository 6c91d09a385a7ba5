/** Which deliveries follow from events: to which webhook, under which id, and after which earlier delivery. */
import { v5 } from 'uuid';
import type { Caller, Commands } from '../commands/context.js';
import { type StreamReads, streamPages } from '../commands/logReads.js';
import { firstDeliveryId, requestDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import { parseStream } from '../domain/streams.js';
import { kindsOf, type WebhookEventKind } from '../domain/webhook/catalogue.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import type { Position, RecordedEvent } from '../ports/eventStore.js';
import type { Message } from '../ports/messageBroker.js';
import { deliveryMessage } from './queue.js';

/** Deliveries that are requested at once for one tenant. */
export const RELAYED_AT_ONCE = 200;

/** What one webhook is to be sent, by the relay or by a backfill. The answers for an event must never change. */
export type Subscription = {
  readonly webhookId: string;
  readonly kinds: readonly WebhookEventKind[];
  /** Of an event of these kinds. */
  readonly wants: (event: RecordedEvent, kind: WebhookEventKind) => boolean;
  readonly deliveryId: (event: RecordedEvent, kind: WebhookEventKind) => string;
  /** Set where people ask for it. */
  readonly request?: Pick<DeliverySubject, 'purpose'>;
};

export type DeliveryRequest = {
  readonly tenant: string;
  readonly deliveryId: string;
  readonly subject: DeliverySubject;
  readonly source: RecordedEvent;
};

/**
 * What the relay sends to a webhook: nothing from before it was created or subscribed to the kind, even if the relay starts
 * at the beginning of the log, and while it is disabled nothing of that time. That is requested when it is enabled.
 */
export const subscriptionOf = (webhook: Webhook): Subscription => ({
  webhookId: webhook.id,
  kinds: webhook.events,
  wants: ({ position }, kind) =>
    position > (webhook.wantedAfter[kind] ?? 0) && position <= (webhook.heldAfter ?? Number.POSITIVE_INFINITY),
  deliveryId: (event, kind) => firstDeliveryId(webhook.id, event, kind),
});

/** Events of an order that are read at once to find its latest delivery: mostly it is of one of the last. */
const EARLIER_EVENTS = 20;

const RELAY = { kind: 'system', id: 'webhook-relay' } as const;

/** On whose behalf the deliveries of an event are requested, if nobody asks for it. They are part of its trace. */
export function relayCaller(source: RecordedEvent): Caller {
  const { tenant, correlationId, traceparent } = source.metadata;
  return { tenant, actor: RELAY, correlationId, causationId: source.id, traceparent };
}

export function requestedMessage({ tenant, deliveryId, subject }: DeliveryRequest): Message {
  const { webhookId, orderId } = subject;
  return deliveryMessage({ tenant, deliveryId, webhookId, orderId });
}

/**
 * The requests for these events, in order within each stream. Each names the delivery before it for the same order and
 * webhook.
 * @param events of one tenant, in log order
 */
export async function requestsFor(
  eventStore: StreamReads,
  events: readonly RecordedEvent[],
  subscriptions: readonly Subscription[],
): Promise<readonly DeliveryRequest[]> {
  // Streams do not wait for each other's reads.
  const made = await Promise.all(
    [...grouped(events, ({ stream }) => stream).values()].map(async (ofStream) => {
      const requests: DeliveryRequest[] = [];
      const last: LastIds = new Map();
      for (const event of ofStream) {
        const wanting = subscriptions.filter((each) => wantedKinds(event, each).length > 0);
        await findEarlier(eventStore, event, wanting, last);
        for (const each of wanting) requests.push(...requestsOf(event, each, last));
      }
      return requests;
    }),
  );
  return made.flat();
}

export function grouped<Key, Each>(
  all: readonly Each[],
  keyOf: (each: Each) => Key,
): ReadonlyMap<Key, readonly Each[]> {
  const groups = new Map<Key, Each[]>();
  for (const each of all) {
    const group = groups.get(keyOf(each));
    if (group === undefined) groups.set(keyOf(each), [each]);
    else group.push(each);
  }
  return groups;
}

const wantedKinds = (event: RecordedEvent, subscription: Subscription): readonly WebhookEventKind[] =>
  kindsOf(event).filter((kind) => subscription.kinds.includes(kind) && subscription.wants(event, kind));

/** The streams, of the two that are given, that have events of these kinds. */
export const streamsOf = (kinds: readonly WebhookEventKind[], orders: string, tables: string): readonly string[] => [
  ...(kinds.some((kind) => kind.startsWith('order.')) ? [orders] : []),
  ...(kinds.some((kind) => kind.startsWith('reference.')) ? [tables] : []),
];

/** The latest delivery of an order, by webhook; undefined: there is none. */
type LastIds = Map<string, string | undefined>;

/** Ids follow from the events, so reading the order finds them: several relays, or a restarted one, find the same. */
async function findEarlier(
  eventStore: StreamReads,
  { stream, revision }: RecordedEvent,
  wanting: readonly Subscription[],
  last: LastIds,
): Promise<void> {
  if (parseStream(stream).category !== 'order') return;
  let unknown = wanting.filter(({ webhookId }) => !last.has(webhookId));
  const pages = streamPages(eventStore, stream, { to: revision - 1, eventsAPage: EARLIER_EVENTS, backwards: true });
  while (unknown.length > 0) {
    const { value: events } = await pages.next();
    if (events === undefined) break;
    for (const each of unknown) {
      const event = events.findLast((earlier) => wantedKinds(earlier, each).length > 0);
      const kind = event && wantedKinds(event, each).at(-1);
      if (event !== undefined && kind !== undefined) last.set(each.webhookId, each.deliveryId(event, kind));
    }
    unknown = unknown.filter(({ webhookId }) => !last.has(webhookId));
  }
  for (const { webhookId } of unknown) last.set(webhookId, undefined);
}

function requestsOf(event: RecordedEvent, subscription: Subscription, last: LastIds): readonly DeliveryRequest[] {
  const { webhookId, deliveryId, request } = subscription;
  const { category, tenant, rest } = parseStream(event.stream);
  const isOrder = category === 'order';
  const about = isOrder ? { orderId: rest } : { orderId: '', table: rest };
  const source = { sourceEventId: event.id, sourceRevision: event.revision };
  return wantedKinds(event, subscription).map((kind) => {
    const id = deliveryId(event, kind);
    // A resend has the webhook-id of the first delivery.
    const messageId = firstDeliveryId(webhookId, event, kind);
    const named = messageId === id ? {} : { messageId };
    const after = isOrder ? last.get(webhookId) : undefined;
    const sequence = after === undefined ? {} : { after };
    last.set(webhookId, id);
    const subject = { webhookId, kind, ...about, ...source, ...request, ...named, ...sequence };
    return { tenant, deliveryId: id, subject, source: event };
  });
}

/**
 * Appends the requests that the log does not have yet.
 * @returns position of the last one; 0 if an earlier release of the program has appended them all
 */
export async function appendRequests(
  commands: Commands,
  requests: readonly DeliveryRequest[],
  callerOf: (source: RecordedEvent) => Caller,
): Promise<Position> {
  const append = async ({ deliveryId, subject, source }: DeliveryRequest): Promise<Position> => {
    // The event id is always the same, so the log recognises an event that it has.
    const log = { ...commands, newId: () => v5('requested', deliveryId) };
    return (await requestDelivery(log, callerOf(source), deliveryId, subject))?.position ?? 0;
  };
  let last = 0;
  for (let from = 0; from < requests.length; from += RELAYED_AT_ONCE) {
    last = Math.max(last, ...(await Promise.all(requests.slice(from, from + RELAYED_AT_ONCE).map(append))));
  }
  return last;
}
