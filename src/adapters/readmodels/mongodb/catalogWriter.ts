/** The writer's view of the catalog. It keeps entries in memory, since nobody else changes them meanwhile. */
import { LRUCache } from 'lru-cache';
import type { Collection, IndexDescription } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { TableRef } from '../../../ports/readModels.js';
import {
  type CatalogEntry,
  catalogOf,
  insertOnce,
  type Kind,
  newCollectionName,
  recordsEntryId,
  type StoredEntry,
  tenantEntryId,
} from './catalog.js';
import { CLEANED_UP_INDEXES, type CleanedUpRecord, cleanedUpIn } from './cleanedUpRecords.js';
import type { LaneDb } from './connection.js';
import { indexesOf, layoutOf, storedLayout } from './layout.js';
import { LeaseLostError } from './lease.js';
import { shapeOf, type TableShape } from './recordDocument.js';

export type OpenTable = {
  entry: StoredEntry;
  shape: TableShape;
  /** The asset type object that the table was defined by last: the same object needs no comparison. */
  definedBy?: AssetType;
};

export class UndefinedTableError extends Error {
  override readonly name = 'UndefinedTableError';
  constructor({ tenant, table }: TableRef) {
    super(`Table ${table} of ${tenant} is not defined.`);
  }
}

export class CatalogWriter {
  /** Null for the served copy. */
  readonly #rebuild: string | null;
  readonly #open = new Map<string, OpenTable>();
  /** Open deliveries that were written last: more of their events come soon. */
  readonly #deliveries = new LRUCache<string, DeliveryLogEntry>({ max: 2_000 });
  /** The lease's token; undefined in a rebuild, whose tables nobody else knows. */
  fencingToken: number | undefined;

  constructor(rebuild: string | null) {
    this.#rebuild = rebuild;
  }

