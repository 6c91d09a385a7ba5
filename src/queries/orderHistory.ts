/** The history of orders: an order's history is its stream in the log, told entry by entry. */
import { MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import { type ToldOfOrder, toldOfOrder } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import { orderStream } from '../domain/streams.js';
import type { EventStore, Position, Revision } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf } from './activity.js';
import { NEWEST_FIRST, where } from './asking.js';
import type { Tenants } from './records.js';

/** One line of an order's history, for auditors. */
export type HistoryEntry = ToldOfOrder & {
  readonly position: Position;
  readonly revision: Revision;
  readonly eventId: string;
  readonly eventType: string;
  readonly at: string;
  readonly actor: ActivityEntry['actor'];
  readonly correlationId: string;
  readonly causationId: string;
};

const EVENTS_AT_ONCE = 100;

export class OrderHistoryQueries {
  readonly #log: Pick<EventStore, 'readSlice'>;
  readonly #rows: RowReads;
  readonly #tenants: Tenants;

  constructor(log: Pick<EventStore, 'readSlice'>, rows: RowReads, tenants: Tenants) {
    this.#log = log;
    this.#rows = rows;
    this.#tenants = tenants;
  }

  /**
   * A page has at most `perPage` entries, fewer if they would have more than MAX_HISTORY_PAGE_BYTES together, and at least one.
   * Entries never change and new ones are the last, so a page that has a next one stays as it is. The first is 1.
   * @returns entries, the oldest first; how many there are on the pages before, and on all; and how many pages
   */
  async page(
    tenant: string,
    orderId: string,
    { page, perPage }: { readonly page: number; readonly perPage: number },
    cancellation?: Cancellation,
  ) {
    let [total, pages, before, onPage, bytesOnPage] = [0, 0, 0, 0, 0];
    const entries: HistoryEntry[] = [];
    for await (const entry of this.#entries(tenant, orderId, cancellation)) {
      const bytes = Buffer.byteLength(JSON.stringify(entry));
      if (pages === 0 || onPage === perPage || bytesOnPage + bytes > MAX_HISTORY_PAGE_BYTES) {
        pages += 1;
        [onPage, bytesOnPage] = [0, 0];
        if (pages === page) before = total;
      }
      if (pages === page) entries.push(entry);
      total += 1;
      onPage += 1;
      bytesOnPage += bytes;
    }
    return { entries, before, pages, total };
  }

  /** The latest approval of each of these orders that has one, by order id. */
  async approvals(
    tenant: string,
    orderIds: readonly string[],
    cancellation?: Cancellation,
  ): Promise<ReadonlyMap<string, HistoryEntry>> {
    const latest = new Map<string, Revision>();
    const asked = { ...NEWEST_FIRST, conditions: where({ kind: 'order.approved', order_id: orderIds }) };
    for await (const { orderId = '', revision } of entriesOf(this.#rows, tenant, asked, cancellation)) {
      if (!latest.has(orderId)) latest.set(orderId, revision);
      if (latest.size === orderIds.length) break;
    }
    const approvals = [...latest].map(async ([orderId, revision]) => {
      const { value } = await this.#entries(tenant, orderId, cancellation, { from: revision, to: revision }).next();
      return value === undefined ? [] : [[orderId, value] as const];
    });
    return new Map((await Promise.all(approvals)).flat());
  }

  /** None for an unknown tenant. */
  async *#entries(
    tenant: string,
    orderId: string,
    cancellation: Cancellation | undefined,
    { from, to } = { from: 0, to: Number.MAX_SAFE_INTEGER },
  ): AsyncGenerator<HistoryEntry, undefined> {
    const orderModel = this.#tenants.tenant(tenant)?.orderModel;
    if (orderModel === undefined) return;
    for (let next: Revision | undefined = from; next !== undefined; ) {
      cancellation?.throwIfCancelled();
      const slice = await this.#log.readSlice(orderStream(tenant, orderId), {
        from: next,
        to,
        maxCount: EVENTS_AT_ONCE,
      });
      for (const { type: eventType, data, position, revision, id: eventId, metadata } of slice.events) {
        const { occurredAt: at, actor, correlationId, causationId } = metadata;
        const told = toldOfOrder({ type: eventType, data } as OrderEvent, orderModel, orderId);
        yield { position, revision, eventId, eventType, at, actor, correlationId, causationId, ...told };
      }
      next = slice.next;
    }
  }
}
