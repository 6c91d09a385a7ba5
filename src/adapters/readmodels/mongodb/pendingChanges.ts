/** What one transaction of a projection is going to change, gathered in memory until it is committed. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';

/** A change of one record, and the revision of the event it comes from. */
export type RecordStep = { readonly revision: Revision } & (
  | Extract<RecordChange, { kind: 'insert' | 'patch' }>
  | { readonly kind: 'seen'; readonly batchId: string | null }
);

/** Changes of single records stand in any order between two sweeps, each record's own in theirs. */
export type TableStep =
  | { readonly kind: 'records'; readonly byId: Map<string, RecordStep[]> }
  | { readonly kind: 'sweep'; readonly batchId: string; readonly revision: Revision };

/** Of the event that changes come from. */
export type EventStamp = { readonly revision: Revision; readonly at: string };

export type TableChanges = {
  readonly ref: TableRef;
  /** Set when the transaction defines the table. */
  assetType?: AssetType;
  readonly steps: TableStep[];
  /** Of the last event; undefined when none came. */
  last?: EventStamp;
};

export type OrderEntries = { readonly orderId: string; readonly entries: readonly HistoryEntry[] };

export type DeliveryChanges = {
  /** By id. */
  readonly put: Map<string, DeliveryLogEntry>;
  readonly dropped: Set<string>;
};

export class PendingChanges {
  /** By tenant and table. */
  readonly tables = new Map<string, TableChanges>();
  /** By tenant. */
  readonly histories = new Map<string, OrderEntries[]>();
  /** By tenant. */
  readonly deliveries = new Map<string, DeliveryChanges>();

  get isEmpty(): boolean {
    return this.tables.size === 0 && this.histories.size === 0 && this.deliveries.size === 0;
  }

  define(ref: TableRef, assetType: AssetType): void {
    this.#table(ref).assetType = assetType;
  }

  defines(ref: TableRef): boolean {
    return this.tables.get(keyOf(ref))?.assetType !== undefined;
  }

  apply(ref: TableRef, changes: readonly RecordChange[], event: EventStamp): void {
    const table = this.#table(ref);
    table.last = event;
    for (const change of changes) addStep(table.steps, change, event.revision);
  }

  addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): void {
    const orders = this.histories.get(tenant) ?? [];
    this.histories.set(tenant, orders);
    orders.push({ orderId, entries });
  }

  delivery(tenant: string, id: string): DeliveryLogEntry | undefined {
    return this.deliveries.get(tenant)?.put.get(id);
  }

  putDelivery(tenant: string, entry: DeliveryLogEntry): void {
    const { put } = this.#deliveriesOf(tenant);
    if ((put.get(entry.id)?.revision ?? -1) < entry.revision) put.set(entry.id, entry);
  }

  dropDeliveries(tenant: string, ids: readonly string[]): void {
    const { dropped } = this.#deliveriesOf(tenant);
    for (const id of ids) dropped.add(id);
  }

  #deliveriesOf(tenant: string): DeliveryChanges {
    const changes: DeliveryChanges = this.deliveries.get(tenant) ?? { put: new Map(), dropped: new Set() };
    this.deliveries.set(tenant, changes);
    return changes;
  }

  #table(ref: TableRef): TableChanges {
    const key = keyOf(ref);
    const table: TableChanges = this.tables.get(key) ?? { ref, steps: [] };
    this.tables.set(key, table);
    return table;
  }
}

function addStep(steps: TableStep[], change: RecordChange, revision: Revision): void {
  if (change.kind === 'sweep') {
    steps.push({ kind: 'sweep', batchId: change.batchId, revision });
    return;
  }
  const last = steps.at(-1);
  const byId = last?.kind === 'records' ? last.byId : new Map<string, RecordStep[]>();
  if (last?.kind !== 'records') steps.push({ kind: 'records', byId });
  const add = (id: string, step: RecordStep): void => {
    const known = byId.get(id);
    if (known === undefined) byId.set(id, [step]);
    else known.push(step);
  };
  if (change.kind === 'seen') {
    for (const id of change.ids) add(id, { kind: 'seen', batchId: change.batchId, revision });
  } else {
    add(change.id, { ...change, revision });
  }
}

const keyOf = ({ tenant, table }: TableRef): string => `${tenant}.${table}`;
