/** Reads records by their ids, and the ids of records that clean-ups deleted: for the feed of changes. */
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordJson, RecordReads } from '../../../ports/readModels.js';
import { PageRoom } from '../shared/answerSize.js';
import { cleanedUpIn } from './cleanedUpRecords.js';
import type { whileWanted } from './connection.js';
import { recordJson, WHOLE_RECORD, type WholeRecord } from './recordDocument.js';
import type { ReadTable } from './tableReader.js';

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
