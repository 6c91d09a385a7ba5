/** The records that clean-ups deleted: a key that comes back gets its former id, and a clean-up can be undone. */
import type { Filter, IndexDescription } from 'mongodb';
import { MAX_UNDONE_CHARACTERS } from '../../../domain/limits.js';
import { forgottenBefore } from '../../../domain/referenceTable/deletionHistory.js';
import type { DecisionReads, DeletedPage, DeletedRecord } from '../../../ports/decisionReads.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordReads } from '../../../ports/readModels.js';
import { type RecordText, storedId } from '../shared/recordText.js';
import { CLEANED_UP_RECORDS, COLLECTION_NAME, isDuplicateKey } from './catalog.js';
import type { LaneDb } from './connection.js';
import type { Part, WriteOfOne } from './part.js';
import { type RecordDocument, refusedRecord } from './recordDocument.js';

/** A deleted record: its id and key, revision and time of the clean-up, and its document (see RecordDocument). */
export type CleanedUpRecord = {
  readonly _id: string;
  readonly k: string;
  readonly r: Revision;
  /** Left out by earlier releases. */
  readonly t?: string;
} & Partial<Pick<RecordDocument, 'b' | 'w' | 'd'>>;

/** @param swept of the catalog's entry. Earlier releases named a collection of the table's own. */
export const cleanedUpIn = (db: LaneDb, swept: string): Part<CleanedUpRecord> =>
  db.part<CleanedUpRecord>(
    COLLECTION_NAME.test(swept) ? { collection: swept } : { collection: CLEANED_UP_RECORDS, of: swept },
  );

export const CLEANED_UP_INDEXES: readonly IndexDescription[] = [
  { name: 'key', key: { of: 1, k: 1 } },
  { name: 'cleanUp', key: { of: 1, r: 1, _id: 1 } },
  { name: 'time', key: { of: 1, t: 1 } },
];

const RECORDS_AT_ONCE = 1_000;
const CHARACTERS_AT_ONCE = 4_000_000;

/** Where the records of a clean-up are kept, and its revision and time. */
export type KeptIn = { readonly cleanedUp: Part<CleanedUpRecord>; readonly r: Revision; readonly t: string };

type Gone = Pick<RecordDocument, '_id'> & Partial<Pick<RecordDocument, 'k' | 'b' | 'w' | 'd'>>;

/**
 * Deletes records, and keeps them first if a place is named. One command for millions of them would take longer than a
 * socket waits, so they go in pieces. It is idempotent; and when a writer that has lost its lease is late, it does not
 * overwrite the kept records of a later clean-up.
 * @param before called with the ids of each piece before they are deleted
 * @returns how many
 */
export async function sweepRecords(
  records: Part<RecordDocument>,
  outside: Filter<RecordDocument>,
  keptIn?: KeptIn,
  before?: (ids: readonly string[]) => Promise<void>,
): Promise<number> {
  let deleted = 0;
  const projection = keptIn === undefined ? { _id: 1 } : { k: 1, b: 1, w: 1, d: 1 };
  for await (const some of inPieces(records.find<Gone>(outside, { projection, batchSize: RECORDS_AT_ONCE }))) {
    if (keptIn !== undefined) await keep(keptIn, some);
    await before?.(some.map(({ _id }) => _id));
    const { deletedCount } = await records.deleteMany({ ...outside, _id: { $in: some.map(({ _id }) => _id) } });
    deleted += deletedCount;
  }
  return deleted;
}

async function keep({ cleanedUp, r, t }: KeptIn, gone: readonly Gone[]): Promise<void> {
  await put(
    cleanedUp,
    gone.flatMap(({ k, ...rest }) => (typeof k === 'string' ? [{ ...rest, k, r, t }] : [])),
  );
}

/** Removes records that expired before this clean-up. */
export async function forgetRecords(cleanedUp: Part<CleanedUpRecord>, at: string): Promise<void> {
  const options = { sort: { t: -1 }, projection: { r: 1 } } as const;
  const last = await cleanedUp.findOne({ t: { $lt: forgottenBefore(at) } }, options);
  if (last === null) return;
  const expired = cleanedUp.find<Gone>({ r: { $lte: last.r } }, { projection: { _id: 1 }, batchSize: RECORDS_AT_ONCE });
  for await (const some of inPieces(expired)) await cleanedUp.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } });
}

async function* inPieces(found: AsyncIterable<Gone>): AsyncGenerator<readonly Gone[]> {
  let some: Gone[] = [];
  let characters = 0;
  for await (const each of found) {
    some.push(each);
    characters += each.d?.length ?? 0;
    if (some.length < RECORDS_AT_ONCE && characters <= CHARACTERS_AT_ONCE) continue;
    yield some;
    some = [];
    characters = 0;
  }
  if (some.length > 0) yield some;
}

