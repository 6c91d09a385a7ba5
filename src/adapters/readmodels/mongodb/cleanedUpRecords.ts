/** The records that clean-ups deleted: a key that comes back gets its former id, and a clean-up can be undone. */
import type { AnyBulkWriteOperation, Collection, Filter, IndexDescription } from 'mongodb';
import { MAX_UNDONE_CHARACTERS } from '../../../domain/limits.js';
import { forgottenBefore } from '../../../domain/referenceTable/deletionHistory.js';
import type { DecisionReads, DeletedPage, DeletedRecord } from '../../../ports/decisionReads.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordText } from '../shared/recordText.js';
import { isDuplicateKey } from './catalog.js';
import type { LaneDb } from './connection.js';
import type { RecordDocument } from './recordDocument.js';

/** A deleted record: its id and key, revision and time of the clean-up, and its document (see RecordDocument). */
export type CleanedUpRecord = {
  readonly _id: string;
  readonly k: string;
  readonly r: Revision;
  /** Left out by earlier releases. */
  readonly t?: string;
} & Partial<Pick<RecordDocument, 'b' | 'w' | 'd'>>;

export const cleanedUpIn = (db: LaneDb, collection: string): Collection<CleanedUpRecord> =>
  db.collection<CleanedUpRecord>(collection);

export const CLEANED_UP_INDEXES: readonly IndexDescription[] = [
  { name: 'key', key: { k: 1 } },
  { name: 'cleanUp', key: { r: 1, _id: 1 } },
  { name: 'time', key: { t: 1 } },
];

const RECORDS_AT_ONCE = 1_000;
const CHARACTERS_AT_ONCE = 4_000_000;

/**
 * Stores the records that are about to be deleted. It is idempotent; and when a writer that has lost its lease is late, it
 * does not overwrite the records of a later clean-up.
 */
export async function keepRecords(
  cleanedUp: Collection<CleanedUpRecord>,
  records: Collection<RecordDocument>,
  deleted: Filter<RecordDocument>,
  { r, t }: { readonly r: Revision; readonly t: string },
): Promise<void> {
  type Gone = Pick<RecordDocument, '_id' | 'k' | 'b' | 'w' | 'd'>;
  const options = { projection: { k: 1, b: 1, w: 1, d: 1 }, batchSize: RECORDS_AT_ONCE };
  let some: CleanedUpRecord[] = [];
  let characters = 0;
  for await (const { _id, k, b, w, d } of records.find<Gone>(deleted, options)) {
    if (typeof k !== 'string') continue;
    some.push({ _id, k, r, t, b, w, d });
    characters += d.length;
    if (some.length < RECORDS_AT_ONCE && characters <= CHARACTERS_AT_ONCE) continue;
    await put(cleanedUp, some);
    some = [];
    characters = 0;
  }
  await put(cleanedUp, some);
}

/** Removes records that expired before this clean-up. */
export async function forgetRecords(cleanedUp: Collection<CleanedUpRecord>, at: string): Promise<void> {
  const options = { sort: { t: -1 }, projection: { r: 1 } } as const;
  const last = await cleanedUp.findOne({ t: { $lt: forgottenBefore(at) } }, options);
  if (last !== null) await cleanedUp.deleteMany({ r: { $lte: last.r } });
}

/** Leaves records that a later clean-up has deleted again. */
async function put(cleanedUp: Collection<CleanedUpRecord>, records: readonly CleanedUpRecord[]): Promise<void> {
  const [first] = records;
  if (first === undefined) return;
  // Two calls, as some servers search the whole collection for each upsert.
  await cleanedUp.deleteMany({ _id: { $in: records.map(({ _id }) => _id) }, r: { $lte: first.r } });
  try {
    await cleanedUp.insertMany([...records], { ordered: false });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    await putEach(cleanedUp, records);
  }
}

async function putEach(cleanedUp: Collection<CleanedUpRecord>, records: readonly CleanedUpRecord[]): Promise<void> {
  const writes = records.map(({ _id, r, ...rest }): AnyBulkWriteOperation<CleanedUpRecord> => {
    return { updateOne: { filter: { _id, r: { $lte: r } }, update: { $set: { r, ...rest } }, upsert: true } };
  });
  if (writes.length === 0) return;
  try {
    await cleanedUp.bulkWrite(writes, { ordered: false });
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
  cleanedUp: Collection<CleanedUpRecord>,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const projection = { k: 1, r: 1 };
  const found = await cleanedUp.find({ k: { $in: [...keys] } }, { projection }).toArray();
  return new Map(found.sort((a, b) => a.r - b.r).map(({ k, _id }) => [k, _id]));
}

/** See `DecisionReads`. */
export async function deletedRecords(
  cleanedUp: Collection<CleanedUpRecord>,
  text: RecordText,
  cleanUp: Revision,
  { after = '', limit, isCounted = false }: Parameters<DecisionReads['deletedRecords']>[2],
): Promise<DeletedPage> {
  const ofCleanUp = { r: cleanUp, d: { $exists: true }, _id: { $gt: after } };
  const total = isCounted ? await cleanedUp.countDocuments(ofCleanUp) : undefined;
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
