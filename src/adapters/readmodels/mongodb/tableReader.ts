/** Reads a table's records from the collection that the catalog names. */

import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type Collection, MongoServerError } from 'mongodb';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordJson, RecordReads } from '../../../ports/readModels.js';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { PageRoom } from '../shared/answerSize.js';
import { type CatalogEntry, findEntry, findShape, recordsOf } from './catalog.js';
import { cleanedUpIn } from './cleanedUpRecords.js';
import type { LaneDb, MongoConnection, whileWanted } from './connection.js';
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
  readonly records: Collection<RecordDocument>;
};

/** The result is undefined if nothing was ever written. */
type Found<Result> = { readonly entry: CatalogEntry; readonly result: Result | undefined };

/** A reader waits so long for a moment without a half-written commit; then it reads nevertheless. */
const WHOLE_COMMITS_MS = 150;
/** Collections are renamed or replaced much more quickly. */
const READ_TIMEOUT_MS = 5_000;
const POLL_MS = 5;
/** QueryPlanKilled and NamespaceNotFound: the collection was renamed or dropped under the query. */
const COLLECTION_GONE: readonly unknown[] = [175, 26];

export class TableReader {
  readonly #connection: MongoConnection;
  readonly #shapes = new LRUCache<string, TableShape>({ max: 1_000 });

  constructor(connection: MongoConnection) {
    this.#connection = connection;
  }

  /**
   * Runs `work` on the table, and again if the table changed meanwhile: so it sees whole commits if possible, and in any
   * case the collection that was served all the time.
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
    isFinal: (result: Result) => boolean = () => false,
  ): Promise<Found<Result> | undefined> {
    return this.#connection.run(async (db) => {
      const startedAt = performance.now();
      for (let before = await findEntry(db, entryId); ; ) {
        if (before === null) return undefined;
        if (!before.made) return { entry: before, result: undefined };
        const result = before.moving === null ? await this.#attempt(db, before, work) : undefined;
        if (result !== undefined && isFinal(result.value)) return { entry: before, result: result.value };
        const after = await findEntry(db, entryId);
        if (result !== undefined && after?.collection === before.collection && after.moving === null) {
          const isConsistent = after.version === before.version && !before.applying;
          if (isConsistent || performance.now() - startedAt > WHOLE_COMMITS_MS)
            return { entry: before, result: result.value };
        }
        if (performance.now() - startedAt > READ_TIMEOUT_MS) {
          throw new ReadModelsUnavailableError('The read models are being rebuilt.');
        }
        await delay(POLL_MS);
        before = await findEntry(db, entryId);
      }
    });
  }

  async #attempt<Result>(
    db: LaneDb,
    entry: CatalogEntry,
    work: (table: ReadTable) => Promise<Result>,
  ): Promise<{ readonly value: Result } | undefined> {
    const shape = await this.#shape(db, entry);
    if (shape === undefined) return undefined;
    try {
      return { value: await work({ db, entry, records: recordsOf(db, entry), ...shape }) };
    } catch (error) {
      if (error instanceof MongoServerError && COLLECTION_GONE.includes(error.code)) return undefined;
      throw error;
    }
  }

  async #shape(db: LaneDb, { _id, collection, shape }: CatalogEntry): Promise<TableShape | undefined> {
    const key = `${collection}.${shape}`;
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const stored = await findShape(db, _id);
    if (stored === null) return undefined;
    const made = shapeOf(stored);
    this.#shapes.set(key, made);
    return made;
  }
}

/** Records may have megabytes. */
const RECORDS_AT_ONCE = 50;

type Wanted = ReturnType<typeof whileWanted>;

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
