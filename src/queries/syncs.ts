/** The sync sessions of a table, from their rows, and the operations of each, from the activity (decision 0034). */
import { MAX_SYNCS } from '../domain/limits.js';
import type { OperationKind } from '../domain/referenceTable/operation.js';
import { isSyncId, type PastSync, syncId, uuidOfSync } from '../domain/referenceTable/sync.js';
import { SYNCS } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityEntry } from './activity.js';
import { entriesOf, ofTable } from './activity.js';
import { compares, isOneOf, rowsOf } from './asking.js';
import { kindsOf, operationIn, type TableOperation } from './operations.js';
import type { TableRef } from './records.js';

/** A sync session, and who began it. */
export type SyncSession = PastSync & {
  /** Of its first event, in the stream of sessions. */
  readonly revision: Revision;
  readonly actor: ActivityEntry['actor'];
};

/** Fields of a session's row. */
type StoredSync = {
  readonly revision: Revision;
  readonly started_at: string;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly actor_name?: string;
  readonly failure?: string;
  readonly refused?: string;
  readonly closed_after?: number;
  readonly deleted?: number;
  readonly operation_id?: string;
};

/** `{ reason, keys }` by the revision of its event, as JSON text. */
type Refused = { readonly [revision: string]: { readonly reason: string; readonly keys: readonly string[] } };

function sessionOf({ id: uuid, updated: changedAt, data }: StoredRow, supersededAt: string | undefined): SyncSession {
  const stored: StoredSync = JSON.parse(data);
  const { revision, started_at: startedAt, actor_name: name, failure, closed_after: after, deleted } = stored;
  const id = syncId(uuid);
  const refused = Object.values<Refused[string]>(stored.refused === undefined ? {} : JSON.parse(stored.refused));
  const reason = refused.at(-1)?.reason;
  return {
    id,
    startedAt,
    revision,
    changedAt,
    supersededAt,
    actor: { kind: stored.actor_kind, id: stored.actor_id, ...(name === undefined ? {} : { name }) },
    ...(failure === undefined ? {} : { failure }),
    ...(reason === undefined ? {} : { refused: { reason, keys: new Set(refused.flatMap(({ keys }) => keys)) } }),
    ...(after === undefined ? {} : { closed: { id, after } }),
    ...(deleted === undefined ? {} : { committed: { id, deleted, ...ofCleanUp(stored) } }),
  };
}

const ofCleanUp = ({ operation_id: operationId }: StoredSync) => (operationId === undefined ? {} : { operationId });

/** Newest first. @param before revision of a session: only older ones are returned @throws the cancellation's reason */
export async function* syncSessions(
  rows: RowReads,
  { tenant, table }: TableRef,
  before: Revision | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<SyncSession> {
  const conditions = [ofTable(table), ...(before === undefined ? [] : [compares('revision', 'lte', before)])];
  const asked = { conditions, direction: 'desc' } as const;
  let supersededAt: string | undefined;
  for await (const row of rowsOf(rows, { tenant, space: SYNCS.name }, asked, cancellation, MAX_SYNCS + 2)) {
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
  if (row === undefined || JSON.parse(row.data).table !== table) return undefined;
  const asked = { conditions: [ofTable(table)], direction: 'asc', behind: row.n } as const;
  for await (const next of rowsOf(rows, space, asked, cancellation, 1)) return sessionOf(row, next.created);
  return sessionOf(row, undefined);
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

/**
 * The operations of the session: from where it was started until its clean-up, or until the session after the next one was
 * started, since a batch that was decided before another one was started may stand behind that.
 * @returns undefined when the budget is too small
 */
export async function workOf(
  rows: RowReads,
  { tenant, table }: TableRef,
  session: SyncSession,
  budget: Budget,
  cancellation: Cancellation | undefined,
): Promise<SyncWork | undefined> {
  const kinds = [...kindsOf('batch'), ...kindsOf('clean_up'), STARTED];
  const conditions = [ofTable(table), isOneOf('kind', kinds)];
  const behind = await startOf(rows, { tenant, table }, session, cancellation);
  const operations: SyncOperation[] = [];
  let [created, updated, unchanged, started] = [0, 0, 0, 0];
  for await (const entry of entriesOf(rows, tenant, { conditions, direction: 'asc', behind }, cancellation)) {
    budget.entries -= 1;
    if (budget.entries < 0) return undefined;
    if (entry.kind === STARTED) started += 1;
    if (started > 1) break;
    const operation = operationIn(entry);
    if (operation === undefined || operation.kind === 'undo' || !operation.batchIds.includes(session.id)) continue;
    created += operation.created;
    updated += operation.updated;
    unchanged += operation.seen;
    note(operation, operation.kind);
    if (String(operation.revision) === session.committed?.operationId) break;
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

const STARTED = 'sync.started';

/** The number of the entry that tells of its start. */
async function startOf(
  rows: RowReads,
  { tenant, table }: TableRef,
  { id, startedAt }: SyncSession,
  cancellation: Cancellation | undefined,
): Promise<number | undefined> {
  const conditions = [ofTable(table), isOneOf('kind', [STARTED]), isOneOf('created_at', [startedAt])];
  for await (const entry of entriesOf(rows, tenant, { conditions, direction: 'asc' }, cancellation)) {
    const ids: unknown = entry.details?.batch_ids;
    if (Array.isArray(ids) && ids.includes(id)) return entry.n;
  }
  return undefined;
}
