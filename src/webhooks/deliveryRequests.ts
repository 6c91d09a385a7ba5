/** Requests of deliveries in the log: by whom a webhook is told of an event, under which id, and after what. */
import { LRUCache } from 'lru-cache';
import { v5 } from 'uuid';
import type { Caller, Commands } from '../commands/context.js';
import { requestDelivery } from '../commands/webhooks/requestDelivery.js';
import { parseStream } from '../domain/streams.js';
import type { DeliverySubject, WebhookEventKind } from '../domain/webhook/events.js';
import { kindsOf } from '../domain/webhook/kinds.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';

/** What one webhook is told of. The same event must have the same answers each time. */
export type Telling = {
  readonly webhookId: string;
  readonly wants: (event: RecordedEvent, kind: WebhookEventKind) => boolean;
  readonly deliveryId: (event: RecordedEvent, kind: WebhookEventKind) => string;
  /** Of a replay: what its deliveries have beside the others. */
  readonly replay?: (event: RecordedEvent, kind: WebhookEventKind) => Pick<DeliverySubject, 'purpose' | 'messageId'>;
};

export type DeliveryRequest = {
  readonly tenant: string;
  readonly deliveryId: string;
  readonly subject: DeliverySubject;
  readonly source: RecordedEvent;
};

/** Id of the delivery that an event itself leads to: whoever goes through the log again finds it taken. */
export const firstDeliveryId = (webhookId: string, event: RecordedEvent, kind: WebhookEventKind): string =>
  // Approvals came first, when there was no other kind.
  v5(kind === 'order.approved' ? event.id : `${kind} ${event.id}`, webhookId);

/**
 * Turns events into requests, each naming the one before it about the same order to the same webhook. For one pass
 * through the log: events come in log order and none comes twice.
 */
export class RequestSequence {
  readonly #eventStore: Pick<EventStore, 'readStream'>;
  /** Id of the last delivery, by webhook and order. */
  readonly #last: LRUCache<string, string>;

  /** @param remembered how many orders, for each webhook, need not be read again */
  constructor(eventStore: Pick<EventStore, 'readStream'>, remembered: number) {
    this.#eventStore = eventStore;
    this.#last = new LRUCache({ max: remembered });
  }

  /** Requests for the events, in order for each order. @param tellings who is told of an event */
  async requests(
    events: readonly RecordedEvent[],
    tellings: (event: RecordedEvent) => readonly Telling[],
  ): Promise<readonly DeliveryRequest[]> {
    const streams = new Map<string, RecordedEvent[]>();
    for (const event of events) {
      if (kindsOf(event).length === 0) continue;
      const others = streams.get(event.stream);
      if (others === undefined) streams.set(event.stream, [event]);
      else others.push(event);
    }
    // Streams do not wait for each other's reads.
    const requests = await Promise.all(
      [...streams.values()].map(async (ofStream) => {
        const made: DeliveryRequest[] = [];
        for (const event of ofStream) {
          const earlier = earlierThan(this.#eventStore, event);
          for (const telling of tellings(event)) made.push(...(await this.#requestsOf(event, telling, earlier)));
        }
        return made;
      }),
    );
    return requests.flat();
  }

  async #requestsOf(
    event: RecordedEvent,
    telling: Telling,
    earlier: () => Promise<Events>,
  ): Promise<readonly DeliveryRequest[]> {
    const kinds = wantedKinds(event, telling);
    if (kinds.length === 0) return [];
    const { category, tenant, rest } = parseStream(event.stream);
    const about = category === 'order' ? { orderId: rest } : { orderId: '', table: rest };
    const { webhookId } = telling;
    let after = category === 'order' ? await this.#before(event, telling, earlier) : undefined;
    const requests: DeliveryRequest[] = [];
    for (const kind of kinds) {
      const source = { sourceEventId: event.id, sourceRevision: event.revision };
      const sequence = after === undefined ? {} : { after };
      const subject = { webhookId, kind, ...about, ...source, ...telling.replay?.(event, kind), ...sequence };
      const deliveryId = telling.deliveryId(event, kind);
      requests.push({ tenant, deliveryId, subject, source: event });
      if (category === 'order') after = deliveryId;
    }
    if (after !== undefined) this.#last.set(sequenceKey(event, telling), after);
    return requests;
  }

  /**
   * Id of the delivery before those of this event. Ids follow from the events, so what is not remembered is read from
   * the order: several relays, and one that has started anew, come to the same.
   */
  async #before(event: RecordedEvent, telling: Telling, earlier: () => Promise<Events>): Promise<string | undefined> {
    const known = this.#last.get(sequenceKey(event, telling));
    if (known !== undefined || event.revision === 0) return known;
    const previous = (await earlier()).findLast((each) => wantedKinds(each, telling).length > 0);
    const kind = previous === undefined ? undefined : wantedKinds(previous, telling).at(-1);
    return previous === undefined || kind === undefined ? undefined : telling.deliveryId(previous, kind);
  }
}

type Events = readonly RecordedEvent[];

/** What is before an event in its stream; read at most once for all webhooks, and only when one of them asks. */
function earlierThan(eventStore: Pick<EventStore, 'readStream'>, event: RecordedEvent): () => Promise<Events> {
  let reading: Promise<Events> | undefined;
  return () => {
    reading ??= eventStore.readStream(event.stream, 0, event.revision - 1);
    return reading;
  };
}

const sequenceKey = (event: RecordedEvent, { webhookId }: Telling): string => `${webhookId} ${event.stream}`;

const wantedKinds = (event: RecordedEvent, telling: Telling): readonly WebhookEventKind[] =>
  kindsOf(event).filter((kind) => telling.wants(event, kind));

/** Records the request, or finds it recorded. @returns its position; 0 when an earlier version has recorded it */
export async function record(
  commands: Pick<Commands, 'eventStore' | 'now'>,
  caller: Caller,
  { deliveryId, subject }: DeliveryRequest,
): Promise<Position> {
  const sameEachTime = { ...commands, newId: () => v5('requested', deliveryId) };
  return (await requestDelivery(sameEachTime, caller, deliveryId, subject))?.position ?? 0;
}
