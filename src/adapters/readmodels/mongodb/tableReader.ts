/** Reads a table's records from the collection that the catalog names. */

import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { MongoServerError } from 'mongodb';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordJson, RecordReads } from '../../../ports/readModels.js';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { PageRoom } from '../shared/answerSize.js';
import { type CatalogEntry, findEntry, findShape, recordsOf } from './catalog.js';
import { cleanedUpIn } from './cleanedUpRecords.js';
import type { LaneDb, MongoConnection, whileWanted } from './connection.js';
import type { RecordFilter } from './filters.js';
import type { Part } from './part.js';
import {
  type RecordDocument,
  recordJson,
  shapeOf,
  type TableShape,
  WHOLE_RECORD,
  type WholeRecord,
} from './recordDocument.js';

export type ReadTable = TableShape & {
  readonly db: LaneDb;
  readonly entry: CatalogEntry;
  readonly records: Part<RecordDocument>;
  /** Whether some record fulfils a filter; asked of the server once for each version of the table. */
  readonly hasAny: (filter: RecordFilter, wanted: Wanted) => Promise<boolean>;
};

type Wanted = ReturnType<typeof whileWanted>;

/** The result is undefined if nothing was ever written. */
type Found<Result> = { readonly entry: CatalogEntry; readonly result: Result | undefined };

/** A reader waits so long for a moment without a half-written commit; then it reads nevertheless. */
const WHOLE_COMMITS_MS = 150;
/** Collections are renamed or replaced much more quickly. */
const READ_TIMEOUT_MS = 5_000;
const POLL_MS = 5;
/**
 * QueryPlanKilled and NamespaceNotFound: the collection was renamed or dropped under the query. SnapshotTooOld and
 * SnapshotUnavailable: nothing is kept of that moment.
 */
const COLLECTION_GONE: readonly unknown[] = [175, 26, 239, 246];

export class TableReader {
  readonly #connection: MongoConnection;
  readonly #shapes = new LRUCache<string, TableShape>({ max: 1_000 });
  readonly #known = new LRUCache<string, boolean>({ max: 1_000 });

  readonly #wholeCommitsMs: number;

  constructor(connection: MongoConnection, wholeCommitsMs = WHOLE_COMMITS_MS) {
    this.#connection = connection;
    this.#wholeCommitsMs = wholeCommitsMs;
  }

  /**
   * Runs `work` on the table so that it sees whole commits if possible, and in any case the collection that was served all
   * the time: at one moment between two commits, where the server has that; else again if the table changed meanwhile.
   *
   * The result has at least every change up to the entry's revision: the writer stores the revision after all of them, and
   * here it was read before the records. It may have changes of later events. A decision made from those is safe too: these
   * events are in the log already, so an append that expects the older revision conflicts.
   *
   * @param isFinal for results that a second reading would not change
   * @returns undefined if there is no such table, or nothing was ever written to it
   */
  read<Result>(
    entryId: string,
    work: (table: ReadTable) => Promise<Result>,
    isFinal?: (result: Result) => boolean,
  ): Promise<Found<Result> | undefined> {
    return this.#connection.run(async (db) => {
      const startedAt = performance.now();
      for (let entry = await findEntry(db, entryId); ; entry = await findEntry(db, entryId)) {
        if (entry === null) return undefined;
        if (!entry.made) return { entry, result: undefined };
        const ms = performance.now() - startedAt;
        const accepts = ms > this.#wholeCommitsMs ? 'any' : 'whole';
        const found = await this.#read(db, entry, work, isFinal, accepts);
        if (found !== undefined) return found;
        if (ms > Math.max(READ_TIMEOUT_MS, this.#wholeCommitsMs))
          throw new ReadModelsUnavailableError('The read models are being rebuilt.');
        await delay(POLL_MS);
      }
    });
  }

