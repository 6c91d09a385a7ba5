/** The ids of the keys that clean-ups have deleted: a key that comes back gets its id back (docs/decisions/0022). */
import type { AnyBulkWriteOperation, Collection, Db, Filter } from 'mongodb';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordDocument } from './recordDocument.js';

/** A deleted record: its id, its key, and the revision of the clean-up. */
export type SweptId = { readonly _id: string; readonly k: string; readonly r: Revision };

export const sweptIdsOf = (db: Db, collection: string): Collection<SweptId> => db.collection<SweptId>(collection);

const IDS_AT_ONCE = 1_000;

/** Keeps the ids of the records that are about to be deleted. It leaves the same behind when it is repeated. */
export async function keepIds(
  swept: Collection<SweptId>,
  records: Collection<RecordDocument>,
  deleted: Filter<RecordDocument>,
  r: Revision,
): Promise<void> {
  const options = { projection: { k: 1 }, batchSize: IDS_AT_ONCE };
  let writes: AnyBulkWriteOperation<SweptId>[] = [];
  const write = async (): Promise<void> => {
    if (writes.length > 0) await swept.bulkWrite(writes, { ordered: false });
    writes = [];
  };
  for await (const { _id, k } of records.find<Pick<RecordDocument, '_id' | 'k'>>(deleted, options)) {
    if (typeof k !== 'string') continue;
    writes.push({ updateOne: { filter: { _id }, update: { $set: { k, r } }, upsert: true } });
    if (writes.length === IDS_AT_ONCE) await write();
  }
  await write();
}

/** By these keys, those of which there are any: the id that each had when a clean-up deleted it last. */
export async function formerIds(swept: Collection<SweptId>, keys: readonly string[]): Promise<Map<string, string>> {
  const found = await swept.find({ k: { $in: [...keys] } }).toArray();
  return new Map(found.sort((a, b) => a.r - b.r).map(({ k, _id }) => [k, _id]));
}
