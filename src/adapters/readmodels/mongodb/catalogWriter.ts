/** The writer's view of the catalog. It keeps entries in memory, since nobody else changes them meanwhile. */
import { LRUCache } from 'lru-cache';
import type { IndexDescription } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { TableRef } from '../../../ports/readModels.js';
import { SMALL_ROWS } from '../shared/smallTables.js';
import {
  type CatalogEntry,
  CLEANED_UP_RECORDS,
  catalogOf,
  definitionsOf,
  insertOnce,
  type Kind,
  newCollectionName,
  newPartName,
  RECORD_EVENTS,
  recordsEntryId,
  type StoredEntry,
  smallCollection,
  tenantEntryId,
  wholeEntries,
} from './catalog.js';
import { CLEANED_UP_INDEXES, type CleanedUpRecord, cleanedUpIn } from './cleanedUpRecords.js';
import type { LaneDb } from './connection.js';
import { indexesOf, layoutOf, type StoredShape, storedLayout } from './layout.js';
import { LeaseLostError } from './lease.js';
import type { Part } from './part.js';
import { shapeOf, type TableShape } from './recordDocument.js';
import { RECORD_EVENT_INDEXES, type RecordEvent, recordEventsIn } from './recordEvents.js';
import { copyGrown, type Growth, isTooLarge, type Size, sizeOfSmall } from './smallTables.js';

export type OpenTable = {
  entry: StoredEntry;
  shape: TableShape;
  /** The asset type object that the table was defined by last: the same object needs no comparison. */
  definedBy?: AssetType;
  /** While it is small, at most; not known before the first change. */
  size: Size;
};

export type EntryChange = { readonly table: OpenTable; readonly $set: Partial<CatalogEntry> };

export class UndefinedTableError extends Error {
  override readonly name = 'UndefinedTableError';
  constructor({ tenant, table }: TableRef) {
    super(`Table ${table} of ${tenant} is not defined.`);
  }
}

export class CatalogWriter {
  /** Null for the served copy. */
  readonly #rebuild: string | null;
  readonly #smallRows: number;
  readonly #open = new Map<string, OpenTable>();
  /** Open deliveries that were written last: more of their events come soon. */
  readonly #deliveries = new LRUCache<string, DeliveryLogEntry>({ max: 2_000 });
  /** The lease's token; undefined in a rebuild, whose tables nobody else knows. */
  fencingToken: number | undefined;
  /** Served tables may have got fields whose indexes are not built: at first, as a writer before may have left some. */
  mayLackIndexes = true;

