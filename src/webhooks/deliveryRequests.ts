/** Which deliveries follow from events: to which webhook, under which id, and after which earlier delivery. */
import { LRUCache } from 'lru-cache';
import { v5 } from 'uuid';
import type { Caller, Commands } from '../commands/context.js';
import { streamPagesBackwards } from '../commands/streamPages.js';
import { messageIdOf } from '../commands/webhooks/deliveryIds.js';
import { requestDelivery } from '../commands/webhooks/deliveryStream.js';
import { parseStream } from '../domain/streams.js';
import { type DeliverySubject, kindsOf, type WebhookEventKind } from '../domain/webhook/events.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type { DeliveryCache } from './deliveryCache.js';

/** What one webhook is to be sent, by the relay or by a backfill. The answers for an event must never change. */
export type Subscription = {
  readonly webhookId: string;
  readonly wants: (event: RecordedEvent, kind: WebhookEventKind) => boolean;
  readonly deliveryId: (event: RecordedEvent, kind: WebhookEventKind) => string;
  /** Set for replays. */
  readonly replay?: Pick<DeliverySubject, 'purpose'>;
};

export type DeliveryRequest = {
  readonly tenant: string;
  readonly deliveryId: string;
  readonly subject: DeliverySubject;
  readonly source: RecordedEvent;
};

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
  const appended = await Promise.all(
    requests.map(async ({ deliveryId, subject, source }) => {
      // The event id is always the same, so the log recognises an event that it has.
      const log = { ...commands, newId: () => v5('requested', deliveryId) };
      const requested = await requestDelivery(log, callerOf(source), deliveryId, subject);
      if (requested !== undefined) cache.keepRequested(requested);
      return requested;
    }),
  );
  return Math.max(0, ...appended.map((each) => each?.position ?? 0));
}
