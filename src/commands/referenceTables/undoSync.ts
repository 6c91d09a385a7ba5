/** Undoes a whole sync session: the clean-up of its commit, then its batches, newest first. */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_SYNC_EVENTS } from '../../domain/limits.js';
import type { BatchUpserted, TableCleanedUp } from '../../domain/referenceTable/events.js';
import { statusOf } from '../../domain/referenceTable/sync.js';
import { tableStream } from '../../domain/streams.js';
import type { RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { RowReads } from '../../ports/rowStore.js';
import type { TableRef } from '../../queries/records.js';
import { type SyncOperation, type SyncSession, syncSession, workOf } from '../../queries/syncs.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { Application } from '../application.js';
import { parseBody } from '../body.js';
import { type Caller, ConflictError, NotFoundError } from '../context.js';
import { eventAt } from '../streamPages.js';
import { refuseMasterData } from '../tables.js';
import { eventsOfBatch, type Rest, Undo, type UndoOptions, type UndoResult, undoBatch, undoCleanUp } from './undo.js';

const NEXT = 'must be the `next` of an answer.';

export const undoSyncBody = z.strictObject({
  /** `next` of the answer before: an operation, and within a clean-up the last record. */
  after: z
    .string(NEXT)
    .regex(/^\d{1,15}(\.[0-9a-f-]{36})?$/, NEXT)
    .optional(),
});

/** @throws NotFoundError; the cancellation's reason */
export async function requireSync(
  rows: RowReads,
  table: TableRef,
  id: string,
  cancellation: Cancellation | undefined,
): Promise<SyncSession> {
  const session = await syncSession(rows, table, id, cancellation);
  if (session === undefined) throw new NotFoundError(`There is no sync ${id} on ${table.table}.`);
  return session;
}

/**
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
  const { after } = parseBody(undoSyncBody, body);
  const { rows } = commands;
  const table = { tenant: caller.tenant, table: assetType.name };
  const undo = new Undo(commands, caller, assetType, options);
  const session = await requireSync(rows, table, id, caller.deadline);
  const work = await workOf(rows, table, session, { entries: MAX_SYNC_EVENTS }, caller.deadline);
  if (work === undefined) {
    throw new ConflictError(`${id} is too large to be undone at once: undo its operations, the newest first.`);
  }
  const isCleanedUp = work.operations.some(({ kind }) => kind === 'clean_up');
  const status = statusOf(session, isCleanedUp, commands.now());
  if (status === 'started' || status === 'committing') {
    throw new ConflictError(`${id} is still open: commit it, or start another one, before it is undone.`);
  }
  return undoAll(undo, work.operations, after);
}

/** @param operations newest first @param after where it continues */
async function undoAll(undo: Undo, operations: readonly SyncOperation[], after?: string): Promise<UndoResult> {
  const [from, record] = after?.split('.') ?? [];
  const left = operations.filter(({ revision }) => from === undefined || revision <= Number(from));
  let unavailable: number | undefined = after === undefined ? 0 : undefined;
  for (const [index, operation] of left.entries()) {
    // The first is begun in any case, so that each request makes progress.
    if (index > 0 && !undo.goesOn) return undo.result(restFrom(index));
    const event = await eventOf(undo, operation.revision);
    if (operation.kind === 'batch') {
      await undoBatchOf(undo, event as RecordedEvent & BatchUpserted, restFrom(index + 1));
      continue;
    }
    const behind = index === 0 ? record : undefined;
    const before = undo.done;
    const rest = (total: number, next: string | undefined, done: number): Rest => {
      if (behind === undefined) unavailable = operation.records - total;
      const later = restFrom(index + 1);
      if (next === undefined) return later;
      return { ...later, next: `${operation.revision}.${next}`, remaining: later.remaining + total - (done - before) };
    };
    const { total, next } = await undoCleanUp(undo, event as RecordedEvent & TableCleanedUp, behind, rest);
    const ofThis = rest(total, next, undo.done);
    if (next !== undefined) return undo.result(ofThis);
  }
  return undo.result(restFrom(left.length));

  function restFrom(index: number) {
    const next = left[index] && String(left[index].revision);
    return { next, unavailable, remaining: left.slice(index).reduce((sum, { records }) => sum + records, 0) };
  }
}

async function eventOf({ commands, caller, assetType }: Undo, revision: Revision): Promise<RecordedEvent> {
  const stream = tableStream(caller.tenant, assetType.name);
  const event = await eventAt(commands.eventStore, stream, revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${revision} on ${assetType.name}.`);
  return event;
}

async function undoBatchOf(undo: Undo, event: RecordedEvent & BatchUpserted, rest: Rest): Promise<void> {
  const { commands, caller, assetType } = undo;
  const stream = tableStream(caller.tenant, assetType.name);
  const batch = await eventsOfBatch(commands, caller, stream, event);
  await undo.piece(() => undoBatch(undo, batch, rest));
}
