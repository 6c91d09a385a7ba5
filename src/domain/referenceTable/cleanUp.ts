/**
 * Clean-ups (spec §4.8). One deletes each record that has another batch id or none: its event names the batch id alone, its
 * effect `cleanUp` (`effects.ts`) says so, and engines find the rows. Here is what keeps one from deleting more than intended;
 * and sync sessions of a table: batches that carry the session's id, then one commit, which deletes what they did not carry.
 */
import type { FieldErrors } from '../assetTypes/recordSchema.js';
import type { EventOf } from '../eventTypes.js';

/** A tenant's setting, off until it is set (spec §4.8). Refuses clean-ups of a batch id that no record has, and those that delete a larger share. */
export type CleanUpGuard = {
  /** Share of the table's records, 0 to 100. */
  readonly maxPercent: number;
  /** Clean-ups that delete at most this many records are never refused; 0 by default. */
  readonly minRecords?: number;
};

/** The guard that is recommended. */
export const RECOMMENDED_GUARD: Required<CleanUpGuard> = { maxPercent: 50, minRecords: 100 };

type CleanUpRequest = { readonly batchId: string; readonly confirm?: number | undefined };

/** How many records of the table a clean-up deletes and keeps. */
export type CleanUpCounts = { readonly deleted: number; readonly kept: number };

/** Why the clean-up is refused; undefined when it is not. A confirmed number must be right, with or without a guard. */
export function refusalOfCleanUp(
  guard: CleanUpGuard | undefined,
  { batchId, confirm }: CleanUpRequest,
  { deleted, kept }: CleanUpCounts,
): FieldErrors | undefined {
  if (confirm !== undefined) {
    if (confirm === deleted) return undefined;
    return { confirm: [`The clean-up would delete ${deleted} records, not ${confirm}.`] };
  }
  if (guard === undefined || deleted <= (guard.minRecords ?? 0)) return undefined;
  const total = deleted + kept;
  if (kept > 0 && deleted * 100 <= guard.maxPercent * total) return undefined;
  const why =
    kept > 0
      ? `The clean-up would delete ${deleted} of ${total} records, more than ${guard.maxPercent} percent.`
      : `No record has the batch_id ${JSON.stringify(batchId)}: the clean-up would delete all ${deleted} records.`;
  const refusal = `${why} To delete them all the same, send "confirm": ${deleted}.`;
  return kept > 0 ? { confirm: [refusal] } : { batch_id: [refusal] };
}

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
