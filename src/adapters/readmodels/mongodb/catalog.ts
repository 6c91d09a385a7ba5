/** The catalog: the tables, histories and delivery logs, the collection of each, and its revision. */
import {
  type Collection,
  type Document,
  type Filter,
  MongoServerError,
  ObjectId,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import type { LogAnchor, Position, Revision } from '../../../ports/eventStore.js';
import type { Parked } from '../../../ports/projectionProgress.js';
import type { TableFigures, TableRef } from '../../../ports/readModels.js';
import type { RebuildScope } from '../../../ports/readModelWriter.js';
import type { LaneDb } from './connection.js';
import type { StoredShape } from './layout.js';
import type { Part, Place } from './part.js';
import type { RecordDocument } from './recordDocument.js';

export type Kind = 'records' | 'history' | 'deliveries' | 'activity';

/** The kind of each projection's collections. */
export const KINDS: { readonly [projection in RebuildScope['projection']]: Kind } = {
  records: 'records',
  order_history: 'history',
  deliveries: 'deliveries',
  activity: 'activity',
};

/**
 * A table of a tenant or, with the table '', the history of its orders, its delivery log or its activity. A reader that finds an entry the
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
  /** While it is small: its part of the collection that small ones share. Missing or null if it has one for itself. */
  readonly of?: string | null;
  /** The collection that it is about to get, as it is small no more; null or missing otherwise. */
  readonly growing?: string | null;
  /**
   * The part of deleted records; missing or null until a clean-up has deleted some. It needs no fencing: a late writer does
   * not overwrite later records.
   */
  readonly swept?: string | null;
  /** The part of the events that concern each record; missing or null until one does. It needs no fencing either. */
  readonly events?: string | null;
  /** False until the first record: the collection and its indexes do not exist yet. */
  readonly made: boolean;
  /** It has got fields whose indexes are to be built beside the commits; missing if not. */
  readonly indexing?: boolean;
  /** Fencing token of the lease whose holder may change it; see lease.ts. */
  readonly fence: number;
  /** Grows with every change of this entry, and so of the records. */
  readonly version: number;
  /** Changes are being written: records may be newer than `revision`. */
  readonly applying: boolean;
  /** While the collection is renamed, or the part copied: its new name. */
  readonly moving: string | null;
  /** Revision of the last event whose changes are all written. */
  readonly revision: Revision;
  readonly lastEventAt: string;
  readonly count: number;
  /** Grows with each change of the asset type. */
  readonly shape: number;
  /** The document with asset type and layout; missing if the entry has them. */
  readonly definition?: string;
  /** Its records have n-grams. Read by earlier releases. */
  readonly grams: true;
};

/**
 * Asset type and layout are long and seldom change, and entries are written by each commit and each new holder of the lease: so
 * a table has them in a document of their own, which is never changed. Histories, logs and activity have short ones, and
 * tables of earlier releases have long ones, in the entry.
 */
type Definition = StoredShape & { readonly _id: string };
export type StoredEntry = CatalogEntry & StoredShape;

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

/** A commit was announced and has not ended: some of its changes may be written. */
export const isUnfinished = ({ checkpoints, until }: State, name: string): boolean =>
  positionOf(until, name) > positionOf(checkpoints, name);

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

export type ActivityDocument = {
  /** Place in the log: position and revision, padded with zeros. */
  readonly _id: string;
  /** Time in microseconds, position and revision. */
  readonly a: number;
  readonly p: number;
  readonly n: number;
  /** Numbers that stand for correlation id, subject, id of the order, kind, actor and table; null where it has none. */
  readonly x: number | null;
  readonly s: number | null;
  readonly o: number | null;
  readonly k: number | null;
  readonly c: number | null;
  readonly t: number | null;
  /** The entry as JSON text. */
  readonly e: string;
};

