/** Loads an order from its stream. Long ones are kept, so that a change reads only what is new. */
import { LRUCache } from 'lru-cache';
import { charactersOf } from '../../domain/jsonSize.js';
import type { OrderApproved, OrderEvent } from '../../domain/order/events.js';
import type { Approval } from '../../domain/order/exportDocument.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import { copiedOnce } from '../../domain/writable.js';
import type { EventStore, EventToAppend, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { type StreamReads, streamPages } from '../streamPages.js';
import type { Loaded } from '../writeStream.js';

/** Characters of the events of long orders that a process keeps, so that a change reads only what is new. */
const KEPT_ORDERS_CHARACTERS = 32_000_000;

/** Characters of an order's events from which it is kept: that costs less than reading them again for each change. */
const LONG_CHARACTERS = 50_000;

/** An order as it was after an event of its stream. */
type OrderAt = Loaded<Order> & {
  /** Id of that event. */
  readonly eventId: string;
  /** The last one up to that event, without its snapshot, which contains the whole order. */
  readonly approval: Approval | undefined;
  /** Of all events up to that one. */
  readonly characters: number;
};

type OrderLog = StreamReads & Pick<EventStore, 'erasures'>;

/** Reads orders of one log. */
export class OrderReader {
  readonly #eventStore: OrderLog;
  readonly #kept = new LRUCache<string, OrderAt>({
    maxSize: KEPT_ORDERS_CHARACTERS,
    sizeCalculation: ({ characters }) => characters,
  });
  #erasures = 0;

  constructor(eventStore: OrderLog) {
    this.#eventStore = eventStore;
  }

  /** An order as it is now; undefined when there is none. @throws the cancellation's reason */
  load(tenant: string, orderId: string, cancellation?: Cancellation): Promise<OrderAt | undefined> {
    return this.loadAt(tenant, orderId, undefined, cancellation);
  }

  /**
   * An order as it was after the event of this revision; undefined when there was none.
   * @param revision undefined: as it is now
   * @throws the cancellation's reason
   */
  async loadAt(
    tenant: string,
    orderId: string,
    revision: Revision | undefined,
    cancellation?: Cancellation,
  ): Promise<OrderAt | undefined> {
    // What is erased since may be in kept orders.
    const { count = 0 } = this.#eventStore.erasures ?? {};
    if (count !== this.#erasures) this.#kept.clear();
    this.#erasures = count;

    const stream = orderStream(tenant, orderId);
    const kept = this.#kept.get(stream);
    const known = revision === undefined || (kept !== undefined && kept.revision <= revision) ? kept : undefined;
    let loaded = known;
    const pages = { from: (known?.revision ?? -1) + 1, to: revision, cancellation };
    for await (const events of streamPages(this.#eventStore, stream, pages)) loaded = after(loaded, events);
    if (loaded !== undefined && revision === undefined && loaded.characters >= LONG_CHARACTERS)
      this.#kept.set(stream, loaded);
    return loaded;
  }
}

function after(before: OrderAt | undefined, events: readonly RecordedEvent[]): OrderAt | undefined {
  const state = orderAfter(before?.state, events);
  const last = events.at(-1);
  if (state === undefined || last === undefined) return before;
  const approved = events.findLast(({ type }) => type === 'OrderApproved') as OrderApproved | undefined;
  return {
    state,
    revision: last.revision,
    lastEventAt: last.metadata.occurredAt,
    eventId: last.id,
    approval:
      approved === undefined
        ? before?.approval
        : { approvedAt: approved.data.approvedAt, approver: approved.data.approver },
    characters: events.reduce((sum, { data }) => sum + charactersOf(data), before?.characters ?? 0),
  };
}

/** An order after these further events of its stream; undefined when there is none. */
export function orderAfter(
  before: Order | undefined,
  events: readonly (EventToAppend & Partial<Pick<RecordedEvent, 'position'>>)[],
): Order | undefined {
  const writable = copiedOnce();
  return events.reduce<Order | undefined>(
    (order, { id, type, data, metadata, position }) =>
      evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt, position }, writable),
    before,
  );
}
