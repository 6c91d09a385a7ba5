/** The history of orders in the read models, for auditors. */
import type { ToldOfOrder } from '../domain/order/differences.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { Position, Revision } from './eventStore.js';

/** One line of an order's history, for auditors. */
export type HistoryEntry = ToldOfOrder & {
  readonly position: Position;
  readonly revision: Revision;
  readonly eventId: string;
  readonly eventType: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly correlationId: string;
  readonly causationId: string;
};

/** `changes` are JSON text, as stored: they may be megabytes. */
export type StoredHistoryEntry = Omit<HistoryEntry, 'changes'> & { readonly changes: string };

export type HistoryPage = {
  /** Oldest first; none on a page behind the last. */
  readonly entries: readonly StoredHistoryEntry[];
  /** Number of entries on the pages before this one. */
  readonly before: number;
  /** Number of pages. */
  readonly pages: number;
  /** Number of entries on all pages. */
  readonly total: number;
};

/** Reads of the history of orders. Cancellable like `RecordReads`. */
export interface HistoryReads {
  /** A page has at most `perPage` entries, and fewer if they would have more than MAX_HISTORY_PAGE_BYTES together. The first is 1. */
  history(
    tenant: string,
    orderId: string,
    page: { readonly page: number; readonly perPage: number },
    cancellation?: Cancellation,
  ): Promise<HistoryPage>;
  /** The latest approval of each of these orders that has one, by order id. */
  approvals(
    tenant: string,
    orderIds: readonly string[],
    cancellation?: Cancellation,
  ): Promise<ReadonlyMap<string, HistoryEntry>>;
}
