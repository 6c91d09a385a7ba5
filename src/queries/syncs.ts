/** The sync sessions of a table, from their rows (decision 0012). */
import { MAX_SHORT_PAGE } from '../domain/limits.js';
import { isSyncId, type PastSync, syncId, uuidOfSync } from '../domain/referenceTable/sync.js';
import { SYNCS } from '../domain/spaces.js';
import type { Revision } from '../ports/eventStore.js';
import type { StoredRow } from '../ports/rowStore.js';
import type { ActivityEntry } from './activity.js';
import { ALL_ROWS, NEWEST_FIRST, type Rows, rowsOf, told, where } from './asking.js';
import type { TableRef } from './records.js';

/** A sync session, and who began it. */
export type SyncSession = PastSync & {
  /** Of its first event, in the stream of sessions. */
  readonly revision: Revision;
  readonly actor: ActivityEntry['actor'];
};

type StoredSync = Omit<SyncSession, 'id' | 'changedAt' | 'supersededAt' | 'refused' | 'committed'> & {
  readonly table: string;
  /** By the revision of its event. */
  readonly refused?: { readonly [revision: string]: { readonly reason: string; readonly keys: readonly string[] } };
  readonly deleted?: number;
  readonly operationId?: string;
};

function sessionOf(row: StoredRow, supersededAt: string | undefined): SyncSession {
  const { refused = {}, deleted, operationId, ...session } = told<StoredSync>(row);
  const refusals = Object.values(refused);
  const reason = refusals.at(-1)?.reason;
  return {
    ...session,
    id: syncId(row.id),
    changedAt: row.updated,
    supersededAt,
    ...(reason !== undefined && { refused: { reason, keys: new Set(refusals.flatMap(({ keys }) => keys)) } }),
    ...(deleted !== undefined && { committed: { deleted, ...(operationId !== undefined && { operationId }) } }),
  };
}

/** Newest first. @param before revision of a session: only older ones are returned */
export async function* syncSessions(
  rows: Rows,
  { tenant, table }: TableRef,
  before: Revision | undefined,
): AsyncGenerator<SyncSession> {
  const conditions = where({ table, revision: { lte: before } });
  const asked = { ...NEWEST_FIRST, conditions, limit: MAX_SHORT_PAGE + 2 };
  let supersededAt: string | undefined;
  for await (const row of rowsOf(rows, { tenant, space: SYNCS.name }, asked)) {
    const session = sessionOf(row, supersededAt);
    supersededAt = session.startedAt;
    if (session.revision !== before) yield session;
  }
}

/** Undefined if the table has no such session. */
export async function syncSession(
  rows: Rows,
  { tenant, table }: TableRef,
  id: string,
): Promise<SyncSession | undefined> {
  const space = { tenant, space: SYNCS.name };
  const [row] = (await rows.rows(space, { ids: isSyncId(id) ? [uuidOfSync(id)] : [], keys: [] })).rows;
  if (row === undefined || told<StoredSync>(row).table !== table) return undefined;
  const next = { ...ALL_ROWS, conditions: where({ table }), behind: row.n, limit: 1 };
  return sessionOf(row, (await rows.page(space, next)).rows[0]?.created);
}
