/** A sync session of a table: batches that carry its id, then one commit, which deletes what they did not carry. */
import type { EventOf } from '../eventTypes.js';
import { MAX_REFUSED_KEYS, SYNC_HOURS } from '../limits.js';

/** From now on it is the newest session of its table; the one before takes no more batches. */
export type SyncStarted = EventOf<'SyncStarted', { readonly id: string }>;

/**
 * A batch was refused. The records of these keys are to be sent again before the commit; without keys, as in events of
 * earlier releases and beyond MAX_REFUSED_KEYS, the session cannot be committed.
 */
export type SyncFailed = EventOf<
  'SyncFailed',
  { readonly id: string; readonly reason: string; readonly keys?: readonly string[] }
>;

/** The session takes no more batches. Its clean-up stands after revision `after` of the table's stream. */
export type SyncClosed = EventOf<'SyncClosed', { readonly id: string; readonly after: number }>;

/** The answer to its commit; without a clean-up there is no operation. */
export type SyncCommitted = EventOf<
  'SyncCommitted',
  { readonly id: string; readonly deleted: number; readonly operationId?: string }
>;

export type SyncEvent = SyncStarted | SyncFailed | SyncClosed | SyncCommitted;

export type Sync = {
  readonly id: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly failure?: string;
  /** Keys of refused batches, and why the last one was refused. */
  readonly refused?: { readonly reason: string; readonly keys: ReadonlySet<string> };
  readonly closed?: SyncClosed['data'];
  readonly committed?: SyncCommitted['data'];
};

export function evolve(newest: Sync | undefined, { type, data }: SyncEvent, at: string): Sync | undefined {
  if (type === 'SyncStarted') return { id: data.id, startedAt: at };
  if (newest?.id !== data.id) return newest;
  switch (type) {
    case 'SyncFailed': {
      const { reason, keys } = data;
      if (keys === undefined) return { ...newest, failure: reason };
      return { ...newest, refused: { reason, keys: new Set([...(newest.refused?.keys ?? []), ...keys]) } };
    }
    case 'SyncClosed':
      return { ...newest, closed: data };
    case 'SyncCommitted':
      return { ...newest, committed: data };
  }
}

/** Long, since many batch ids that clients choose begin with `sync-`. */
const PREFIX = 'sync-session-';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const syncId = (uuid: string): string => PREFIX + uuid;

/** @param id of a session */
export const uuidOfSync = (id: string): string => id.slice(PREFIX.length);

export const isSyncId = (batchId: string): boolean =>
  batchId.startsWith(PREFIX) && UUID.test(batchId.slice(PREFIX.length));

/** A batch with these keys was refused. No event if all that is known already. */
export function failSync(newest: Sync | undefined, id: string, reason: string, keys: readonly string[]): SyncEvent[] {
  if (newest?.id !== id || newest.failure !== undefined || newest.closed !== undefined) return [];
  const known = newest.refused?.keys ?? new Set<string>();
  const added = [...new Set(keys)].filter((key) => !known.has(key));
  if (newest.refused !== undefined && added.length === 0) return [];
  if (known.size + added.length > MAX_REFUSED_KEYS) return [{ type: 'SyncFailed', data: { id, reason } }];
  return [{ type: 'SyncFailed', data: { id, reason, keys: added } }];
}

const HOUR_MS = 3_600_000;

/** ISO 8601. */
export const expiryOf = ({ startedAt }: Sync): string =>
  new Date(Date.parse(startedAt) + SYNC_HOURS * HOUR_MS).toISOString();

/** Why the session can no longer be used; undefined when it can. @param id of the session @param now ISO 8601 */
export function refusalOfSync(newest: Sync | undefined, id: string, now: string): string | undefined {
  const remedy = 'Start another: what is sent again unchanged costs little.';
  if (newest?.id !== id) return `${id} is not the newest sync of this table.`;
  if (newest.failure !== undefined) return `A batch of ${id} was refused (${newest.failure}). ${remedy}`;
  if (Date.parse(now) >= Date.parse(expiryOf(newest))) return `${id} is older than ${SYNC_HOURS} hours. ${remedy}`;
  return undefined;
}

/** A session of the past, or the present one. */
export type PastSync = Sync & {
  /** When a batch of it was refused, or it was closed or committed. */
  readonly changedAt: string;
  /** When the next one was started. */
  readonly supersededAt?: string | undefined;
};

type SyncStatus = 'started' | 'committing' | 'committed' | 'expired' | 'aborted';

const isAfter = (time: string, other: string): boolean => Date.parse(time) >= Date.parse(other);

/** When it stopped taking batches; undefined while it takes some. @param now ISO 8601 */
export function endOf(session: PastSync, now: string): string | undefined {
  const { committed, failure, supersededAt, changedAt } = session;
  if (committed !== undefined || failure !== undefined) return changedAt;
  const expiresAt = expiryOf(session);
  const ends = [...(supersededAt === undefined ? [] : [supersededAt]), ...(isAfter(now, expiresAt) ? [expiresAt] : [])];
  return ends.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
}

/** @param isCleanedUp whether the table's stream has its deletion */
export function statusOf(session: PastSync, isCleanedUp: boolean, now: string): SyncStatus {
  if (session.committed !== undefined || isCleanedUp) return 'committed';
  if (session.failure !== undefined) return 'aborted';
  const end = endOf(session, now);
  if (end === undefined) return session.closed === undefined ? 'started' : 'committing';
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
