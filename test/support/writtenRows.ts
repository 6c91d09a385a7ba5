/** Rows of tables of a few tenants, written as tests name their changes. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { keyOf, type Row } from '#app/domain/row.js';
import { SERVICE_SPACES } from '#app/domain/spaces.js';
import type { RowWrite, RowWriter } from '#app/ports/rowStore.js';
import type { TableRef } from '#app/queries/records.js';

/** What happens to records of a table. */
export type RecordChange =
  | {
      readonly kind: 'insert';
      readonly id: string;
      readonly at: string;
      readonly batchId: string | null;
      readonly fields: Fields;
    }
  /** `at` becomes updated_at. `batchId` undefined: stays. */
  | {
      readonly kind: 'patch';
      readonly id: string;
      readonly at: string;
      readonly batchId?: string | null;
      readonly set: Fields;
    }
  | { readonly kind: 'delete'; readonly id: string }
  /** Moves `_batch_id` only; updated_at stays. */
  | { readonly kind: 'seen'; readonly ids: readonly string[]; readonly batchId: string | null }
  /** Deletes every record whose batch id is not this one; records without a batch id go as well. */
  | { readonly kind: 'cleanUp'; readonly batchId: string };

type Written = {
  readonly writes: RowWrite[];
  readonly rows: Map<string, Row>;
  readonly tables: Map<string, AssetType>;
};

export class WrittenRows {
  readonly #writer: RowWriter;
  readonly #tenants = new Map<string, Written>();
  /** Of the next commit. */
  position = 1;

  constructor(writer: RowWriter) {
    this.#writer = writer;
  }

  tenant(name: string) {
    const known = this.#tenants.get(name);
    return known && ({ name, orderModel: 'dyn_stock_order', assetTypes: known.tables } as const);
  }

  /** As a directory knows them. */
  tenants(): readonly [] {
    return [];
  }

  async begin(): Promise<void> {
    for (const { writes } of this.#tenants.values()) writes.length = 0;
  }

  async commit(): Promise<void> {
    for (const [tenant, { writes }] of this.#tenants) {
      // Clean-ups come first in their slice.
      const slices = writes.length === 0 ? [] : cutAtCleanUps(writes);
      for (const slice of slices) {
        while (!(await this.#writer.apply(tenant, { position: this.position, writes: slice })));
        this.position += 1;
      }
    }
    this.position += 1;
  }

  async defineTable({ tenant }: TableRef, assetType: AssetType): Promise<void> {
    const { tables, writes } = this.#of(tenant);
    tables.set(assetType.name, assetType);
    writes.push({ kind: 'define', assetType });
  }

  async applyToTable(
    { tenant, table }: TableRef,
    changes: readonly RecordChange[],
    { revision, at }: { readonly revision: number; readonly at: string },
  ): Promise<void> {
    for (const change of changes) this.#change(tenant, table, change);
    this.#of(tenant).writes.push({ kind: 'end', space: table, revision, at });
  }

  #change(tenant: string, space: string, change: RecordChange): void {
    const { writes, rows, tables } = this.#of(tenant);
    const place = (id: string) => `${space} ${id}`;
    const known = (id: string): Row => {
      const row = rows.get(place(id));
      if (row === undefined) throw new Error(`There is no record ${id}.`);
      return row;
    };
    const put = (row: Row, was?: Row) => {
      rows.set(place(row.id), row);
      writes.push({ kind: 'put', space, row, was });
    };
    const assetType = tables.get(space);
    if (assetType === undefined) throw new Error(`There is no table ${space}.`);
    switch (change.kind) {
      case 'insert': {
        const { id, at, batchId: batch } = change;
        const fields = withoutNulls(change.fields);
        put({ id, key: keyOf(assetType, fields), from: this.position, created: at, updated: at, batch, fields });
        return;
      }
      case 'patch': {
        const was = known(change.id);
        const fields = withoutNulls({ ...was.fields, ...change.set });
        const { at: updated, batchId: batch = was.batch } = change;
        put({ ...was, key: keyOf(assetType, fields), from: this.position, updated, batch, fields }, was);
        return;
      }
      case 'delete':
        writes.push({ kind: 'delete', space, was: known(change.id), to: this.position });
        rows.delete(place(change.id));
        return;
      case 'seen':
        for (const id of change.ids) rows.set(place(id), { ...known(id), batch: change.batchId });
        writes.push({ kind: 'touch', space, ids: change.ids, batch: change.batchId });
        return;
      case 'cleanUp':
        for (const [key, { batch }] of rows)
          if (key.startsWith(`${space} `) && batch !== change.batchId) rows.delete(key);
        writes.push({ kind: 'cleanUp', space, batch: change.batchId, to: this.position });
        return;
    }
  }

  #of(tenant: string): Written {
    let known = this.#tenants.get(tenant);
    if (known === undefined) {
      const writes = [...SERVICE_SPACES.values()].map((assetType): RowWrite => ({ kind: 'define', assetType }));
      known = { writes, rows: new Map(), tables: new Map() };
      this.#tenants.set(tenant, known);
    }
    return known;
  }
}

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function cutAtCleanUps(writes: readonly RowWrite[]): readonly (readonly RowWrite[])[] {
  const slices: RowWrite[][] = [[]];
  for (const write of writes) {
    if (write.kind === 'cleanUp') slices.push([]);
    slices.at(-1)?.push(write);
  }
  return slices.filter((slice) => slice.length > 0);
}
