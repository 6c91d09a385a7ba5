/** Events of a reference table's stream, `table-<tenant>.<table>`, and of its sync sessions, `sync-<tenant>.<table>`. */
import { type Fields, type FieldValue, uuidText } from '../assetTypes/fieldTypes.js';
import type { EventOf } from '../eventTypes.js';

type NewRecord = { readonly id: string; readonly fields: Fields };
type ChangedRecord = { readonly id: string; readonly set: Fields };
/** `was`: of earlier releases, the values before, in the order of `set`. */
export type ReplacedRecord = ChangedRecord & { readonly was?: readonly FieldValue[] };

/** Fields that are null are left out. */
export type RecordCreated = EventOf<'RecordCreated', NewRecord>;

/** Only what changed. */
export type RecordChanged = EventOf<'RecordChanged', ReplacedRecord>;

/** Of a single record, by a person. */
export type RecordDeleted = EventOf<'RecordDeleted', { readonly id: string }>;

/**
 * One part of a batch upsert: the items that carried the same `_batch_id`. A batch is one append of as
 * many of these as it takes.
 */
export type BatchUpserted = EventOf<
  'BatchUpserted',
  {
    /** Absent: the items named none; new records have none and known ones keep theirs. */
    readonly batchId?: string | null;
    readonly created: readonly NewRecord[];
    readonly changed: readonly ReplacedRecord[];
    /** Records that were sent again unchanged: their ids, packed (see packIds). */
    readonly seen: string;
    /** Revision of the clean-up whose deleted records these are. */
    readonly undoes?: number;
  }
>;

/** Undoes a batch, as far as its records have not changed since. */
export type BatchUndone = EventOf<
  'BatchUndone',
  {
    /** Revision of the batch's first event. */
    readonly undoes: number;
    /** Of earlier releases: the records of `changed` and `seen` got this one back. */
    readonly batchId?: string | null;
    /** Sets the values before. */
    readonly changed: readonly ChangedRecord[];
    readonly seen: string;
    /** Records that the batch had created; packed. */
    readonly deleted: string;
  }
>;

/** Deletes every record whose batch id is not this one, records without one included. */
export type TableCleanedUp = EventOf<'TableCleanedUp', { readonly batchId: string; readonly deleted: number }>;

export type ReferenceTableEvent =
  | RecordCreated
  | RecordChanged
  | RecordDeleted
  | BatchUpserted
  | BatchUndone
  | TableCleanedUp;

/** The values before, by the names of `set`; null where the event does not have them. */
export const namedValues = (set: Fields, was: readonly FieldValue[]): Fields =>
  Object.fromEntries(Object.keys(set).map((name, at) => [name, was[at] ?? null]));

/**
 * UUIDs packed for an event: 16 bytes each, one after another, as base64. A thousand take 21 KB instead of 39.
 * @param ids in their usual text form
 */
export function packIds(ids: readonly string[]): string {
  return Buffer.from(ids.join('').replaceAll('-', ''), 'hex').toString('base64');
}

export function unpackIds(packed: string): readonly string[] {
  const ids = Buffer.from(packed, 'base64').toString('hex');
  return (ids.match(/.{1,32}/g) ?? []).map(uuidText);
}

// Sync sessions: batches that carry the session's id, then one commit, a clean-up, which deletes what they did not carry.

export type SyncEvent =
  /** From now on it is the newest session of its table; the one before takes no more batches. */
  | EventOf<'SyncStarted', { readonly id: string }>
  /** Of earlier releases: a batch was refused. */
  | EventOf<'SyncFailed', { readonly id: string; readonly reason: string; readonly keys?: readonly string[] }>
  | EventOf<'SyncClosed', { readonly id: string; readonly after: number }>
  /** The same: it was committed, without an operation if nothing was to be deleted. */
  | EventOf<'SyncCommitted', { readonly id: string; readonly deleted: number; readonly operationId?: string }>;

/** What the commit of a session deleted. */
export type SyncCommit = { readonly deleted: number; readonly operationId?: string | undefined };

/** Long, since many batch ids that clients choose begin with `sync-`. */
const PREFIX = 'sync-session-';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const syncId = (uuid: string): string => PREFIX + uuid;

/** @param id of a session */
export const uuidOfSync = (id: string): string => id.slice(PREFIX.length);

export const isSyncId = (batchId: string): boolean =>
  batchId.startsWith(PREFIX) && UUID.test(batchId.slice(PREFIX.length));
