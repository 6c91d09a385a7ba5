/** Which deliveries follow from events: to which webhook, under which id, and after which earlier delivery. */
import { LRUCache } from 'lru-cache';
import { v5 } from 'uuid';
import type { Caller, Commands } from '../commands/context.js';
import { streamPagesBackwards } from '../commands/streamPages.js';
import { firstDeliveryId, messageIdOf } from '../commands/webhooks/deliveryIds.js';
import { type LoadedDelivery, requestDelivery } from '../commands/webhooks/deliveryStream.js';
import { type Webhook, wantedAfter } from '../domain/identity/directory.js';
import { RELAYED_AT_ONCE } from '../domain/limits.js';
import { orderStream, parseStream } from '../domain/streams.js';
import { type DeliverySubject, kindsOf, type WebhookEventKind } from '../domain/webhook/events.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type { Message } from '../ports/messageBroker.js';
import { Pauses } from '../supervision/waiting.js';
import type { DeliveryCache } from './deliveryCache.js';
import { deliveryMessage, type NamedDelivery } from './queue.js';

/** What one webhook is to be sent, by the relay or by a backfill. The answers for an event must never change. */
export type Subscription = {
  readonly webhookId: string;
  readonly wants: (event: RecordedEvent, kind: WebhookEventKind) => boolean;
  readonly deliveryId: (event: RecordedEvent, kind: WebhookEventKind) => string;
  /** Whether nothing is requested for the event now. It is requested later, in its place of the sequence. */
  readonly isHeld?: (event: RecordedEvent) => boolean;
  /** Set for replays. */
  readonly replay?: Pick<DeliverySubject, 'purpose'>;
};

export type DeliveryRequest = {
  readonly tenant: string;
  readonly deliveryId: string;
  readonly subject: DeliverySubject;
  readonly source: RecordedEvent;
};

/** What the relay sends to a webhook. */
export const subscriptionOf = (webhook: Webhook): Subscription => ({
  webhookId: webhook.id,
  wants: (event, kind) => webhook.events.includes(kind) && isWantedSince(webhook, event, kind),
  deliveryId: (event, kind) => firstDeliveryId(webhook.id, event, kind),
  isHeld: ({ position }) => position > (webhook.heldAfter ?? Number.POSITIVE_INFINITY),
});

/**
 * A webhook gets no events from before it was created or subscribed to their kind, even if the relay starts at the
 * beginning of the log (another broker, an older copy of the log).
 */
const isWantedSince = (webhook: Webhook, event: RecordedEvent, kind: WebhookEventKind): boolean =>
  event.position > wantedAfter(webhook, kind);

const RELAY = { kind: 'system', id: 'webhook-relay' } as const;

/**
 * On whose behalf the deliveries of an event are requested, if not by a replay.
 * @param traceparent of the relay's span for the event
 */
export const relayCaller = (
  { id: causationId, metadata: { tenant, correlationId } }: RecordedEvent,
  traceparent?: string,
): Caller => ({ tenant, actor: RELAY, correlationId, causationId, traceparent });

export const jobOf = ({ tenant, deliveryId, subject }: DeliveryRequest): NamedDelivery => {
  const { webhookId, orderId } = subject;
  return { tenant, deliveryId, webhookId, orderId };
};

export const requestedMessage = (request: DeliveryRequest): Message => deliveryMessage(jobOf(request));

/** In place of a delivery id. */
const NONE = '';

/**
 * Turns events into requests. Each names the delivery before it for the same order and webhook. For one pass through
 * the log: events arrive in log order, each once.
 */
export class RequestSequence {
  readonly #eventStore: Pick<EventStore, 'readSlice'>;
  /** Id of the last delivery, by webhook and order; NONE where it is known that there is none. */
  readonly #last: LRUCache<string, string>;

  /** @param remembered number of orders, per webhook, that need not be read again */
  constructor(eventStore: Pick<EventStore, 'readSlice'>, remembered: number) {
    this.#eventStore = eventStore;
    this.#last = new LRUCache({ max: remembered });
  }

