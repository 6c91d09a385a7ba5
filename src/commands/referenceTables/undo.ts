/**
 * Undoes a clean-up, a batch, or all of a sync session; records that changed since are left alone and reported. A request
 * undoes one batch, or MAX_RECORDS records of a clean-up, and its answer says where the next one continues. Repeating
 * it is safe: records that are as they were before are only counted (decision 0012).
 */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_ACTIVITY_ROWS, MAX_BATCH_ITEMS, MAX_RECORDS } from '../../domain/limits.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { BatchUpserted, ReferenceTableEvent, TableCleanedUp } from '../../domain/referenceTable/events.js';
import { statusOf, timesOf } from '../../domain/referenceTable/sync.js';
import {
  undoBatch as decideUndoOfBatch,
  undoCleanUp as decideUndoOfCleanUp,
  idsOf,
  type LeftAlone,
  saysWhatItReplaces,
  type UndoDecision,
} from '../../domain/referenceTable/undo.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import { type ActivityEntry, activityPage, batchIdsOf, countsOf } from '../../queries/activity.js';
import { cancellable, type Rows, where } from '../../queries/asking.js';
import { deletedRecords } from '../../queries/past.js';
import type { TableRef } from '../../queries/records.js';
import { type SyncSession, syncSession } from '../../queries/syncs.js';
import type { Application } from '../application.js';
import { parseBody } from '../body.js';
import { untilShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError } from '../context.js';
import type { KeyUse } from '../idempotency.js';
import { eventAt, streamPages } from '../streamPages.js';
import { refuseMasterData } from '../tables.js';
import { counted } from './batches.js';
import { type DecisionRecords, loadTable, type Wanted, writeTable } from './tableWriter.js';

const NEXT = 'must be the `next` of an answer.';

export const undoBody = z.strictObject({
  /** `next` of the answer before: an operation, and within a clean-up the last record. */
  after: z
    .string(NEXT)
    .regex(/^\d{1,15}(\.[0-9a-f-]{36})?$/, NEXT)
    .optional(),
});

type Counts = {
  readonly restored: number;
  /** Records that a batch had created. */
  readonly deleted: number;
  /** Records that were as before already. */
  readonly unchanged: number;
  /** How many were left alone. */
  readonly leftInAll: number;
};

/** What the answer says of the rest. */
type Rest = {
  /** Deleted records that cannot be restored: a later clean-up deleted the same id or key. Only in the first answer. */
  readonly unavailable?: number | undefined;
  /** Records that are left for the next requests. */
  readonly remaining?: number | undefined;
  /** Where the next request continues; undefined at the end. */
  readonly next?: string | undefined;
};

export type UndoResult = Counts &
  Rest & {
    readonly position: Position;
    /** Records that were left alone. */
    readonly left: readonly LeftAlone[];
  };

export type UndoOptions = { readonly dryRun?: boolean };

const NOTHING: Counts = { restored: 0, deleted: 0, unchanged: 0, leftInAll: 0 };

/** The answer to a repeated request with a key. Records that were left alone are named in the first answer only. */
export const undoneBefore = ({ position, counts }: KeyUse): UndoResult => ({
  ...NOTHING,
  ...counts,
  position,
  left: [],
});

const OPERATION_ID = /^(?:0|[1-9]\d{0,14})$/;

/**
 * @param operationId of the clean-up or the batch: the revision of its first event in the table's stream
 * @param body `{ after? }`
 * @throws NotFoundError for an unknown operation; ConflictError for one that cannot be undone; ValidationError
 * @throws NotSupportedError on Master Data
 */
