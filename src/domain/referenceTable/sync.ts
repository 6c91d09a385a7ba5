/** A sync session of a table: batches that carry its id, then one commit, which deletes what they did not carry. */
import type { EventOf } from '../eventTypes.js';
import { SYNC_HOURS } from '../limits.js';

export type SyncEvent =
  /** From now on it is the newest session of its table; the one before takes no more batches. */
  | EventOf<'SyncStarted', { readonly id: string }>
  /**
   * A batch was refused. The records of these keys are to be sent again before the commit; without keys, as in events of
   * earlier releases and beyond MAX_REFUSED_KEYS, the session cannot be committed.
   */
  | EventOf<'SyncFailed', { readonly id: string; readonly reason: string; readonly keys?: readonly string[] }>
  /** Of earlier releases: its commit had begun, behind revision `after` of the table's stream. */
  | EventOf<'SyncClosed', { readonly id: string; readonly after: number }>
  /** The answer to its commit; without a clean-up there is no operation. */
  | EventOf<'SyncCommitted', { readonly id: string; readonly deleted: number; readonly operationId?: string }>;

/** A session of the past, or the present one. */
export type PastSync = {
  readonly id: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Why it cannot be committed. */
  readonly failure?: string;
  /** Keys of refused batches, and why the last one was refused. */
  readonly refused?: { readonly reason: string; readonly keys: ReadonlySet<string> };
  readonly committed?: { readonly deleted: number; readonly operationId?: string };
  /** When a batch of it was refused last, or it was committed. */
  readonly changedAt: string;
  /** When the next one was started. */
  readonly supersededAt?: string | undefined;
};

/** Long, since many batch ids that clients choose begin with `sync-`. */
const PREFIX = 'sync-session-';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const syncId = (uuid: string): string => PREFIX + uuid;

/** @param id of a session */
export const uuidOfSync = (id: string): string => id.slice(PREFIX.length);

export const isSyncId = (batchId: string): boolean =>
  batchId.startsWith(PREFIX) && UUID.test(batchId.slice(PREFIX.length));

const HOUR_MS = 3_600_000;

/** ISO 8601. */
export const expiryOf = ({ startedAt }: Pick<PastSync, 'startedAt'>): string =>
  new Date(Date.parse(startedAt) + SYNC_HOURS * HOUR_MS).toISOString();

const isAfter = (time: string, other: string): boolean => Date.parse(time) >= Date.parse(other);

/** Why the session takes no more batches, nor a commit, unless it is committed. @param now ISO 8601 */
export function refusalOfSync(session: PastSync | undefined, id: string, now: string): string | undefined {
  const remedy = 'Start another: what is sent again unchanged costs little.';
  if (session === undefined || session.supersededAt !== undefined) return `${id} is not the newest sync of this table.`;
  if (session.failure !== undefined) return `A batch of ${id} was refused (${session.failure}). ${remedy}`;
  if (isAfter(now, expiryOf(session))) return `${id} is older than ${SYNC_HOURS} hours. ${remedy}`;
  return undefined;
}

type SyncStatus = 'started' | 'committed' | 'expired' | 'aborted';

/** When it stopped taking batches; undefined while it takes some. @param now ISO 8601 */
export function endOf(session: PastSync, now: string): string | undefined {
  const { committed, failure, supersededAt, changedAt } = session;
  if (committed !== undefined || failure !== undefined) return changedAt;
  const expiresAt = expiryOf(session);
  const ends = [...(supersededAt === undefined ? [] : [supersededAt]), ...(isAfter(now, expiresAt) ? [expiresAt] : [])];
  return ends.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
}

export function statusOf(session: PastSync, now: string): SyncStatus {
  if (session.committed !== undefined) return 'committed';
  if (session.failure !== undefined) return 'aborted';
  const end = endOf(session, now);
  if (end === undefined) return 'started';
  return end === expiryOf(session) ? 'expired' : 'aborted';
}

/** The most by which the clocks of two processes that write to one table may differ. */
const CLOCKS_APART_MS = 60_000;

const shifted = (time: string, ms: number): string =>
  `${new Date(Date.parse(time) + ms).toISOString().slice(0, 23)}000Z`;

/** A range of time that contains all operations of the session. */
export const timesOf = (session: PastSync, now: string): { readonly from: string; readonly to?: string } => {
  const end = endOf(session, now);
  const from = shifted(session.startedAt, -CLOCKS_APART_MS);
  return end === undefined ? { from } : { from, to: shifted(end, CLOCKS_APART_MS) };
};