  /** @returns undefined if the table was not as it is accepted */
  async #read<Result>(
    db: LaneDb,
    entry: CatalogEntry,
    work: (table: ReadTable) => Promise<Result>,
    isFinal: ((result: Result) => boolean) | undefined,
    accepts: 'whole' | 'any',
  ): Promise<Found<Result> | undefined> {
    if (entry.moving !== null) return undefined;
    // What is found during a commit would be read again.
    if (accepts === 'whole' && isFinal === undefined) {
      if (entry.applying) return undefined;
      if (db.hasMoments) return db.atOneMoment((moment) => this.#readAt(moment, entry, work));
    }
    const result = await this.#attempt(db, entry, work);
    if (result === undefined) return undefined;
    if (isFinal?.(result.value)) return { entry, result: result.value };
    const after = await findEntry(db, entry._id);
    if (after === null || placeOf(after) !== placeOf(entry) || after.moving !== null) return undefined;
    const isWhole = after.version === entry.version && !entry.applying;
    return isWhole || accepts === 'any' ? { entry, result: result.value } : undefined;
  }

  /** @returns undefined if the moment lies before the entry was written, or in another commit */
  async #readAt<Result>(
    moment: LaneDb,
    { _id, version }: CatalogEntry,
    work: (table: ReadTable) => Promise<Result>,
  ): Promise<Found<Result> | undefined> {
    const entry = await findEntry(moment, _id);
    if (entry === null || entry.version < version || entry.applying || entry.moving !== null) return undefined;
    const result = await this.#attempt(moment, entry, work);
    return result && { entry, result: result.value };
  }

  async #attempt<Result>(
    db: LaneDb,
    entry: CatalogEntry,
    work: (table: ReadTable) => Promise<Result>,
  ): Promise<{ readonly value: Result } | undefined> {
    const shape = await this.#shape(db, entry);
    if (shape === undefined) return undefined;
    try {
      const records = recordsOf(db, entry);
      const hasAny: ReadTable['hasAny'] = (filter, wanted) => this.#hasAny({ entry, records }, filter, wanted);
      return { value: await work({ db, entry, records, hasAny, ...shape }) };
    } catch (error) {
      if (error instanceof MongoServerError && COLLECTION_GONE.includes(error.code)) return undefined;
      throw error;
    }
  }

  async #hasAny(
    { entry, records }: Pick<ReadTable, 'entry' | 'records'>,
    filter: RecordFilter,
    wanted: Wanted,
  ): Promise<boolean> {
    const key = `${placeOf(entry)}.${entry.version}.${JSON.stringify(filter)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = (await records.findOne(filter, { ...wanted, projection: { _id: 1 } })) !== null;
    this.#known.set(key, found);
    return found;
  }

  async #shape(db: LaneDb, entry: CatalogEntry): Promise<TableShape | undefined> {
    const key = `${placeOf(entry)}.${entry.shape}`;
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const stored = await findShape(db, entry);
    if (stored === null) return undefined;
    const made = shapeOf({ ...stored, of: entry.of ?? null });
    this.#shapes.set(key, made);
    return made;
  }
}

const placeOf = ({ collection, of }: CatalogEntry): string => `${collection}.${of ?? ''}`;

/** Records may have megabytes. */
const RECORDS_AT_ONCE = 50;

/** The records of the first ids, up to a page. */
export async function readByIds(
  { records, text }: ReadTable,
  ids: readonly string[],
  wanted: Wanted,
): Promise<readonly (RecordJson | null)[]> {
  const room = new PageRoom();
  const found: (RecordJson | null)[] = [];
  for (let at = 0; at < ids.length; at += RECORDS_AT_ONCE) {
    const some = ids.slice(at, at + RECORDS_AT_ONCE);
    const options = { ...wanted, projection: WHOLE_RECORD, batchSize: RECORDS_AT_ONCE };
    const byId = new Map<string, RecordJson>();
    for await (const record of records.find<WholeRecord>({ _id: { $in: some } }, options)) {
      byId.set(record._id, recordJson(text, record));
    }
    for (const id of some) {
      const json = byId.get(id) ?? null;
      if (!room.take(json ?? '')) return found;
      found.push(json);
    }
  }
  return found;
}

/** See `RecordReads`. */
export async function readCleanedUpIds(
  { db, entry }: ReadTable,
  cleanUp: Revision,
  { behind = '', limit }: Parameters<RecordReads['cleanedUpIds']>[2],
  wanted: Wanted,
): Promise<readonly string[]> {
  if (!entry.swept) return [];
  const options = { ...wanted, sort: { _id: 1 }, limit, batchSize: limit, projection: { _id: 1 } } as const;
  const found = await cleanedUpIn(db, entry.swept)
    .find({ r: cleanUp, _id: { $gt: behind } }, options)
    .toArray();
  return found.map(({ _id }) => _id);
}
