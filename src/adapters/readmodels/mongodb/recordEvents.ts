/** Which events concern a record (docs/decisions/0058), in a collection that all tables share. */
import type { FindOptions, IndexDescription } from 'mongodb';
import { MongoBulkWriteError } from 'mongodb';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { RecordReads } from '../../../ports/readModels.js';
import type { Noted } from '../../../ports/readModelWriter.js';
import { type EntryRow, padded } from '../shared/entryProof.js';
import { notedId, storedId } from '../shared/recordText.js';
import { isDuplicateKey, RECORD_EVENTS } from './catalog.js';
import type { LaneDb } from './connection.js';
import type { Part } from './part.js';
import { refusedRecord } from './recordDocument.js';

/** The record's id, and the event's revision, padded with zeros, or the id of the part's order: all that there is to know. */
export type RecordEvent = { readonly _id: string };

/** @param events of the catalog's entry */
export const recordEventsIn = (db: LaneDb, events: string): Part<RecordEvent> =>
  db.part<RecordEvent>({ collection: RECORD_EVENTS, of: events });

/** For the parts that there are: no other index begins with them. */
export const RECORD_EVENT_INDEXES: readonly IndexDescription[] = [{ name: 'part', key: { of: 1, _id: 1 } }];

const recordEventOf = (id: string, noted: Noted): RecordEvent => ({
  _id: `${id}.${typeof noted === 'number' ? padded(noted) : noted.order}`,
});

/** What is noted of these changes. A clean-up names no records. */
export const recordEventsOf = (changes: readonly RecordChange[], noted: Noted): readonly RecordEvent[] =>
  changes.flatMap((change) => {
    const id = notedId(change, noted);
    return id === undefined ? [] : [recordEventOf(id, noted)];
  });

const EVENTS_AT_ONCE = 1_000;

/** Those that are there already stay: a commit may be repeated, and an event may change a record twice. */
export async function noteRecordEvents(collection: Part<RecordEvent>, events: readonly RecordEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += EVENTS_AT_ONCE) {
    await collection.insertMany(events.slice(at, at + EVENTS_AT_ONCE), refusedRecord).catch(unlessThere);
  }
}

function unlessThere(error: unknown): void {
  const errors = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
  if (!isDuplicateKey(error) || errors.some(({ code }) => code !== 11_000)) throw error;
}

/** Of records that a clean-up is about to delete. */
export const noteDeleted = (collection: Part<RecordEvent>, ids: readonly string[], revision: Revision): Promise<void> =>
  noteRecordEvents(
    collection,
    ids.map((id) => recordEventOf(id, revision)),
  );

/** See `RecordReads`. */
export async function readRecordEvents(
  collection: Part<RecordEvent>,
  id: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: Parameters<RecordReads['recordEvents']>[2],
  whileWanted: FindOptions,
): Promise<readonly Revision[]> {
  const _id = storedId(id);
  if (_id === undefined) return [];
  const ofRecord = { _id: { $gt: `${_id}.`, $lt: `${_id}.${padded(before)}` } };
  const options = { ...whileWanted, sort: { _id: -1 }, limit, batchSize: limit } as const;
  const found = await collection.find(ofRecord, options).toArray();
  return found.map((event) => Number(event._id.slice(_id.length + 1)));
}

/** See `RecordReads`. */
export async function readOrderOfPart(collection: Part<RecordEvent>, id: string): Promise<string | undefined> {
  const _id = storedId(id);
  const found = _id && (await collection.findOne({ _id: { $gt: `${_id}.`, $lt: `${_id}/` } }));
  return found ? found._id.slice(found._id.indexOf('.') + 1) : undefined;
}

/** As they are proven, behind `after`. */
export async function* recordEventRows(collection: Part<RecordEvent>, after = ''): AsyncGenerator<EntryRow> {
  const found = collection.find({ _id: { $gt: after } }, { sort: { _id: 1 }, batchSize: 1_000 });
  for await (const { _id } of found) {
    yield { key: _id, place: collection.collectionName, record: _id.split('.')[0] ?? '', beside: {} };
  }
}
