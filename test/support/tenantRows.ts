/** A tenant `acme` whose events become rows in memory, as the follower makes them. */
import { randomUUID } from 'node:crypto';
import type { Row, Version } from '#app/domain/spaces.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { Slice, StoredRow } from '#app/ports/rowStore.js';
import { slicesOf } from '#app/projections/rows.js';
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
    const position = this.position + 1;
    for (const { type, data } of events) {
      const revision = (this.#revisions.get(stream) ?? -1) + 1;
      this.#revisions.set(stream, revision);
      const actor = { kind: 'client', id: 'erp', name: 'ERP' } as const;
      const ids = { correlationId: `request-${position}`, causationId: `request-${position}` };
      const metadata = { tenant: 'acme', actor, ...ids, occurredAt: at.replace('Z', '000Z'), schemaVersion: 1 };
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
