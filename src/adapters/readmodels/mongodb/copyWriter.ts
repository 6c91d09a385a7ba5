/**
 * Collects the changes of a transaction in memory and writes them to one copy: the served one, or the one that a rebuild
 * fills. Every write is idempotent, as it is repeated after a crash.
 */
import type { AnyBulkWriteOperation } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry } from '../../../ports/orderHistory.js';
import type { TableRef } from '../../../ports/readModels.js';
import { MismatchError, type ReadModelWriter, type RebuildScope } from '../../../ports/readModelWriter.js';
import { type HistoryDocument, historyOf, KINDS, type Kind, recordsOf } from './catalog.js';
import { type CatalogWriter, UndefinedTableError } from './catalogWriter.js';
import type { LaneDb, MongoConnection } from './connection.js';
import { type DeliveryChanges, writeDeliveries, writtenDelivery } from './deliveries.js';
import { historyDocument } from './history.js';
import { RecordMismatchError, type Repeated } from './recordDocument.js';
import { addStep, getOrMake, RecordWriter, type TableStep } from './recordWriter.js';

type TableChanges = {
  readonly ref: TableRef;
  /** Set when the transaction defines the table. */
  assetType?: AssetType;
  readonly steps: TableStep[];
  /** The last event with changes; undefined if there was none. */
  last?: { readonly revision: Revision; readonly at: string };
};

type OrderEntries = { readonly orderId: string; readonly entries: readonly HistoryEntry[] };

class PendingChanges {
  /** By tenant and table. */
  readonly tables = new Map<string, TableChanges>();
  /** By tenant. */
  readonly histories = new Map<string, OrderEntries[]>();
  /** By tenant. */
  readonly deliveries = new Map<string, DeliveryChanges>();
  readonly dropped: { readonly kind: Kind; readonly tenant: string }[] = [];
}

const tableKey = ({ tenant, table }: TableRef): string => `${tenant}.${table}`;

export class CopyWriter {
  protected readonly connection: MongoConnection;
  protected readonly catalog: CatalogWriter;
  #transaction: PendingChanges | undefined;

  constructor(connection: MongoConnection, catalog: CatalogWriter) {
    this.connection = connection;
    this.catalog = catalog;
  }

  protected beginTransaction(): void {
    this.#transaction = new PendingChanges();
  }

  protected endTransaction(): void {
    this.#transaction = undefined;
  }

  get #changes(): PendingChanges {
    if (this.#transaction === undefined) throw new Error('No transaction has been begun.');
    return this.#transaction;
  }

  protected get hasChanges(): boolean {
    const { tables, histories, deliveries, dropped } = this.#changes;
    return tables.size + histories.size + deliveries.size + dropped.length > 0;
  }

  async rollback(): Promise<void> {
    this.endTransaction();
    this.catalog.forget();
  }

  readonly defineTable: ReadModelWriter['defineTable'] = async (ref, assetType) => {
    this.#table(ref).assetType = assetType;
  };

  readonly applyToTable: ReadModelWriter['applyToTable'] = async (ref, changes, event) => {
    const table = this.#table(ref);
    if (table.assetType === undefined) {
      await this.connection
        .run((db) => this.catalog.table(db, ref))
        .catch((error: unknown) => {
          if (!(error instanceof UndefinedTableError)) throw error;
          throw new MismatchError({ ...ref, projection: 'records', position: event.position }, { cause: error });
        });
    }
    table.last = event;
    for (const change of changes) addStep(table.steps, change, event);
  };

  #table(ref: TableRef): TableChanges {
    return getOrMake(this.#changes.tables, tableKey(ref), () => ({ ref, steps: [] }));
  }