const CATALOG: Place = { collection: 'catalog' };
const DEFINITIONS: Place = { collection: 'definitions' };
type Entry = CatalogEntry & Partial<StoredShape>;
export const catalogOf = (db: LaneDb): Collection<Entry> => db.collection<Entry>(CATALOG.collection);
export const definitionsOf = (db: LaneDb): Collection<Definition> => db.collection<Definition>(DEFINITIONS.collection);
export const stateOf = (db: LaneDb): Collection<State> => db.collection<State>('state');
export const recordsOf = (db: LaneDb, entry: CatalogEntry): Part<RecordDocument> => db.part<RecordDocument>(entry);
export const historyOf = (db: LaneDb, entry: CatalogEntry): Part<HistoryDocument> => db.part<HistoryDocument>(entry);
export const activityOf = (db: LaneDb, entry: CatalogEntry): Part<ActivityDocument> => db.part<ActivityDocument>(entry);

/** Names of collections are random: they hold nothing that a user chose. */
export const newCollectionName = (kind: Kind): string => `${kind}_${new ObjectId().toHexString()}`;
export const newPartName = (): string => new ObjectId().toHexString();
export const COLLECTION_NAME = /^(records|history|deliveries|activity|swept)_[0-9a-f]{24}$/;

/** The collections that have parts. */
export const smallCollection = (kind: Kind): string => `small_${kind}`;
export const CLEANED_UP_RECORDS = 'cleaned_up_records';
export const RECORD_EVENTS = 'record_events';
export const SHARED_COLLECTIONS: readonly string[] = [
  ...Object.values(KINDS).map(smallCollection),
  CLEANED_UP_RECORDS,
  RECORD_EVENTS,
];

/** Neither a tenant nor a kind has a dot. */
export const recordsEntryId = ({ tenant, table }: TableRef): string => `records.${tenant}.${table}`;
export const tenantEntryId = (kind: Exclude<Kind, 'records'>, tenant: string): string => `${kind}.${tenant}`;

export const findEntry = (db: LaneDb, _id: string): Promise<CatalogEntry | null> =>
  db.part<Entry>(CATALOG).findOne<CatalogEntry>({ _id }, { projection: { assetType: 0, layout: 0 } });

export async function figuresOf(db: LaneDb, tables: readonly TableRef[]): Promise<readonly TableFigures[]> {
  const _id = { $in: tables.map(recordsEntryId) };
  const projection = { tenant: 1, table: 1, count: 1, lastEventAt: 1 } as const;
  type Found = Pick<CatalogEntry, keyof typeof projection>;
  const found = await catalogOf(db).find<Found>({ _id }, { projection }).toArray();
  return found.map(({ tenant, table, count, lastEventAt }) => ({ tenant, table, records: count, lastEventAt }));
}

/** Null if the entry has got another one meanwhile. */
export const findShape = (db: LaneDb, { _id, definition }: CatalogEntry): Promise<StoredShape | null> =>
  definition === undefined
    ? db.part<Entry>(CATALOG).findOne<StoredShape>({ _id, assetType: { $exists: true } })
    : db.part<Definition>(DEFINITIONS).findOne<StoredShape>({ _id: definition });

/** Entries with asset type and layout, without those that have got other ones meanwhile. */
export async function wholeEntries(db: LaneDb, filter: Filter<CatalogEntry>): Promise<readonly StoredEntry[]> {
  const entries = await db.collection<Entry>(CATALOG.collection).find(filter).toArray();
  const names = entries.flatMap(({ definition }) => definition ?? []);
  const found =
    names.length === 0
      ? []
      : await definitionsOf(db)
          .find({ _id: { $in: names } })
          .toArray();
  const byName = new Map(found.map((each) => [each._id, each]));
  return entries.flatMap(({ assetType, layout, ...entry }): StoredEntry[] => {
    const shape = entry.definition === undefined ? { assetType, layout } : byName.get(entry.definition);
    if (shape?.assetType === undefined) return [];
    return [{ ...entry, assetType: shape.assetType, ...(shape.layout === undefined ? {} : { layout: shape.layout }) }];
  });
}

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
