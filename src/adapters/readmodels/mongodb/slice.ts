/** What one transaction of a projection is going to change, gathered in memory until it is committed. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';
import type { RecordChange } from '../../../ports/readModelWriter.js';

/** A change of one record, and the revision of the event it comes from. */
export type RecordStep = { readonly revision: Revision } & (
  | Extract<RecordChange, { kind: 'insert' | 'patch' }>
  | { readonly kind: 'seen'; readonly batchId: string | null }
);

/** Changes of single records stand in any order between two sweeps, each record's own in theirs. */
export type TableStep =
  | { readonly kind: 'records'; readonly byId: Map<string, RecordStep[]> }
  | { readonly kind: 'sweep'; readonly batchId: string; readonly revision: Revision };

export type TableSlice = {
  readonly ref: TableRef;
  /** Set when the slice defines the table. */
  assetType?: AssetType;
  readonly steps: TableStep[];
  /** Of the last event; undefined when none came. */
  last?: { readonly revision: Revision; readonly at: string };
};

export type OrderEntries = { readonly orderId: string; readonly entries: HistoryEntry[] };

/** Deliveries by id. */
export type DeliverySlice = { readonly put: Map<string, DeliveryLogEntry>; readonly dropped: Set<string> };

export class Slice {
  readonly tables = new Map<string, TableSlice>();
  readonly histories = new Map<string, OrderEntries[]>();
  readonly deliveries = new Map<string, DeliverySlice>();
  /** Changes of records, of deliveries, and entries of histories; a sweep counts as nothing. */
  size = 0;

  get isEmpty(): boolean {
    return this.tables.size === 0 && this.histories.size === 0 && this.deliveries.size === 0;
  }

  define(ref: TableRef, assetType: AssetType): void {
    this.#table(ref).assetType = assetType;
  }

  defines(ref: TableRef): boolean {
    return this.tables.get(keyOf(ref))?.assetType !== undefined;
  }

  apply(
    ref: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): void {
    const table = this.#table(ref);
    table.last = event;
    for (const change of changes) this.#add(table, change, event.revision);
  }

  addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): void {
    this.size += entries.length;
    const orders = this.histories.get(tenant) ?? [];
    this.histories.set(tenant, orders);
    orders.push({ orderId, entries: [...entries] });
  }

  delivery(tenant: string, id: string): DeliveryLogEntry | undefined {
    return this.deliveries.get(tenant)?.put.get(id);
  }

  putDelivery(tenant: string, entry: DeliveryLogEntry): void {
    const { put } = this.#deliveriesOf(tenant);
    if ((put.get(entry.id)?.revision ?? -1) >= entry.revision) return;
    this.size += 1;
    put.set(entry.id, entry);
  }

  dropDeliveries(tenant: string, ids: readonly string[]): void {
    this.size += ids.length;
    const { dropped } = this.#deliveriesOf(tenant);
    for (const id of ids) dropped.add(id);
  }

  #deliveriesOf(tenant: string): DeliverySlice {
    const slice: DeliverySlice = this.deliveries.get(tenant) ?? { put: new Map(), dropped: new Set() };
    this.deliveries.set(tenant, slice);
    return slice;
  }

  #table(ref: TableRef): TableSlice {
    const key = keyOf(ref);
    const table: TableSlice = this.tables.get(key) ?? { ref, steps: [] };
    this.tables.set(key, table);
    return table;
  }

  #add(table: TableSlice, change: RecordChange, revision: Revision): void {
    if (change.kind === 'sweep') {
      table.steps.push({ kind: 'sweep', batchId: change.batchId, revision });
      return;
    }
    const last = table.steps.at(-1);
    const byId = last?.kind === 'records' ? last.byId : new Map<string, RecordStep[]>();
    if (last?.kind !== 'records') table.steps.push({ kind: 'records', byId });
    const add = (id: string, step: RecordStep): void => {
      this.size += 1;
      const steps = byId.get(id);
      if (steps === undefined) byId.set(id, [step]);
      else steps.push(step);
    };
    if (change.kind === 'seen') {
      for (const id of change.ids) add(id, { kind: 'seen', batchId: change.batchId, revision });
    } else {
      add(change.id, { ...change, revision });
    }
  }
}

const keyOf = ({ tenant, table }: TableRef): string => `${tenant}.${table}`;
