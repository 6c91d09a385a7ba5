/** The sync sessions of a table, from their rows, and the operations of each, from the activity (decision 0034). */
import { MAX_SYNCS } from '../domain/limits.js';
import type { OperationKind } from '../domain/referenceTable/operation.js';
import { isSyncId, type PastSync, syncId, uuidOfSync } from '../domain/referenceTable/sync.js';
import { SYNCS } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf } from './activity.js';
import { ALL_ROWS, NEWEST_FIRST, readerOf, rowsOf, where } from './asking.js';
import { operationIn, type TableOperation } from './operations.js';
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
  readonly closedAfter?: number;
  readonly deleted?: number;
  readonly operationId?: string;
};
const storedIn = readerOf<StoredSync>(SYNCS, { json: ['refused'], groups: ['actor'] });

function sessionOf({ id: uuid, updated: changedAt, data }: StoredRow, supersededAt: string | undefined): SyncSession {
  const { table: _, refused = {}, closedAfter: after, deleted, operationId, ...session } = storedIn(data);
  const id = syncId(uuid);
  const refusals = Object.values(refused);
  const reason = refusals.at(-1)?.reason;
  return {
    ...session,
    id,
    changedAt,
    supersededAt,
    ...(reason === undefined ? {} : { refused: { reason, keys: new Set(refusals.flatMap(({ keys }) => keys)) } }),
    ...(after === undefined ? {} : { closed: { id, after } }),
    ...(deleted === undefined
      ? {}
      : { committed: { id, deleted, ...(operationId === undefined ? {} : { operationId }) } }),
  };
}

/** Newest first. @param before revision of a session: only older ones are returned @throws the cancellation's reason */
export async function* syncSessions(
  rows: RowReads,
  { tenant, table }: TableRef,
  before: Revision | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<SyncSession> {
  const conditions = where({ table }, { revision: { lte: before } });
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
  if (row === undefined || storedIn(row.data).table !== table) return undefined;
  const next = { ...ALL_ROWS, conditions: where({ table }), behind: row.n, limit: 1 };
  return sessionOf(row, (await rows.page(space, next, cancellation)).rows[0]?.created);
}

/** A batch of a session, or the clean-up of its commit. */
export type SyncOperation = {
  readonly kind: Exclude<OperationKind, 'undo'>;
  /** Of its first event. */
  readonly revision: Revision;
  readonly position: Position;
  readonly requestId: string;
  /** Records that it created, updated, saw again or deleted. */
  readonly records: number;
};

/** The operations of a session, and the records that they counted. */
export type SyncWork = {
  /** Newest first. */
  readonly operations: readonly SyncOperation[];
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
};

/** How many entries of the activity may still be read; counts down. */
export type Budget = { entries: number };

const STARTED = 'sync.started';

/**
 * The operations of the session: from where it was started until its clean-up, or until the session after the next one was
 * started, since a batch that was decided before another one was started may stand behind that.
 * @returns undefined when the budget is too small
 */
export async function workOf(
  rows: RowReads,
  { tenant, table }: TableRef,
  { id, startedAt, committed }: SyncSession,
  budget: Budget,
  cancellation: Cancellation | undefined,
): Promise<SyncWork | undefined> {
  let behind: number | undefined;
  const ofStart = { conditions: where({ table, kind: STARTED, created_at: startedAt }) };
  for await (const { n, details } of entriesOf(rows, tenant, ofStart, cancellation))
    if (Array.isArray(details?.batch_ids) && details.batch_ids.includes(id)) behind ??= n;
  const operations: SyncOperation[] = [];
  let [created, updated, unchanged, started] = [0, 0, 0, 0];
  const asked = { conditions: where({ table, kind: ['table.batch', 'table.clean_up', STARTED] }), behind };
  for await (const entry of entriesOf(rows, tenant, asked, cancellation)) {
    budget.entries -= 1;
    if (budget.entries < 0) return undefined;
    if (entry.kind === STARTED) started += 1;
    if (started > 1) break;
    const operation = operationIn(entry);
    if (operation === undefined || operation.kind === 'undo' || !operation.batchIds.includes(id)) continue;
    created += operation.created;
    updated += operation.updated;
    unchanged += operation.seen;
    note(operation, operation.kind);
    if (String(operation.revision) === committed?.operationId) break;
  }
  return { operations: operations.reverse(), created, updated, unchanged };

  function note({ created, updated, seen, deleted, ...operation }: TableOperation, kind: SyncOperation['kind']): void {
    const { revision, position, requestId } = operation;
    const records = created + updated + seen + deleted;
    const earlier = operations.at(-1);
    // A batch may be several events of one append.
    if (earlier?.requestId === requestId && earlier.kind === kind) {
      operations.splice(-1, 1, { ...earlier, records: earlier.records + records });
    } else operations.push({ kind, revision, position, requestId, records });
  }
}