/** Leaves records that a later clean-up has deleted again. */
async function put(cleanedUp: Part<CleanedUpRecord>, records: readonly CleanedUpRecord[]): Promise<void> {
  const [first] = records;
  if (first === undefined) return;
  // Two calls, as some servers search the whole collection for each upsert.
  await cleanedUp.deleteMany({ _id: { $in: records.map(({ _id }) => _id) }, r: { $lte: first.r } });
  try {
    await cleanedUp.insertMany(records, refusedRecord);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    await putEach(cleanedUp, records);
  }
}

async function putEach(cleanedUp: Part<CleanedUpRecord>, records: readonly CleanedUpRecord[]): Promise<void> {
  const writes = records.map(({ _id, r, ...rest }): WriteOfOne<CleanedUpRecord> => {
    return { updateOne: { filter: { _id, r: { $lte: r } }, update: { $set: { r, ...rest } }, upsert: true } };
  });
  try {
    await cleanedUp.bulkWrite(writes, { ordered: false, refused: refusedRecord });
  } catch (error) {
    // One exists with a later revision, and some servers stop there.
    if (!isDuplicateKey(error)) throw error;
    const later = new Set<string>();
    const there = cleanedUp.find({ _id: { $in: records.map(({ _id }) => _id) } }, { projection: { r: 1 } });
    for await (const { _id, r } of there) if (r > (records[0]?.r ?? r)) later.add(_id);
    if (later.size === 0) throw error;
    await putEach(
      cleanedUp,
      records.filter(({ _id }) => !later.has(_id)),
    );
  }
}

/** The ids that the records of these keys had before clean-ups deleted them. */
export async function formerIds(
  cleanedUp: Part<CleanedUpRecord>,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const projection = { k: 1, r: 1 };
  const found = await cleanedUp.find({ k: { $in: [...keys] } }, { projection }).toArray();
  return new Map(found.sort((a, b) => a.r - b.r).map(({ k, _id }) => [k, _id]));
}

/** See `RecordReads`. */
export async function cleanedUpRecord(
  cleanedUp: Part<CleanedUpRecord>,
  text: RecordText,
  id: string,
): Promise<Awaited<ReturnType<RecordReads['cleanedUpRecord']>>> {
  const _id = storedId(id);
  const found = _id === undefined ? null : await cleanedUp.findOne({ _id, d: { $exists: true } });
  return found === null ? undefined : { revision: found.r, fields: text.fields(found.w ?? 0, found.d ?? '') };
}

/** How many of these have a key that no later clean-up has deleted again. */
async function countLast(
  cleanedUp: Part<CleanedUpRecord>,
  of: Parameters<Part<CleanedUpRecord>['find']>[0],
): Promise<number> {
  let count = 0;
  let some: { readonly _id: string; readonly k: string }[] = [];
  const countSome = async (): Promise<void> => {
    const lastOfKey = await formerIds(
      cleanedUp,
      some.map(({ k }) => k),
    );
    count += some.filter(({ _id, k }) => lastOfKey.get(k) === _id).length;
    some = [];
  };
  for await (const each of cleanedUp.find(of, { projection: { k: 1 }, batchSize: RECORDS_AT_ONCE })) {
    some.push(each);
    if (some.length === RECORDS_AT_ONCE) await countSome();
  }
  if (some.length > 0) await countSome();
  return count;
}

/** See `DecisionReads`. */
export async function deletedRecords(
  cleanedUp: Part<CleanedUpRecord>,
  text: RecordText,
  cleanUp: Revision,
  { after = '', limit, isCounted = false }: Parameters<DecisionReads['deletedRecords']>[2],
): Promise<DeletedPage> {
  const ofCleanUp = { r: cleanUp, d: { $exists: true }, _id: { $gt: after } };
  const total = isCounted ? await countLast(cleanedUp, ofCleanUp) : undefined;
  const options = { sort: { _id: 1 }, limit: limit + 1, batchSize: limit + 1 } as const;
  const found: CleanedUpRecord[] = [];
  let isLast = true;
  let characters = 0;
  for await (const record of cleanedUp.find(ofCleanUp, options)) {
    characters += record.d?.length ?? 0;
    isLast = !(found.length === limit || (found.length > 0 && characters > MAX_UNDONE_CHARACTERS));
    if (!isLast) break;
    found.push(record);
  }
  const lastOfKey = await formerIds(
    cleanedUp,
    found.map(({ k }) => k),
  );
  const records = found
    .filter(({ _id, k }) => lastOfKey.get(k) === _id)
    .map(({ _id, b = null, w = 0, d = '' }): DeletedRecord => ({ id: _id, batchId: b, fields: text.fields(w, d) }));
  return { records, total, next: isLast ? undefined : found.at(-1)?._id };
}