  #id(id: string): string {
    return this.#rebuild === null ? id : `${this.#rebuild}.${id}`;
  }

  /** @throws UndefinedTableError */
  async table(db: LaneDb, ref: TableRef): Promise<OpenTable> {
    const table = await this.#find(db, this.#id(recordsEntryId(ref)));
    if (table === undefined) throw new UndefinedTableError(ref);
    return table;
  }

  /** A tenant's histories of orders, or its delivery log. */
  async ofTenant(db: LaneDb, kind: Exclude<Kind, 'records'>, tenant: string): Promise<OpenTable> {
    const _id = this.#id(tenantEntryId(kind, tenant));
    const known = await this.#find(db, _id);
    if (known !== undefined) return known;
    return this.#insert(db, { _id, kind, tenant, table: '', assetType: NO_ASSET_TYPE });
  }

  /** Creates the table, or brings it to another version of its asset type. */
  async define(db: LaneDb, ref: TableRef, assetType: AssetType): Promise<void> {
    const _id = this.#id(recordsEntryId(ref));
    const known = await this.#find(db, _id);
    if (known?.definedBy === assetType) return;
    const text = JSON.stringify(assetType);
    if (known === undefined) {
      await this.#insert(db, { _id, kind: 'records', ...ref, assetType: text });
      return;
    }
    const { entry, shape } = known;
    if (entry.assetType !== text) {
      // A table without records gets the layout that a new one would get.
      const layout = layoutOf(assetType, entry.made ? shape.layout.fields : undefined);
      const changed = { assetType: text, layout: storedLayout(text, layout), shape: entry.shape + 1 };
      // Before the catalog names them: after a crash in between, the next attempt finds the indexes.
      if (entry.made) await createIndexes(db, entry, shapeOf({ ...entry, ...changed }));
      await this.change(db, known, changed);
    }
    known.definedBy = assetType;
  }

  /** Creates the collection with the first record, since many tables stay empty, and each index is a file of the server. */
  async make(db: LaneDb, table: OpenTable): Promise<void> {
    if (table.entry.made) return;
    const { entry } = table;
    await createIndexes(db, entry, table.shape);
    await this.change(db, table, { made: true });
  }

  /** The collection of records that clean-ups deleted; created if missing. */
  async cleanedUpRecords(db: LaneDb, table: OpenTable): Promise<Collection<CleanedUpRecord>> {
    const name = table.entry.swept ?? newCollectionName('swept');
    // First in the catalog: a collection that it does not name may be dropped.
    if (name !== table.entry.swept) await this.change(db, table, { swept: name });
    const swept = cleanedUpIn(db, name);
    await swept.createIndexes([...CLEANED_UP_INDEXES]);
    return swept;
  }

  /** @throws LeaseLostError */
  async change(db: LaneDb, table: OpenTable, $set: Partial<StoredEntry>): Promise<void> {
    const { matchedCount } = await catalogOf(db).updateOne(
      { _id: table.entry._id, ...(this.fencingToken === undefined ? {} : { fence: { $lte: this.fencingToken } }) },
      { $set, $inc: { version: 1 } },
    );
    if (matchedCount !== 1) throw new LeaseLostError();
    table.entry = { ...table.entry, ...$set };
    if ($set.assetType !== undefined) table.shape = shapeOf(table.entry);
  }

  /** Removes the entries; their collections are dropped later. */
  async dropTenant(db: LaneDb, kind: Kind, tenant: string): Promise<void> {
    const fence = this.fencingToken === undefined ? {} : { fence: { $lte: this.fencingToken } };
    await catalogOf(db).deleteMany({ rebuild: this.#rebuild, kind, tenant, ...fence });
    this.forget();
  }

  knownDelivery(tenant: string, id: string): DeliveryLogEntry | undefined {
    return this.#deliveries.get(`${tenant}.${id}`);
  }

  /** Ended deliveries get no more events. */
  keepDelivery(tenant: string, entry: DeliveryLogEntry): void {
    if (entry.state === 'open') this.#deliveries.set(`${tenant}.${entry.id}`, entry);
    else this.#deliveries.delete(`${tenant}.${entry.id}`);
  }

  /** To be called after a failure, and when another process has written. */
  forget(): void {
    this.#open.clear();
    this.#deliveries.clear();
  }

  async #find(db: LaneDb, _id: string): Promise<OpenTable | undefined> {
    const known = this.#open.get(_id);
    if (known !== undefined) return known;
    const entry = await catalogOf(db).findOne({ _id });
    return entry === null ? undefined : this.#opened(entry);
  }

  async #insert(
    db: LaneDb,
    named: Pick<StoredEntry, '_id' | 'kind' | 'tenant' | 'table' | 'assetType'>,
  ): Promise<OpenTable> {
    const entry: StoredEntry = {
      ...named,
      rebuild: this.#rebuild,
      collection: newCollectionName(named.kind),
      layout: storedLayout(named.assetType, layoutOf(JSON.parse(named.assetType))),
      made: false,
      fence: this.fencingToken ?? 0,
      version: 0,
      applying: false,
      moving: null,
      revision: -1,
      lastEventAt: '',
      count: 0,
      shape: 1,
      grams: true,
    };
    // Another process has just defined it, so this one has lost the lease.
    if (!(await insertOnce(catalogOf(db), entry))) throw new LeaseLostError();
    return this.#opened(entry);
  }

  #opened(entry: StoredEntry): OpenTable {
    const table = { entry, shape: shapeOf(entry) };
    this.#open.set(entry._id, table);
    return table;
  }
}

const NO_ASSET_TYPE = '{"fields":[]}';
/** Keys as in HistoryDocument (catalog.ts) and DeliveryDocument (deliveries.ts). */
const TENANT_INDEXES: { readonly [kind in Exclude<Kind, 'records'>]: readonly IndexDescription[] } = {
  history: [{ name: 'order', key: { o: 1, n: 1 } }],
  deliveries: [
    { name: 'webhook', key: { w: 1, p: 1 } },
    { name: 'state', key: { s: 1, w: 1, p: 1 } },
    { name: 'order', key: { o: 1, p: 1 } },
    { name: 'ended', key: { x: 1 } },
  ],
};

/** The indexes that a collection has. */
export const indexesFor = ({ kind }: CatalogEntry, { layout }: TableShape): readonly IndexDescription[] =>
  kind === 'records' ? indexesOf(layout) : TENANT_INDEXES[kind];

/** Creates the collection and its missing indexes. */
async function createIndexes(db: LaneDb, entry: CatalogEntry, shape: TableShape): Promise<void> {
  await db.collection(entry.collection).createIndexes([...indexesFor(entry, shape)]);
}
