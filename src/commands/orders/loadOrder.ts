/** An order as its stream tells it. Of big orders only what is new is read: the rest is known from the time before. */
import { LRUCache } from 'lru-cache';
import type { OrderEvent } from '../../domain/order/events.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import { copiedOnce } from '../../domain/writable.js';
import type { EventStore, EventToAppend } from '../../ports/eventStore.js';
import type { Loaded } from '../writeStream.js';

/** From so many events on to keep an order costs less than to read it again with each of its changes. */
const BIG_EVENTS = 100;
/** Characters of text in all orders that are kept. */
const MAX_KEPT_CHARACTERS = 16_000_000;
/** What a field, a part or an order takes beside its texts, in characters. */
const OVERHEAD = 16;

type EventReads = Pick<EventStore, 'readStream'>;

const keptOrders = new WeakMap<EventReads, LRUCache<string, Loaded<Order>>>();

function keptOf(eventStore: EventReads): LRUCache<string, Loaded<Order>> {
  let kept = keptOrders.get(eventStore);
  if (kept === undefined) {
    kept = new LRUCache({ maxSize: MAX_KEPT_CHARACTERS, sizeCalculation: ({ state }) => charactersOf(state) });
    keptOrders.set(eventStore, kept);
  }
  return kept;
}

/** An order after these events of its stream as well; undefined where there is none. */
export function orderAfter(before: Order | undefined, events: readonly EventToAppend[]): Order | undefined {
  const writable = copiedOnce();
  return events.reduce<Order | undefined>(
    (order, { id, type, data, metadata }) =>
      evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt }, writable),
    before,
  );
}

/** An order as its whole stream tells it, whoever has written to it; undefined when there is none. */
export async function loadOrder(
  eventStore: EventReads,
  tenant: string,
  orderId: string,
): Promise<Loaded<Order> | undefined> {
  const stream = orderStream(tenant, orderId);
  const kept = keptOf(eventStore);
  const known = kept.get(stream);
  const events = await eventStore.readStream(stream, known === undefined ? 0 : known.revision + 1);
  const last = events.at(-1);
  if (last === undefined) return known;
  const state = orderAfter(known?.state, events);
  if (state === undefined) return undefined;
  const loaded = { state, revision: last.revision, lastEventAt: last.metadata.occurredAt };
  if (last.revision >= BIG_EVENTS) kept.set(stream, loaded);
  return loaded;
}

function charactersOf({ fields, parts }: Order): number {
  let characters = OVERHEAD;
  for (const each of [{ fields }, ...parts.values()]) {
    for (const value of Object.values(each.fields)) {
      characters += OVERHEAD + (typeof value === 'object' ? JSON.stringify(value).length : String(value).length);
    }
  }
  return characters;
}
