/** Loads an order from its stream. */
import type { OrderEvent } from '../../domain/order/events.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventToAppend, Position, Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { type StreamReads, streamPages } from '../streamPages.js';
import type { Loaded } from '../writeStream.js';

/** An order as it was after an event of its stream, with the id of that event. */
type OrderAt = Loaded<Order> & { readonly eventId: string };

type Until = {
  readonly to?: Revision;
  readonly position?: Position | undefined;
  readonly cancellation?: Cancellation | undefined;
};

/**
 * An order as it is, or was after an event; undefined when there is or was none.
 * @param until revision or position of the last event, all of them by default @throws the cancellation's reason
 */
export async function loadOrder(
  eventStore: StreamReads,
  tenant: string,
  orderId: string,
  { position = Number.MAX_SAFE_INTEGER, ...until }: Until = {},
): Promise<OrderAt | undefined> {
  let loaded: OrderAt | undefined;
  for await (const page of streamPages(eventStore, orderStream(tenant, orderId), until)) {
    const events = page.filter((event) => event.position <= position);
    const state = orderAfter(loaded?.state, events);
    const last = events.at(-1);
    if (state === undefined || last === undefined) continue;
    loaded = { state, revision: last.revision, lastEventAt: last.metadata.occurredAt, eventId: last.id };
  }
  return loaded;
}

/** An order after these further events of its stream; undefined when there is none. */
export const orderAfter = (before: Order | undefined, events: readonly EventToAppend[]): Order | undefined =>
  events.reduce<Order | undefined>(
    (order, { id, type, data, metadata }) =>
      evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt }),
    before,
  );
