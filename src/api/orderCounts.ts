/** How many orders of a tenant are in each state: counted in the index, and again only after the orders have changed. */
import { LRUCache } from 'lru-cache';
import { MAX_KEPT_COUNTS } from '../domain/limits.js';
import type { OrderStatus } from '../domain/order/status.js';
import type { RecordQueries, TableRef } from '../queries/records.js';
import type { Cancellation } from '../supervision/cancellation.js';

type Kept = { readonly state: string; readonly counts: ReadonlyMap<OrderStatus, number> };

export class OrderCounts {
  readonly #kept = new LRUCache<string, Kept>({ max: MAX_KEPT_COUNTS });

  /** Asks for the table's state, and counts only if it differs from that of the kept counts. */
  async of(
    records: Pick<RecordQueries, 'counts' | 'tableState'>,
    orders: TableRef,
    statuses: readonly OrderStatus[],
    cancellation: Cancellation,
  ): Promise<ReadonlyMap<OrderStatus, number>> {
    // A table without one is empty.
    const state = (await records.tableState(orders)) ?? '';
    const kept = this.#kept.get(orders.tenant);
    if (kept?.state === state) return kept.counts;
    const found = await records.counts(orders, 'processing_status', statuses, cancellation);
    const counts = new Map(statuses.map((status, n) => [status, found[n] ?? 0]));
    this.#kept.set(orders.tenant, { state, counts });
    return counts;
  }
}
