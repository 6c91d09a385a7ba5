/** A tenant whose rows are made from its events, as the follower does: in memory, one append after the other. */
import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { tenantStream } from '#app/domain/streams.js';
import type { Actor, RecordedEvent, SliceRange } from '#app/ports/eventStore.js';
import { slicesOf } from '#app/projections/rows.js';
import { openQueries } from '#app/queries/queries.js';
import { sliceOf } from '../contract/eventStoreFixtures.js';
import { MemoryRows } from './memoryRows.js';

type Happened = {
  readonly events: readonly { readonly type: string; readonly data: unknown }[];
  readonly actor?: Actor;
  /** Default: the n-th minute of a day, where n is the position. */
  readonly at?: string;
};

export class LoggedTenant {
  readonly rows = new MemoryRows();
  readonly queries;
  readonly log = {
    readSlice: async (stream: string, range: SliceRange) => sliceOf(this.#streams.get(stream) ?? [], range),
  };
  readonly #streams = new Map<string, RecordedEvent[]>();
  #position = 0;
  #ids = 0;
  #tenant: Tenant | undefined;

  constructor(readonly name: string) {
    this.queries = openQueries(this.rows.reads, {
      tenant: (asked) => (asked === name ? this.#tenant : undefined),
      tenants: () => (this.#tenant === undefined ? [] : [this.#tenant]),
    });
  }

  /** Appends the events at one position. @returns the position */
  async append(stream: string, { events, actor = ERP, at }: Happened): Promise<number> {
    this.#position += 1;
    const occurredAt = at ?? minute(this.#position);
    const stored = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, stored);
    const appended = events.map(({ type, data }, index): RecordedEvent => {
      const id = `00000000-0000-7000-8000-${String(++this.#ids).padStart(12, '0')}`;
      const request = { correlationId: `request-${this.#position}`, causationId: `request-${this.#position}` };
      const metadata = { tenant: this.name, actor, occurredAt, schemaVersion: 1, ...request };
      return { id, type, data, metadata, stream, revision: stored.length + index, position: this.#position };
    });
    stored.push(...appended);
    for (const event of appended) {
      const { type, data } = event;
      if (/^(tenant|webhooks|users|clients)-/.test(stream))
        this.#tenant = evolveTenant(this.#tenant, { type, data } as DirectoryEvent, occurredAt);
    }
    for await (const slice of slicesOf(this.name, appended, this.rows, { deliveryLogDays: 30 }))
      while (!(await this.rows.apply(this.name, slice)));
    return this.#position;
  }

  create(orderModel: 'dyn_stock_order' | 'dyn_transport_order' = 'dyn_stock_order'): Promise<number> {
    const data = { name: this.name, displayName: this.name, orderModel };
    return this.append(tenantStream(this.name), { events: [{ type: 'TenantCreated', data }] });
  }
}

const ERP: Actor = { kind: 'client', id: 'erp', name: 'ERP' };

/** The n-th minute of a day. */
export const minute = (n: number): string => `${new Date(Date.UTC(2026, 10, 21, 0, n)).toISOString().slice(0, -1)}000Z`;