  /** The requests for these events, in order within each stream. */
  async requests(
    events: readonly RecordedEvent[],
    subscriptionsTo: (event: RecordedEvent) => readonly Subscription[],
  ): Promise<readonly DeliveryRequest[]> {
    const streams = new Map<string, RecordedEvent[]>();
    for (const event of events) {
      if (kindsOf(event).length > 0) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
    }
    // Streams do not wait for each other's reads.
    const requests = await Promise.all(
      [...streams.values()].map(async (ofStream) => {
        const made: DeliveryRequest[] = [];
        for (const event of ofStream) {
          for (const each of subscriptionsTo(event)) made.push(...(await this.#requestsOf(event, each)));
        }
        return made;
      }),
    );
    return requests.flat();
  }

  async #requestsOf(event: RecordedEvent, subscription: Subscription): Promise<readonly DeliveryRequest[]> {
    if (subscription.isHeld?.(event) === true) {
      this.#last.delete(sequenceKey(event, subscription));
      return [];
    }
    const kinds = wantedKinds(event, subscription);
    const { webhookId, deliveryId, replay } = subscription;
    const { category, tenant, rest } = parseStream(event.stream);
    const isOrder = category === 'order';
    if (isOrder && event.revision === 0) this.#last.set(sequenceKey(event, subscription), NONE);
    if (kinds.length === 0) return [];
    const about = isOrder ? { orderId: rest } : { orderId: '', table: rest };
    const source = { sourceEventId: event.id, sourceRevision: event.revision };
    let after = isOrder ? await this.#before(event, subscription) : undefined;
    const requests = kinds.map((kind): DeliveryRequest => {
      const sequence = after === undefined ? {} : { after };
      const id = deliveryId(event, kind);
      const message = messageIdOf(webhookId, event, kind);
      const named = message === id ? {} : { messageId: message };
      const subject = { webhookId, kind, ...about, ...source, ...replay, ...named, ...sequence };
      if (isOrder) after = id;
      return { tenant, deliveryId: id, subject, source: event };
    });
    if (after !== undefined) this.#last.set(sequenceKey(event, subscription), after);
    return requests;
  }

  /**
   * Id of the delivery before this event's. Ids follow from the events, so an id that is not remembered is found by
   * reading the order: several relays, or a restarted one, find the same id.
   */
  async #before(event: RecordedEvent, subscription: Subscription): Promise<string | undefined> {
    const known = this.#last.get(sequenceKey(event, subscription));
    if (known !== undefined) return known === NONE ? undefined : known;
    for await (const earlier of streamPagesBackwards(this.#eventStore, event.stream, { to: event.revision - 1 })) {
      const previous = earlier.findLast((each) => wantedKinds(each, subscription).length > 0);
      const kind = previous === undefined ? undefined : wantedKinds(previous, subscription).at(-1);
      if (previous !== undefined && kind !== undefined) return subscription.deliveryId(previous, kind);
    }
    return undefined;
  }
}

const sequenceKey = (event: RecordedEvent, { webhookId }: Subscription): string => `${webhookId} ${event.stream}`;

const wantedKinds = (event: RecordedEvent, subscription: Subscription): readonly WebhookEventKind[] =>
  kindsOf(event).filter((kind) => subscription.wants(event, kind));

/**
 * Appends the requests that the log does not have yet.
 * @returns position of the last one; 0 if an earlier release of the program has appended them all
 */
export async function appendRequests(
  commands: Pick<Commands, 'eventStore' | 'now'>,
  cache: DeliveryCache,
  requests: readonly DeliveryRequest[],
  callerOf: (source: RecordedEvent) => Caller,
): Promise<Position> {
  const append = async ({ deliveryId, subject, source }: DeliveryRequest): Promise<Position> => {
    // The event id is always the same, so the log recognises an event that it has.
    const log = { ...commands, newId: () => v5('requested', deliveryId) };
    const requested = await requestDelivery(log, callerOf(source), deliveryId, subject);
    if (requested !== undefined) cache.keepRequested(requested);
    return requested?.position ?? 0;
  };
  const pauses = new Pauses();
  let last = 0;
  for (let from = 0; from < requests.length; from += RELAYED_AT_ONCE) {
    const appended: Promise<Position>[] = [];
    for (const request of requests.slice(from, from + RELAYED_AT_ONCE)) {
      const position = append(request);
      // It may fail before it is awaited.
      position.catch(() => undefined);
      appended.push(position);
      if (pauses.isDue()) await pauses.take();
    }
    last = Math.max(last, ...(await Promise.all(appended)));
  }
  return last;
}

/**
 * Requests the delivery that has to be over before this one, if the log lacks it: its event happened while the webhook was
 * disabled, and its turn among those that are requested since has not come.
 * @returns the message that it is due; undefined if it is not to be made
 */
export async function requestBefore(
  commands: Pick<Commands, 'eventStore' | 'now'>,
  cache: DeliveryCache,
  webhook: Webhook,
  { tenant, delivery: { subject } }: LoadedDelivery,
): Promise<Message | undefined> {
  const { after, orderId, sourceRevision, purpose } = subject;
  if (after === undefined || purpose !== undefined) return undefined;
  const subscription = subscriptionOf(webhook);
  const isBefore = (event: RecordedEvent): boolean =>
    kindsOf(event).some((kind) => subscription.deliveryId(event, kind) === after);
  for await (const events of streamPagesBackwards(commands.eventStore, orderStream(tenant, orderId), {
    to: sourceRevision,
  })) {
    const event = events.findLast(isBefore);
    if (event === undefined) continue;
    const requests = await new RequestSequence(commands.eventStore, 1).requests([event], () => [subscription]);
    const request = requests.find(({ deliveryId }) => deliveryId === after);
    if (request === undefined) return undefined;
    await appendRequests(commands, cache, requests, relayCaller);
    return requestedMessage(request);
  }
  return undefined;
}