  readonly addHistory: ReadModelWriter['addHistory'] = async (tenant, orderId, entries) => {
    getOrMake(this.#changes.histories, tenant, () => []).push({ orderId, entries });
  };

  readonly delivery: ReadModelWriter['delivery'] = async (tenant, id) =>
    this.#changes.deliveries.get(tenant)?.put.get(id) ??
    this.connection.run((db) => writtenDelivery(db, this.catalog, tenant, id));

  readonly putDelivery: ReadModelWriter['putDelivery'] = async (tenant, entry) => {
    const { put, states } = this.#deliveriesOf(tenant);
    if ((put.get(entry.id)?.revision ?? -1) >= entry.revision) return;
    put.set(entry.id, entry);
    states.push(entry);
  };

  dropTenant: ReadModelWriter['dropTenant'] = (projection, tenant) => this.dropFromCopy(projection, tenant);

  protected async dropFromCopy(projection: RebuildScope['projection'], tenant: string): Promise<void> {
    const { tables, histories, deliveries, dropped } = this.#changes;
    const kind = KINDS[projection];
    // Changes of the tenant in this transaction are dropped as well.
    if (kind === 'records') for (const [key, { ref }] of tables) if (ref.tenant === tenant) tables.delete(key);
    if (kind === 'history') histories.delete(tenant);
    if (kind === 'deliveries') deliveries.delete(tenant);
    dropped.push({ kind, tenant });
  }

  protected dropFromLog(tenant: string, ids: readonly string[]): void {
    const { dropped } = this.#deliveriesOf(tenant);
    for (const id of ids) dropped.add(id);
  }

  #deliveriesOf(tenant: string): DeliveryChanges {
    return getOrMake(this.#changes.deliveries, tenant, () => ({ put: new Map(), states: [], dropped: new Set() }));
  }

  /** Defines tables, and creates the collections that get their first record. */
  protected async prepareCollections(db: LaneDb): Promise<void> {
    const { catalog } = this;
    const { tables, histories, deliveries } = this.#changes;
    for (const { ref, assetType, steps } of tables.values()) {
      if (assetType !== undefined) await catalog.define(db, ref, assetType);
      if (steps.some(({ kind }) => kind === 'records')) await catalog.make(db, await catalog.table(db, ref));
    }
    for (const tenant of histories.keys()) await catalog.make(db, await catalog.ofTenant(db, 'history', tenant));
    for (const [tenant, { put }] of deliveries) {
      if (put.size > 0) await catalog.make(db, await catalog.ofTenant(db, 'deliveries', tenant));
    }
  }

  /**
   * @throws MismatchError; LeaseLostError
   */
  protected async writeChanges(db: LaneDb, repeated: Repeated): Promise<void> {
    const { tables, histories, deliveries, dropped } = this.#changes;
    for (const table of tables.values()) await this.#writeTable(db, table, repeated);
    for (const [tenant, orders] of histories) await this.#writeHistory(db, tenant, orders);
    for (const [tenant, changes] of deliveries) await writeDeliveries(db, this.catalog, tenant, changes);
    for (const { kind, tenant } of dropped) await this.catalog.dropTenant(db, kind, tenant);
  }

  async #writeTable(db: LaneDb, { ref, steps, last }: TableChanges, repeated: Repeated): Promise<void> {
    if (last === undefined) return;
    const { catalog } = this;
    const table = await catalog.table(db, ref);
    const { entry, shape } = table;
    const collection = recordsOf(db, entry);
    const writer = new RecordWriter(collection, shape, repeated, () => catalog.cleanedUpRecords(db, table));
    await catalog.change(db, table, { applying: true });
    try {
      // Nothing was ever written, so there is nothing to clean up.
      if (entry.made) await writer.write(steps);
    } catch (error) {
      if (!(error instanceof RecordMismatchError)) throw error;
      throw new MismatchError({ ...ref, projection: 'records', position: error.position }, { cause: error });
    }
    // After a crash it is unknown how many records were added before.
    const count = repeated !== 'not' ? await collection.countDocuments({}) : entry.count + writer.added;
    await catalog.change(db, table, { revision: last.revision, lastEventAt: last.at, count, applying: false });
  }

  /** Existing entries stay as they are. */
  async #writeHistory(db: LaneDb, tenant: string, orders: readonly OrderEntries[]): Promise<void> {
    const { entry: history } = await this.catalog.ofTenant(db, 'history', tenant);
    const writes = orders.flatMap(({ orderId, entries }) =>
      entries.map((entry): AnyBulkWriteOperation<HistoryDocument> => {
        const $setOnInsert = historyDocument(orderId, entry);
        return {
          updateOne: { filter: { _id: `${orderId}.${entry.revision}` }, update: { $setOnInsert }, upsert: true },
        };
      }),
    );
    if (writes.length > 0) await historyOf(db, history).bulkWrite(writes, { ordered: false });
  }
}
