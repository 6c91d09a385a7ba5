/** A sync session of a table: batches that carry its id, then one commit, which deletes what they did not carry. */
import type { EventOf } from '../eventTypes.js';
import { SYNC_HOURS } from '../limits.js';

export type SyncEvent =
  /** From now on it is the newest session of its table; the one before takes no more batches. */
  | EventOf<'SyncStarted', { readonly id: string }>
  /** Of earlier releases: a batch was refused. */
  | EventOf<'SyncFailed', { readonly id: string; readonly reason: string; readonly keys?: readonly string[] }>
  | EventOf<'SyncClosed', { readonly id: string; readonly after: number }>
  /** The same: it was committed, without an operation if nothing was to be deleted. */
  | EventOf<'SyncCommitted', { readonly id: string; readonly deleted: number; readonly operationId?: string }>;

export type SyncSession = {
  /** ISO 8601. */
  readonly startedAt: string;
  readonly isNewest: boolean;
  /** What its commit deleted. */
  readonly committed?: { readonly deleted: number; readonly operationId?: string | undefined } | undefined;
};

/** Long, since many batch ids that clients choose begin with `sync-`. */
const PREFIX = 'sync-session-';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const syncId = (uuid: string): string => PREFIX + uuid;

/** @param id of a session */
export const uuidOfSync = (id: string): string => id.slice(PREFIX.length);

export const isSyncId = (batchId: string): boolean =>
  batchId.startsWith(PREFIX) && UUID.test(batchId.slice(PREFIX.length));

/** ISO 8601. */
export const expiryOf = (startedAt: string): string =>
  new Date(Date.parse(startedAt) + SYNC_HOURS * 3_600_000).toISOString();

/** Why the session takes no more batches, nor a commit, unless it is committed. @param now ISO 8601 */
export function refusalOfSync(session: SyncSession | undefined, id: string, now: string): string | undefined {
  if (session?.isNewest !== true) return `${id} is not the newest sync of this table.`;
  if (Date.parse(now) < Date.parse(expiryOf(session.startedAt))) return undefined;
  return `${id} is older than ${SYNC_HOURS} hours. Start another: what is sent again unchanged costs little.`;
}
