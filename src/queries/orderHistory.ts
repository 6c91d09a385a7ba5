/** The history of orders: an order's history is its stream in the log, told entry by entry. */
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import { changeOfOrder, type OrderChange } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import { orderStream } from '../domain/streams.js';
import type { EventStore, Revision } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityEntry } from './activity.js';
import { roomFor } from './asking.js';

/** One line of an order's history, for auditors. */
export type HistoryEntry = OrderChange &
  Pick<ActivityEntry, 'position' | 'revision' | 'eventId' | 'at' | 'actor' | 'correlationId' | 'causationId'> & {
    readonly eventType: string;
  };

const EVENTS_AT_ONCE = 100;

/**
 * A page has at most `perPage` entries, fewer if they would have more than MAX_HISTORY_PAGE_BYTES together, and at least one.
 * Entries never change and new ones are the last, so a page that has a next one stays as it is. The first is 1.
 * @returns entries, the oldest first; how many there are on the pages before, and on all; and how many pages
 * @throws the cancellation's reason
 */
export async function orderHistoryPage(
  log: Pick<EventStore, 'readSlice'>,
  tenant: Pick<Tenant, 'name' | 'orderModel'>,
  orderId: string,
  { page, perPage }: { readonly page: number; readonly perPage: number },
  cancellation?: Cancellation,
) {
  let [total, pages, before] = [0, 0, 0];
  let fits = (_: number): boolean => false;
  const entries: HistoryEntry[] = [];
  const stream = orderStream(tenant.name, orderId);
  for (let from: Revision | undefined = 0; from !== undefined; ) {
    cancellation?.throwIfCancelled();
    const slice = await log.readSlice(stream, { from, to: Number.MAX_SAFE_INTEGER, maxCount: EVENTS_AT_ONCE });
    for (const { type: eventType, data, position, revision, id: eventId, metadata } of slice.events) {
      const { occurredAt: at, actor, correlationId, causationId } = metadata;
      const told = changeOfOrder({ type: eventType, data } as OrderEvent, tenant.orderModel, orderId);
      const entry = { position, revision, eventId, eventType, at, actor, correlationId, causationId, ...told };
      const bytes = Buffer.byteLength(JSON.stringify(entry));
      if (!fits(bytes)) {
        pages += 1;
        if (pages === page) before = total;
        fits = roomFor(perPage, MAX_HISTORY_PAGE_BYTES);
        fits(bytes);
      }
      if (pages === page) entries.push(entry);
      total += 1;
    }
    from = slice.next;
  }
  return { entries, before, pages, total };
}