export async function undoOperation(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  operationId: string,
  body: unknown,
  options: UndoOptions = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'cleaned up');
  const { after } = parseBody(undoBody, body);
  const revision = OPERATION_ID.test(operationId) ? Number(operationId) : -1;
  const event = await eventAt(commands.eventStore, tableStream(caller.tenant, assetType.name), revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${operationId} on ${assetType.name}.`);
  if (event.type !== 'BatchUpserted' && event.type !== 'TableCleanedUp')
    throw new ConflictError(
      `Only batches and clean-ups can be undone: ${operationId} on ${assetType.name} is neither.`,
    );
  const { deleted: records = 0 } = event.data as Partial<TableCleanedUp['data']>;
  const undone: Undone = { commands, caller, assetType, dryRun: options.dryRun === true };
  return undoNext(undone, [{ kind: event.type === 'BatchUpserted' ? 'batch' : 'clean_up', revision, records }], after);
}

/** @throws NotFoundError */
async function requireSync(rows: Rows, table: TableRef, id: string): Promise<SyncSession> {
  const session = await syncSession(rows, table, id);
  if (session === undefined) throw new NotFoundError(`There is no sync ${id} on ${table.table}.`);
  return session;
}

/**
 * Undoes a whole sync session: the clean-up of its commit, then its batches, newest first.
 * @param body `{ after? }`
 * @throws NotFoundError; ConflictError while it takes batches or is being committed, and when it is too large
 * @throws NotSupportedError on Master Data
 */
export async function undoSync(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  options: UndoOptions = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'synchronized');
  const { after } = parseBody(undoBody, body);
  const rows = cancellable(commands.rows, caller.deadline);
  const session = await requireSync(rows, { tenant: caller.tenant, table: assetType.name }, id);
  if (statusOf(session, commands.now()) === 'started') {
    throw new ConflictError(`${id} is still open: commit it, or start another one, before it is undone.`);
  }
  const { from, to } = timesOf(session, commands.now());
  const ofTable = {
    table: assetType.name,
    kind: ['table.batch', 'table.clean_up'],
    created_at: { gte: from, lte: to },
  };
  const isWanted = (entry: ActivityEntry) => batchIdsOf(entry).includes(id);
  const asked = { conditions: where(ofTable), limit: MAX_ACTIVITY_ROWS, isWanted };
  const { entries, next } = await activityPage(rows, caller.tenant, asked);
  if (next !== undefined) {
    throw new ConflictError(`${id} is too large to be undone at once: undo its operations, the newest first.`);
  }
  const operations = entries.map((entry): Operation => {
    const { created, updated, seen, deleted } = countsOf(entry);
    const kind = entry.kind === 'table.batch' ? 'batch' : 'clean_up';
    return { kind, revision: entry.revision, records: created + updated + seen + deleted };
  });
  return undoNext({ commands, caller, assetType, dryRun: options.dryRun === true }, operations, after);
}

/** Of what, and for whom. */
type Undone = {
  readonly commands: Application;
  readonly caller: Caller;
  readonly assetType: AssetType;
  readonly dryRun: boolean;
};
type Operation = { readonly kind: 'batch' | 'clean_up'; readonly revision: Revision; readonly records: number };

/** What one append undoes. */
type Piece = {
  readonly wanted: Wanted;
  readonly decide: (
    known: DecisionRecords,
  ) => UndoDecision<ReferenceTableEvent> & { readonly deleted?: number | undefined };
  /** Is written where nothing changes, if the request has a key. */
  readonly nothing: ReferenceTableEvent;
  /** The last record of it, where the operation has more. */
  readonly last?: string | undefined;
  /** Records of the operation that come behind it. */
  readonly behind: number;
  readonly unavailable: number;
};

/** @param operations newest first @param after `next` of the answer before */
async function undoNext(
  undone: Undone,
  operations: readonly Operation[],
  after: string | undefined,
): Promise<UndoResult> {
  const { commands, caller, assetType, dryRun } = undone;
  const [from = Number.MAX_SAFE_INTEGER, record] = after?.split('.') ?? [];
  const [operation, ...later] = operations.filter(({ revision }) => revision <= Number(from));
  const isFirst = after === undefined;
  if (operation === undefined)
    return { ...NOTHING, position: 0, left: [], remaining: 0, unavailable: isFirst ? 0 : undefined };
  const piece =
    operation.kind === 'batch' ? pieceOfBatch(undone, operation) : pieceOfCleanUp(undone, operation, record);
  const { wanted, decide, nothing, last, behind, unavailable } = await piece;
  const rest: Rest = {
    next: last === undefined ? later[0]?.revision.toString() : `${operation.revision}.${last}`,
    remaining: later.reduce((sum, { records }) => sum + records, behind),
    unavailable: isFirst ? unavailable : undefined,
  };
  let counts: Counts = NOTHING;
  let left: readonly LeftAlone[] = [];
  const load = () => loadTable(commands, caller, assetType, wanted);
  const { position } = await writeTable(commands, caller, assetType, load, (known) => {
    const { events, deleted = 0, left: alone, ...done } = decide(known);
    counts = { ...done, deleted, leftInAll: alone.length };
    left = alone;
    return dryRun ? [] : counted(events, { ...counts, ...rest }, caller, nothing);
  });
  return { ...counts, ...rest, position, left };
}

/** MAX_RECORDS records that a clean-up deleted. @param after the last record of the piece before */
async function pieceOfCleanUp(
  undone: Undone,
  { revision, records: ofCleanUp }: Operation,
  after: string | undefined,
): Promise<Piece> {
  const { commands, caller, assetType } = undone;
  const { position } = await eventOf(undone, revision);
  await untilShown(commands, caller, position, `${assetType.name} is still being cleaned up.`);
  const asked = { after, limit: MAX_RECORDS, isCounted: true };
  const { records, next, total = 0 } = await deletedRecords(commands.rows, caller.tenant, assetType, position, asked);
  return {
    wanted: { keys: records.map(({ fields }) => uniqueKeyOf(assetType, fields)), ids: records.map(({ id }) => id) },
    decide: (known) => decideUndoOfCleanUp(assetType, revision, records, known),
    nothing: { type: 'BatchUpserted', data: { created: [], changed: [], seen: '', undoes: revision } },
    last: next,
    behind: next === undefined ? 0 : total - records.length,
    unavailable: ofCleanUp - total,
  };
}

async function eventOf({ commands, caller, assetType }: Undone, revision: Revision): Promise<RecordedEvent> {
  const event = await eventAt(commands.eventStore, tableStream(caller.tenant, assetType.name), revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${revision} on ${assetType.name}.`);
  return event;
}

