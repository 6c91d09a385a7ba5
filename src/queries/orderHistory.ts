/** The history of an order: its stream in the log, told entry by entry, the oldest first. */
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_ENTRIES } from '../domain/limits.js';
import { type OrderEvent, toldAs } from '../domain/order/events.js';
import { changeOfOrder, type OrderChange } from '../domain/order/order.js';
import { orderStream } from '../domain/streams.js';
import type { EventStore, Revision } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { nextTurn } from '../supervision/waiting.js';
import type { ActivityEntry } from './activity.js';

/** One line of an order's history, for auditors. */
export type HistoryEntry = OrderChange &
  Pick<ActivityEntry, 'position' | 'revision' | 'eventId' | 'at' | 'actor' | 'correlationId' | 'causationId'> & {
    readonly eventType: string;
  };

/** @param first revision of the first entry @throws the cancellation's reason */
export async function* orderHistory(
  log: EventStore,
  { name, orderModel }: Tenant,
  orderId: string,
  first: Revision,
  cancellation: Cancellation,
): AsyncGenerator<HistoryEntry, void, void> {
  for (let from: Revision | undefined = first; from !== undefined; ) {
    cancellation.throwIfCancelled();
    const asked = { from, to: Number.MAX_SAFE_INTEGER, maxCount: MAX_ENTRIES };
    const slice = await log.readSlice(orderStream(name, orderId), asked);
    for (const { type, data, position, revision, id: eventId, metadata } of slice.events) {
      const { occurredAt: at, actor, correlationId, causationId } = metadata;
      const eventType = toldAs({ type, data });
      const change = changeOfOrder({ type, data } as OrderEvent, orderModel, orderId);
      yield { position, revision, eventId, eventType, at, actor, correlationId, causationId, ...change };
      // To tell the changes of many lines takes a while.
      await nextTurn(name);
    }
    from = slice.next;
  }
}
