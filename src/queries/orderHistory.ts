/** The history of orders: an order's history is its stream in the log, told entry by entry. */
import { LRUCache } from 'lru-cache';
import { MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import { type ToldOfOrder, toldOfOrder } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import { orderStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent, Revision } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { latestApprovals } from './activity.js';
import type { Tenants } from './records.js';

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

type HistoryPage = {
  /** Oldest first; none on a page behind the last. */
  readonly entries: readonly StoredHistoryEntry[];
  /** Number of entries on the pages before this one. */
  readonly before: number;
  /** Number of pages. */
  readonly pages: number;
  /** Number of entries on all pages. */
  readonly total: number;
};

type PageAsked = { readonly page: number; readonly perPage: number };

type Measured = { readonly revision: Revision; readonly bytes: number };

/** Entries never change, so what is known of their sizes saves to read the stream for each page of it. */
const KEPT_ENTRIES = 100_000;
const EVENTS_AT_ONCE = 100;

export class OrderHistoryQueries {
  readonly #log: Pick<EventStore, 'readSlice' | 'erasures'>;
  readonly #rows: RowReads;
  readonly #tenants: Tenants;
  readonly #measured = new LRUCache<string, readonly Measured[]>({
    maxSize: KEPT_ENTRIES,
    sizeCalculation: (entries) => entries.length + 1,
  });

  constructor(log: Pick<EventStore, 'readSlice' | 'erasures'>, rows: RowReads, tenants: Tenants) {
    this.#log = log;
    this.#rows = rows;
    this.#tenants = tenants;
  }

  /** A page has at most `perPage` entries, and fewer if they would have more than MAX_HISTORY_PAGE_BYTES together. The first is 1. */
  async page(tenant: string, orderId: string, page: PageAsked, cancellation?: Cancellation): Promise<HistoryPage> {
    const entryOf = this.#teller(tenant, orderId);
    const stream = orderStream(tenant, orderId);
    const measured = entryOf === undefined ? [] : await this.#measure(stream, entryOf, cancellation);
    const { count, ...place } = placeOfPage(measured, page);
    const shown = measured.slice(place.before, place.before + count);
    const [first, last] = [shown[0], shown.at(-1)];
    if (entryOf === undefined || first === undefined || last === undefined) return { ...place, entries: [] };
    const entries: StoredHistoryEntry[] = [];
    for await (const event of this.#events(stream, first.revision, last.revision, cancellation)) {
      const { changes, ...entry } = entryOf(event);
      entries.push({ ...entry, changes: JSON.stringify(changes) });
    }
    return { ...place, entries };
  }

  /** The latest approval of each of these orders that has one, by order id. */
  async approvals(
    tenant: string,
    orderIds: readonly string[],
    cancellation?: Cancellation,
  ): Promise<ReadonlyMap<string, HistoryEntry>> {
    const revisions = await latestApprovals(this.#rows, tenant, orderIds, cancellation);
    const approvals = await Promise.all(
      [...revisions].map(async ([orderId, revision]) => {
        const entryOf = this.#teller(tenant, orderId);
        const asked = { from: revision, to: revision, maxCount: 1 };
        const [event] = (await this.#log.readSlice(orderStream(tenant, orderId), asked)).events;
        return event === undefined || entryOf === undefined ? [] : [[orderId, entryOf(event)] as const];
      }),
    );
    return new Map(approvals.flat());
  }

  /** Tells the events of an order; undefined for an unknown tenant. */
  #teller(tenant: string, orderId: string): ((event: RecordedEvent) => HistoryEntry) | undefined {
    const orderModel = this.#tenants.tenant(tenant)?.orderModel;
    if (orderModel === undefined) return undefined;
    return ({ type, data, position, revision, id: eventId, metadata }) => {
      const { occurredAt: at, actor, correlationId, causationId } = metadata;
      const told = toldOfOrder({ type, data } as OrderEvent, orderModel, orderId);
      return { position, revision, eventId, eventType: type, at, actor, correlationId, causationId, ...told };
    };
  }

  /** The sizes of all entries, oldest first. Reads what is new of the stream. */
  async #measure(
    stream: string,
    entryOf: (event: RecordedEvent) => HistoryEntry,
    cancellation: Cancellation | undefined,
  ): Promise<readonly Measured[]> {
    // An erasure makes entries shorter.
    const key = `${this.#log.erasures?.count ?? 0} ${stream}`;
    const known = this.#measured.get(key) ?? [];
    const measured = [...known];
    for await (const event of this.#events(stream, (known.at(-1)?.revision ?? -1) + 1, undefined, cancellation))
      measured.push({ revision: event.revision, bytes: Buffer.byteLength(JSON.stringify(entryOf(event))) });
    this.#measured.set(key, measured);
    return measured;
  }

  async *#events(
    stream: string,
    from: Revision,
    to: Revision = Number.MAX_SAFE_INTEGER,
    cancellation?: Cancellation,
  ): AsyncGenerator<RecordedEvent, void, void> {
    for (let next: Revision | undefined = from; next !== undefined; ) {
      cancellation?.throwIfCancelled();
      const slice = await this.#log.readSlice(stream, { from: next, to, maxCount: EVENTS_AT_ONCE });
      yield* slice.events;
      next = slice.next;
    }
  }
}

/**
 * A page ends at its number of entries or at MAX_HISTORY_PAGE_BYTES, and has at least one entry. Entries never change and
 * new ones are the last, so a page that has a next one stays as it is.
 */
function placeOfPage(
  entries: readonly Measured[],
  { page, perPage }: PageAsked,
): Omit<HistoryPage, 'entries'> & { readonly count: number } {
  let [total, pages, onPage, onPageBytes] = [0, 0, 0, 0];
  let [before, count] = [0, 0];
  for (const { bytes } of entries) {
    if (pages === 0 || onPage === perPage || onPageBytes + bytes > MAX_HISTORY_PAGE_BYTES) {
      pages += 1;
      [onPage, onPageBytes] = [0, 0];
      if (pages === page) before = total;
    }
    if (pages === page) count += 1;
    total += 1;
    onPage += 1;
    onPageBytes += bytes;
  }
  return { total, pages, before, count };
}