  constructor(rebuild: string | null, smallRows = SMALL_ROWS) {
    this.#rebuild = rebuild;
    this.#smallRows = smallRows;
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

  /** A tenant's histories of orders, its delivery log, or its activity. */
  async ofTenant(db: LaneDb, kind: Exclude<Kind, 'records'>, tenant: string): Promise<OpenTable> {
    const _id = this.#id(tenantEntryId(kind, tenant));
    const known = await this.#find(db, _id);
    if (known !== undefined) return known;
    return this.#insert(db, { _id, kind, tenant, table: '' }, NO_ASSET_TYPE, NO_ASSET_TYPE);
  }

  /** Creates the table, or brings it to another version of its asset type. */
  async define(db: LaneDb, ref: TableRef, assetType: AssetType): Promise<void> {
    const _id = this.#id(recordsEntryId(ref));
    const known = await this.#find(db, _id);
    if (known?.definedBy === assetType) return;
    const text = JSON.stringify(assetType);
    if (known === undefined) {
      const shape = { assetType: text, layout: storedLayout(text, layoutOf(assetType)) };
      await this.#insert(db, { _id, kind: 'records', ...ref }, shape, { definition: await putDefinition(db, shape) });
      return;
    }
    const { entry, shape } = known;
    // Entries of earlier releases have it within them.
    if (entry.assetType !== text || entry.definition === undefined) {
      // A table without records gets the layout that a new one would get.
      const layout = layoutOf(assetType, entry.made ? shape.large.fields : undefined);
      const changed = { assetType: text, layout: storedLayout(text, layout) };
      const isLarge = entry.made && !entry.of;
      if (isLarge && this.#rebuild !== null) await createIndexes(db, entry, shapeOf({ ...entry, ...changed }));
      // To read all records of a table that is served is not for a commit.
      const indexing = isLarge && this.#rebuild === null;
      const definition = await putDefinition(db, changed);
      await this.change(db, known, { definition, shape: entry.shape + 1, ...(indexing ? { indexing } : {}) });
      if (entry.definition === undefined) {
        await catalogOf(db).updateOne({ _id, definition }, { $unset: { assetType: '', layout: '' } });
      }
      known.entry = { ...known.entry, ...changed };
      known.shape = shapeOf(known.entry);
      this.mayLackIndexes ||= indexing;
    }
    known.definedBy = assetType;
  }

  /**
   * Creates the collection with the first record, since many tables stay empty, and each index is a file of the server.
   * @param growth of the changes that are about to be written: what they make too large gets a collection for itself
   */
  async make(db: LaneDb, table: OpenTable, growth: () => Growth): Promise<void> {
    if (table.entry.of && (await this.#outgrows(db, table, growth()))) await this.#grow(db, table);
    if (table.entry.made) return;
    await createIndexes(db, table.entry, table.shape);
    await this.change(db, table, { made: true });
  }

  async #outgrows(db: LaneDb, table: OpenTable, { rows, bytes, replaced }: Growth): Promise<boolean> {
    const after = () => ({ rows: table.size.rows + rows, bytes: table.size.bytes + bytes });
    if (isTooLarge(after(), this.#smallRows)) table.size = await sizeOfSmall(db, table.entry);
    const size = after();
    table.size = { ...size, bytes: size.bytes + replaced };
    return isTooLarge(size, this.#smallRows);
  }

  /** What is small serves until the catalog names the collection, which has everything then. */
  async #grow(db: LaneDb, table: OpenTable): Promise<void> {
    const small = table.entry;
    const own = { collection: newCollectionName(small.kind), of: null };
    if (small.made) {
      // First in the catalog: a collection that it does not name may be dropped.
      await this.change(db, table, { growing: own.collection });
      await createIndexes(db, { ...small, ...own }, shapeOf({ ...small, ...own }));
      await copyGrown(db, small, own);
    }
    await this.change(db, table, { ...own, growing: null });
    table.shape = shapeOf(table.entry);
    // A reader that still uses them notices; after a crash they are removed as those of dropped tables are.
    if (small.made) await db.part(small).deleteMany({});
  }

  /** The records that clean-ups deleted. */
  async cleanedUpRecords(db: LaneDb, table: OpenTable): Promise<Part<CleanedUpRecord>> {
    const name = table.entry.swept ?? newPartName();
    if (name !== table.entry.swept) {
      await db.collection(CLEANED_UP_RECORDS).createIndexes([...CLEANED_UP_INDEXES]);
      // First in the catalog: a part that it does not name may be removed.
      await this.change(db, table, { swept: name });
    }
    return cleanedUpIn(db, name);
  }

  /** Which events concern each record. */
  async recordEvents(db: LaneDb, table: OpenTable): Promise<Part<RecordEvent>> {
    const name = table.entry.events ?? newPartName();
    if (name !== table.entry.events) {
      await db.collection(RECORD_EVENTS).createIndexes([...RECORD_EVENT_INDEXES]);
      // First in the catalog, as above.
      await this.change(db, table, { events: name });
    }
    return recordEventsIn(db, name);
  }

  /** @throws LeaseLostError */
  async change(db: LaneDb, table: OpenTable, $set: Partial<CatalogEntry>): Promise<void> {
    await this.changeAll(db, [{ table, $set }]);
  }

  /**
   * Changes several tables by one command.
   * @throws LeaseLostError if another process may change one of them; others may be changed then
   */
  async changeAll(db: LaneDb, changes: readonly EntryChange[]): Promise<void> {
    if (changes.length === 0) return;
    const fence = this.fencingToken === undefined ? {} : { fence: { $lte: this.fencingToken } };
    const updates = changes.map(({ table, $set }) => ({
      updateOne: { filter: { _id: table.entry._id, ...fence }, update: { $set, $inc: { version: 1 } } },
    }));
    const { matchedCount } = await catalogOf(db).bulkWrite(updates, { ordered: false });
    if (matchedCount !== changes.length) throw new LeaseLostError();
    for (const { table, $set } of changes) table.entry = { ...table.entry, ...$set };
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
    this.mayLackIndexes = true;
    this.#open.clear();
    this.#deliveries.clear();
  }

  async #find(db: LaneDb, _id: string): Promise<OpenTable | undefined> {
    const known = this.#open.get(_id);
    if (known !== undefined) return known;
    const [entry] = await wholeEntries(db, { _id });
    return entry && this.#opened(entry);
  }

  async #insert(
    db: LaneDb,
    named: Pick<CatalogEntry, '_id' | 'kind' | 'tenant' | 'table'>,
    shape: StoredShape,
    stored: StoredShape | Pick<CatalogEntry, 'definition'>,
  ): Promise<OpenTable> {
    const entry: CatalogEntry = {
      ...named,
      rebuild: this.#rebuild,
      collection: smallCollection(named.kind),
      of: newPartName(),
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
    if (!(await insertOnce(catalogOf(db), { ...entry, ...stored }))) throw new LeaseLostError();
    return this.#opened({ ...entry, ...stored, ...shape });
  }

  #opened(entry: StoredEntry): OpenTable {
    const table = { entry, shape: shapeOf(entry), size: UNKNOWN_SIZE };
    this.#open.set(entry._id, table);
    return table;
  }
}

const UNKNOWN_SIZE: Size = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
const NO_ASSET_TYPE: StoredShape = { assetType: '{"fields":[]}' };

/** First of all: nobody looks for one that no entry names, and what none names is removed after an hour. @returns its name */
async function putDefinition(db: LaneDb, shape: StoredShape): Promise<string> {
  const _id = newPartName();
  await definitionsOf(db).insertOne({ _id, ...shape });
  return _id;
}

/** Keys as in HistoryDocument and ActivityDocument (catalog.ts) and DeliveryDocument (deliveries.ts). */
const TENANT_INDEXES: { readonly [kind in Exclude<Kind, 'records'>]: readonly IndexDescription[] } = {
  history: [{ name: 'order', key: { o: 1, n: 1 } }],
  deliveries: [
    { name: 'webhook', key: { w: 1, p: 1 } },
    { name: 'state', key: { s: 1, w: 1, p: 1 } },
    { name: 'order', key: { o: 1, p: 1 } },
    { name: 'replay', key: { o: 1, q: 1, p: 1 } },
    { name: 'ended', key: { x: 1 } },
  ],
  activity: [
    { name: 'time', key: { a: 1, p: 1, n: 1 } },
    ...(['x', 's', 'o', 'k', 'c', 't'] as const).map((key) => ({ name: key, key: { [key]: 1, a: 1, p: 1, n: 1 } })),
  ],
};

/** The part comes first in them: it has few documents. */
const SMALL_INDEXES: { readonly [kind in Kind]: readonly IndexDescription[] } = {
  records: [{ name: 'key', key: { of: 1, k: 1 } }],
  history: [{ name: 'order', key: { of: 1, o: 1 } }],
  deliveries: [{ name: 'webhook', key: { of: 1, w: 1 } }],
  activity: [{ name: 'time', key: { of: 1, a: 1 } }],
};

/** The indexes that a collection has. */
export function indexesFor({ kind, of }: CatalogEntry, { layout }: TableShape): readonly IndexDescription[] {
  if (of) return SMALL_INDEXES[kind];
  return kind === 'records' ? indexesOf(layout) : TENANT_INDEXES[kind];
}

/** Creates the collection and its missing indexes. */
export async function createIndexes(db: LaneDb, entry: CatalogEntry, shape: TableShape): Promise<void> {
  await db.collection(entry.collection).createIndexes([...indexesFor(entry, shape)]);
}
