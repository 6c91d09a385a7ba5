/** The sync sessions of a table, from their rows, and the operations of each, from the activity (decision 0034). */
import { MAX_SYNCS } from '../domain/limits.js';
import { isSyncId, type PastSync, syncId, uuidOfSync } from '../domain/referenceTable/sync.js';
import { ACTIVITY, SYNCS } from '../domain/spaces.js';
import type { Revision } from '../ports/eventStore.js';
import type { RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf, entryOf } from './activity.js';
import { ALL_ROWS, NEWEST_FIRST, rowsOf, told, where } from './asking.js';
import { batchIdsOf, operationsIn, type TableOperation } from './operations.js';
import type { TableRef } from './records.js';

/** A sync session, and who began it. */
export type SyncSession = PastSync & {
  /** Of its first event, in the stream of sessions. */
  readonly revision: Revision;
  readonly actor: ActivityEntry['actor'];
};

type StoredSync = Pick<SyncSession, 'startedAt' | 'revision' | 'actor' | 'failure'> & {
  readonly table: string;
  /** By the revision of its event. */
  readonly refused?: { readonly [revision: string]: { readonly reason: string; readonly keys: readonly string[] } };
  readonly deleted?: number;
  readonly operationId?: string;
};

function sessionOf(row: StoredRow, supersededAt: string | undefined): SyncSession {
  const { refused = {}, deleted, operationId, ...session } = told<StoredSync>(row);
  const id = syncId(row.id);
  const refusals = Object.values(refused);
  const reason = refusals.at(-1)?.reason;
  return {
    ...session,
    id,
    changedAt: row.updated,
    supersededAt,
    ...(reason !== undefined && { refused: { reason, keys: new Set(refusals.flatMap(({ keys }) => keys)) } }),
    ...(deleted !== undefined && { committed: { deleted, ...(operationId !== undefined && { operationId }) } }),
  };
}

/** Newest first. @param before revision of a session: only older ones are returned @throws the cancellation's reason */
export async function* syncSessions(
  rows: RowReads,
  { tenant, table }: TableRef,
  before: Revision | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<SyncSession> {
  const conditions = where({ table, revision: { lte: before } });
  const asked = { ...NEWEST_FIRST, conditions, limit: MAX_SYNCS + 2 };
  let supersededAt: string | undefined;
  for await (const row of rowsOf(rows, { tenant, space: SYNCS.name }, asked, cancellation)) {
    const session = sessionOf(row, supersededAt);
    supersededAt = session.startedAt;
    if (session.revision !== before) yield session;
  }
}

/** Undefined if the table has no such session. */
export async function syncSession(
  rows: RowReads,
  { tenant, table }: TableRef,
  id: string,
  cancellation: Cancellation | undefined,
): Promise<SyncSession | undefined> {
  const space = { tenant, space: SYNCS.name };
  const ids = isSyncId(id) ? [uuidOfSync(id)] : [];
  const [row] = (await rows.rows(space, { ids, keys: [] }, cancellation)).rows;
  if (row === undefined || told<StoredSync>(row).table !== table) return undefined;
  const next = { ...ALL_ROWS, conditions: where({ table }), behind: row.n, limit: 1 };
  return sessionOf(row, (await rows.page(space, next, cancellation)).rows[0]?.created);
}

/** The batches of a session and the clean-up of its commit, and the records that they counted. */
export type SyncWork = {
  /** Newest first. */
  readonly operations: readonly TableOperation[];
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
};

/** How many entries of the activity may still be read; counts down. */
export type Budget = { entries: number };

/**
 * The operations of the session: from where it was started until its clean-up, or until the session after the next one was
 * started, since a batch that was decided before another one was started may stand behind that.
 * @returns undefined when the budget is too small
 */
export async function workOf(
  rows: RowReads,
  { tenant, table }: TableRef,
  { id, revision, committed }: SyncSession,
  budget: Budget,
  cancellation: Cancellation | undefined,
): Promise<SyncWork | undefined> {
  // This one, the next one, and the one after that.
  const ofStarts = { ...ALL_ROWS, conditions: where({ table, kind: 'sync.started', revision: { gte: revision } }) };
  const [start, , end] = (
    await rows.page({ tenant, space: ACTIVITY.name }, { ...ofStarts, limit: 3 }, cancellation)
  ).rows.map(entryOf);
  const kind = ['table.batch', 'table.clean_up'];
  const conditions = where({ table, kind, position: { gte: start?.position, lt: end?.position } });
  const operations: TableOperation[] = [];
  for await (const operation of operationsIn(carried())) {
    operations.unshift(operation);
    if (String(operation.revision) === committed?.operationId) break;
  }
  if (budget.entries < 0) return undefined;
  const sum = (of: 'created' | 'updated' | 'seen') => operations.reduce((all, operation) => all + operation[of], 0);
  return { operations, created: sum('created'), updated: sum('updated'), unchanged: sum('seen') };

  /** Those with the session's id. */
  async function* carried() {
    for await (const entry of entriesOf(rows, tenant, { conditions }, cancellation)) {
      budget.entries -= 1;
      if (budget.entries < 0) return;
      if (batchIdsOf(entry).includes(id)) yield entry;
    }
  }
}
