/** Loads an order from its stream. Big orders are cached, so that only new events are read. */
import { LRUCache } from 'lru-cache';
import { charactersOf } from '../../domain/jsonSize.js';
import { KEPT_EARLIER_ORDERS_CHARACTERS, KEPT_ORDERS_CHARACTERS } from '../../domain/limits.js';
import type { OrderApproved, OrderEvent } from '../../domain/order/events.js';
import type { Approval } from '../../domain/order/exportDocument.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import { copiedOnce } from '../../domain/writable.js';
import type { EventStore, EventToAppend, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { type PagesOf, type StreamReads, streamPages } from '../streamPages.js';
import type { Loaded } from '../writeStream.js';

/** An order with this many events, or characters in them, is cached: that costs less than reading it again for each change. */
const BIG_EVENTS = 100;
const BIG_CHARACTERS = 100_000;
/** What a field, a part or an order takes beside its text, in characters. */
const OVERHEAD = 16;

/** An order as it was after an event of its stream. */
type OrderAt = Loaded<Order> & {
  /** Id of that event. */
  readonly eventId: string;
  /** The last one up to that event. */
  readonly approval: Approval | undefined;
};

/** An order in a cache: the characters that it had when they were counted, and those of its events since. */
type KeptOrder = { readonly order: OrderAt; readonly counted: number; readonly since: number };

const orderCache = (maxSize: number) =>
  new LRUCache<string, KeptOrder>({ maxSize, sizeCalculation: ({ counted, since }) => counted + since });

type OrderLog = StreamReads & Pick<EventStore, 'erasures'>;

/** Reads orders of one log. Commands need orders as they are now, deliveries as they were: each has a cache of its own. */
export class OrderReader {
  readonly #eventStore: OrderLog;
  readonly #latest = orderCache(KEPT_ORDERS_CHARACTERS);
  readonly #earlier = orderCache(KEPT_EARLIER_ORDERS_CHARACTERS);

  #erasures = 0;

  constructor(eventStore: OrderLog) {
    this.#eventStore = eventStore;
  }

  /** What is erased since may be in kept orders. */
  #log(): OrderLog {
    const { count = 0 } = this.#eventStore.erasures ?? {};
    if (count !== this.#erasures) {
      this.#latest.clear();
      this.#earlier.clear();
    }
    this.#erasures = count;
    return this.#eventStore;
  }

  /** An order as it is now; undefined when there is none. @throws the cancellation's reason */
  load(tenant: string, orderId: string, cancellation?: Cancellation): Promise<OrderAt | undefined> {
    return load(this.#log(), this.#latest, orderStream(tenant, orderId), { cancellation });
  }

  /** An order as it was after the event of this revision; undefined when there was none. @throws the cancellation's reason */
  loadAt(
    tenant: string,
    orderId: string,
    revision: Revision,
    cancellation?: Cancellation,
  ): Promise<OrderAt | undefined> {
    return load(this.#log(), this.#earlier, orderStream(tenant, orderId), { to: revision, cancellation });
  }
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

async function load(
  eventStore: StreamReads,
  kept: LRUCache<string, KeptOrder>,
  stream: string,
  { to: toRevision = Number.MAX_SAFE_INTEGER, cancellation }: Pick<PagesOf, 'to' | 'cancellation'>,
): Promise<OrderAt | undefined> {
  const { order: newest, counted = 0, since = 0 } = kept.get(stream) ?? {};
  const known = newest !== undefined && newest.revision <= toRevision ? newest : undefined;
  if (known?.revision === toRevision) return known;
  const from = known === undefined ? 0 : known.revision + 1;
  let state = known?.state;
  let last: RecordedEvent | undefined;
  let approved: OrderApproved | undefined;
  let characters = 0;
  for await (const events of streamPages(eventStore, stream, { from, to: toRevision, cancellation })) {
    state = orderAfter(state, events);
    for (const { data } of events) characters += charactersOf(data);
    last = events.at(-1);
    const here = events.findLast(({ type }) => type === 'OrderApproved') as OrderApproved | undefined;
    approved = here ?? approved;
  }
  if (last === undefined) return known;
  if (state === undefined) return undefined;
  const loaded: OrderAt = {
    state,
    revision: last.revision,
    lastEventAt: last.metadata.occurredAt,
    eventId: last.id,
    approval: approved === undefined ? known?.approval : approvalOf(approved),
  };
  // Caching an older state, for a delivery that is retried, would make the next load start from the beginning.
  const isBig = known !== undefined || loaded.revision >= BIG_EVENTS || characters >= BIG_CHARACTERS;
  if (isBig && loaded.revision > (newest?.revision ?? -1)) {
    const grown = since + characters;
    // To count a large order takes milliseconds. Its events say enough until they are many.
    kept.set(
      stream,
      known !== undefined && grown < counted / 4
        ? { order: loaded, counted, since: grown }
        : { order: loaded, counted: charactersIn(state), since: 0 },
    );
  }
  return loaded;
}

/** Without the snapshot, which contains the whole order. */
const approvalOf = ({ data: { approvedAt, approver } }: OrderApproved): Approval => ({ approvedAt, approver });

function charactersIn({ fields, parts }: Order): number {
  let characters = OVERHEAD;
  for (const each of [{ fields }, ...parts.values()]) {
    for (const value of Object.values(each.fields)) {
      characters += OVERHEAD + (typeof value === 'object' ? JSON.stringify(value).length : String(value).length);
    }
  }
  return characters;
}
