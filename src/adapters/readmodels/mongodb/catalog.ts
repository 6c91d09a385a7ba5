/** The catalog: the tables, histories and delivery logs, the collection of each, and its revision. */
import { type Collection, type Document, MongoServerError, ObjectId, type OptionalUnlessRequiredId } from 'mongodb';
import type { LogAnchor, Position, Revision } from '../../../ports/eventStore.js';
import type { Parked } from '../../../ports/projectionProgress.js';
import type { TableFigures, TableRef } from '../../../ports/readModels.js';
import type { RebuildScope } from '../../../ports/readModelWriter.js';
import type { LaneDb } from './connection.js';
import type { StoredLayout, StoredShape } from './layout.js';
import type { RecordDocument } from './recordDocument.js';

export type Kind = 'records' | 'history' | 'deliveries';

/** The kind of each projection's collections. */
export const KINDS: { readonly [projection in RebuildScope['projection']]: Kind } = {
  records: 'records',
  order_history: 'history',
  deliveries: 'deliveries',
};

/**
 * A table of a tenant or, with the table '', the history of its orders or its delivery log. A reader that finds an entry the
 * same before and after a query, and not `applying`, has seen whole commits only.
 */
export type CatalogEntry = {
  readonly _id: string;
  readonly kind: Kind;
  readonly tenant: string;
  readonly table: string;
  /** The rebuild that fills it; null if it is served. */
  readonly rebuild: string | null;
  readonly collection: string;
  /**
   * The collection of deleted records; missing or null until a clean-up has deleted some. It needs no fencing: a late
   * writer does not overwrite later records.
   */
  readonly swept?: string | null;
  /** False until the first record: the collection and its indexes do not exist yet. */
  readonly made: boolean;
  /** Fencing token of the lease whose holder may change it; see lease.ts. */
  readonly fence: number;
  /** Grows with every change of this entry, and so of the records. */
  readonly version: number;
  /** Changes are being written: records may be newer than `revision`. */
  readonly applying: boolean;
  /** While the collection is renamed: its new name. */
  readonly moving: string | null;
  /** Revision of the last event whose changes are all written. */
  readonly revision: Revision;
  readonly lastEventAt: string;
  readonly count: number;
  /** Grows with each change of the asset type. */
  readonly shape: number;
  /** Its records have n-grams. Read by earlier releases. */
  readonly grams: true;
};

/** Asset type and layout are long and seldom change, so most reads leave them out. */
export type StoredEntry = CatalogEntry & {
  readonly assetType: string;
  /**
   * The layout of the records. An earlier release left it out, or left that of an earlier asset type: then the records are
   * laid out in the order of the asset type.
   */
  readonly layout?: StoredLayout;
};

/** The progress of the projections. */
export type State = {
  readonly _id: 'state';
  /** Fencing token of the lease whose holder may commit. */
  readonly fence: number;
  readonly checkpoints: readonly Checkpoint[];
  /** The checkpoints of the last commit: beyond `checkpoints` while it is written, and after a crash. */
  readonly until: readonly Checkpoint[];
  /** The furthest event that was projected, by which the log is known again. Missing in earlier releases. */
  readonly place?: StoredPlace;
  /** Parked tenants. Missing in earlier releases. */
  readonly parked?: readonly StoredParked[];
};

/** A tenant's part of a projection that is parked. */
export type StoredParked = Omit<Parked, 'retryAsked'> & {
  /** The checkpoint of the last commit: beyond `checkpoint` if some of its changes may be written already. */
  readonly until: Position;
};

type StoredPlace = {
  readonly log: string | null;
  readonly position: Position;
  readonly eventId: string | null;
};

export type Checkpoint = { readonly name: string; readonly position: Position };

export const positionOf = (checkpoints: readonly Checkpoint[] | undefined, name: string): Position =>
  checkpoints?.find((each) => each.name === name)?.position ?? 0;

export const storedPlace = ({ log, position, eventId }: LogAnchor): StoredPlace => ({
  log: log ?? null,
  position,
  eventId: eventId ?? null,
});

export const placeOf = (state: State | undefined): LogAnchor | undefined =>
  state?.place && { ...state.place, log: state.place.log ?? undefined, eventId: state.place.eventId ?? undefined };

export type HistoryDocument = {
  readonly _id: string;
  /** Id of the order. */
  readonly o: string;
  /** Revision in the order's stream. */
  readonly n: number;
  /** Bytes of the entry; unset in entries of earlier releases. */
  readonly s?: number;
  /** The entry as JSON text. */
  readonly e: string;
};

export const catalogOf = (db: LaneDb): Collection<StoredEntry> => db.collection<StoredEntry>('catalog');
export const stateOf = (db: LaneDb): Collection<State> => db.collection<State>('state');
export const recordsOf = (db: LaneDb, { collection }: CatalogEntry): Collection<RecordDocument> =>
  db.collection<RecordDocument>(collection);
export const historyOf = (db: LaneDb, { collection }: CatalogEntry): Collection<HistoryDocument> =>
  db.collection<HistoryDocument>(collection);

/** Names of collections are random: they hold nothing that a user chose. */
export const newCollectionName = (kind: Kind | 'swept'): string => `${kind}_${new ObjectId().toHexString()}`;
export const COLLECTION_NAME = /^(records|history|deliveries|swept)_[0-9a-f]{24}$/;

/** Neither a tenant nor a kind has a dot. */
export const recordsEntryId = ({ tenant, table }: TableRef): string => `records.${tenant}.${table}`;
export const tenantEntryId = (kind: Exclude<Kind, 'records'>, tenant: string): string => `${kind}.${tenant}`;

export const findEntry = (db: LaneDb, _id: string): Promise<CatalogEntry | null> =>
  catalogOf(db).findOne<CatalogEntry>({ _id }, { projection: { assetType: 0, layout: 0 } });

export async function figuresOf(db: LaneDb, tables: readonly TableRef[]): Promise<readonly TableFigures[]> {
  const _id = { $in: tables.map(recordsEntryId) };
  const projection = { tenant: 1, table: 1, count: 1, lastEventAt: 1 } as const;
  type Found = Pick<CatalogEntry, keyof typeof projection>;
  const found = await catalogOf(db).find<Found>({ _id }, { projection }).toArray();
  return found.map(({ tenant, table, count, lastEventAt }) => ({ tenant, table, records: count, lastEventAt }));
}

export const findShape = (db: LaneDb, _id: string): Promise<StoredShape | null> =>
  catalogOf(db).findOne<StoredShape>({ _id }, { projection: { assetType: 1, layout: 1 } });

export const readState = async (db: LaneDb): Promise<State | undefined> =>
  (await stateOf(db).findOne({ _id: 'state' })) ?? undefined;

const DUPLICATE_KEY = 11_000;

export const isDuplicateKey = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/**
 * Inserts a document with a chosen _id: when several try, one succeeds.
 * @returns false if there is a document with this _id
 */
export async function insertOnce<Schema extends Document>(
  collection: Collection<Schema>,
  document: OptionalUnlessRequiredId<Schema>,
): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