/** The records of a batch, which are few enough for one. */
async function pieceOfBatch(undone: Undone, { revision }: Operation): Promise<Piece> {
  const events = await eventsOfBatch(undone, revision);
  return {
    wanted: { keys: [], ids: events.flatMap(idsOf) },
    decide: (known) => decideUndoOfBatch(undone.assetType, revision, events, known),
    nothing: { type: 'BatchUndone', data: { undoes: revision, changed: [], seen: '', deleted: '' } },
    behind: 0,
    unavailable: 0,
  };
}

/** Few, as most batches are some events. */
const EVENTS_A_PAGE = 20;

/**
 * All events of a batch: one append, of at most one event for each item.
 * @throws NotFoundError when it is not the first event; ConflictError when it is an undo, or too old to be undone; the
 * reason of the deadline
 */
async function eventsOfBatch(undone: Undone, revision: Revision): Promise<readonly BatchUpserted['data'][]> {
  const { caller, assetType } = undone;
  const { eventStore } = undone.commands;
  const stream = tableStream(caller.tenant, assetType.name);
  const { metadata, data } = (await eventOf(undone, revision)) as RecordedEvent & BatchUpserted;
  const isPart = (event: RecordedEvent | undefined): boolean =>
    event?.type === 'BatchUpserted' && event.metadata.causationId === metadata.causationId;
  if (data.undoes !== undefined) throw new ConflictError(`${revision} is an undo, which cannot be undone.`);
  if (isPart(await eventAt(eventStore, stream, revision - 1)))
    throw new NotFoundError(`${revision} is a part of another operation.`);
  const events: BatchUpserted['data'][] = [];
  const to = revision + MAX_BATCH_ITEMS - 1;
  const pages = { from: revision, to, eventsAPage: EVENTS_A_PAGE, cancellation: caller.deadline };
  for await (const page of streamPages(eventStore, stream, pages)) {
    const end = page.findIndex((event) => !isPart(event));
    events.push(...page.slice(0, end < 0 ? undefined : end).map((event) => event.data as BatchUpserted['data']));
    if (end >= 0) break;
  }
  if (!events.every(saysWhatItReplaces)) {
    throw new ConflictError(`The batch ${revision} was written by a release that did not keep what a batch replaces.`);
  }
  return events;
}
