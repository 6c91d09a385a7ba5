/** A tenant `acme` whose events become rows in memory, as the follower makes them. */
import { randomUUID } from 'node:crypto';
import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import type { Row, Version } from '#app/domain/row.js';
import { tenantStream } from '#app/domain/streams.js';
import type { Actor, RecordedEvent, SliceRange } from '#app/ports/eventStore.js';
import type { Slice, StoredRow } from '#app/ports/rowStore.js';
import { slicesOf } from '#app/projections/rows.js';
import { openQueries } from '#app/queries/queries.js';
import { sliceOf } from '../contract/eventStoreFixtures.js';
import { MemoryRows } from './memoryRows.js';

type Given = { readonly type: string; readonly data: unknown };

export class TenantRows {
  readonly rows = new MemoryRows();
  readonly events: RecordedEvent[] = [];
  readonly slices: Slice[] = [];
  readonly #revisions = new Map<string, number>();
  readonly #deliveryLogDays: number;

  constructor({ deliveryLogDays = 30, isCreated = true } = {}) {
    this.#deliveryLogDays = deliveryLogDays;
    const data = { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' };
    if (isCreated) this.append('tenant-acme', { type: 'TenantCreated', data });
  }

  get position(): number {
    return this.events.at(-1)?.position ?? 0;
  }

  /** One append, with one position. */
  append(stream: string, ...events: readonly Given[]): number {
    return this.appendAt(new Date(Date.UTC(2026, 10, 21) + this.position * 1000).toISOString(), stream, ...events);
  }

  appendAt(at: string, stream: string, ...events: readonly Given[]): number {
    return this.appendBy(ERP, at.replace('Z', '000Z'), stream, ...events);
  }

  appendBy(actor: Actor, occurredAt: string, stream: string, ...events: readonly Given[]): number {
    const position = this.position + 1;
    for (const { type, data } of events) {
      const revision = (this.#revisions.get(stream) ?? -1) + 1;
      this.#revisions.set(stream, revision);
      const ids = { correlationId: `request-${position}`, causationId: `request-${position}` };
      const metadata = { tenant: 'acme', actor, ...ids, occurredAt, schemaVersion: 1 };
      this.events.push({ id: randomUUID(), type, data, stream, revision, position, metadata });
    }
    return position;
  }

  /** Applies the events that the rows do not show yet. @throws what the slices throw */
  async apply(): Promise<void> {
    const progress = (await this.rows.progress('acme'))?.position ?? 0;
    const events = this.events.filter(({ position }) => position > progress);
    for await (const slice of slicesOf('acme', events, this.rows, { deliveryLogDays: this.#deliveryLogDays })) {
      this.slices.push(slice);
      while (!(await this.rows.apply('acme', slice)));
    }
  }

  /** In order of creation. */
  async shown(space: string, at?: number): Promise<readonly Row[]> {
    const query = { conditions: [], offset: 0, limit: 1_000_000, maxCharacters: Number.POSITIVE_INFINITY };
    const sort = [{ field: 'n', direction: 'asc' }] as const;
    const page = await this.rows.page({ tenant: 'acme', space }, { ...query, sort, at, withTotal: false });
    return page.rows.map(asRow);
  }

  /** States of a row that are over. */
  async past(space: string, id: string): Promise<readonly Omit<Version, 'key'>[]> {
    return (this.rows.stored.get('acme')?.spaces.get(space)?.versions ?? [])
      .filter((version) => version.id === id)
      .map(({ n: _, key: __, ...version }) => version);
  }
}

const asRow = ({ n: _, data, ...row }: StoredRow): Row => ({ ...row, fields: JSON.parse(data) });

type Happened = {
  readonly events: readonly Given[];
  readonly actor?: Actor;
  /** Default: the n-th minute of a day, where n is the position. */
  readonly at?: string;
};

/** The same with its queries; what is appended is shown at once. */
export class LoggedTenant {
  readonly #tenant = new TenantRows({ isCreated: false });
  readonly rows = this.#tenant.rows;
  #shown: Tenant | undefined;
  readonly queries = openQueries(this.rows.reads, {
    tenant: (asked) => (asked === 'acme' ? this.#shown : undefined),
    tenants: () => (this.#shown === undefined ? [] : [this.#shown]),
  });
  readonly log = {
    readSlice: async (stream: string, range: SliceRange) =>
      sliceOf(
        this.#tenant.events.filter((event) => event.stream === stream),
        range,
      ),
  };

  /** Appends the events at one position. @returns the position */
  async append(stream: string, { events, actor = ERP, at = minute(this.#tenant.position + 1) }: Happened) {
    const position = this.#tenant.appendBy(actor, at, stream, ...events);
    if (/^(tenant|webhooks|users|clients)-/.test(stream))
      for (const event of events) this.#shown = evolveTenant(this.#shown, event as DirectoryEvent, at);
    await this.#tenant.apply();
    return position;
  }

  create(orderModel: 'dyn_stock_order' | 'dyn_transport_order' = 'dyn_stock_order'): Promise<number> {
    const data = { name: 'acme', displayName: 'acme', orderModel };
    return this.append(tenantStream('acme'), { events: [{ type: 'TenantCreated', data }] });
  }
}

const ERP: Actor = { kind: 'client', id: 'erp', name: 'ERP' };

/** The n-th minute of a day. */
export const minute = (n: number): string => `${new Date(Date.UTC(2026, 10, 21, 0, n)).toISOString().slice(0, -1)}000Z`;
