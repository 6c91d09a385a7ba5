/**
 * Deletes what the last synchronisation did not carry: a clean-up by the batch id (spec §4.8), or the commit of a sync
 * session, whose id the batches carry (decision 0012).
 */
import { z } from 'zod';
import { MAX_ENTRIES } from '../../domain/limits.js';
import { type CleanUpCounts, refusalOfCleanUp } from '../../domain/referenceTable/cleanUp.js';
import { isSyncId, type SyncCommit, type SyncEvent, syncId, uuidOfSync } from '../../domain/referenceTable/events.js';
import { SYNCS } from '../../domain/spaces.js';
import { syncStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { ALL_ROWS, cancellable, told, where } from '../../queries/asking.js';
import type { TableWrite, WriteOptions } from '../application.js';
import { parseBody, shortText } from '../body.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { type Once, once } from '../idempotency.js';
import { untilShown } from '../logReads.js';
import { refuseMasterData } from '../tables.js';
import { appendEvents } from '../writeStream.js';
import { writeTable } from './tableWriter.js';

const number = z.number('must be a number.').int('must be an integer.').min(0, 'must be at least 0.').optional();

/** `confirm`: how many records are to be deleted; any other number is refused. */
export const cleanUpBody = z.strictObject({ batch_id: shortText, confirm: number });

/** `records`: how many the session has carried: reveals a batch that was lost or refused. */
export const commitBody = z.strictObject({ records: number, confirm: number });

/** What was deleted, or what a dry run would delete. */
export type CleanUpResult = {
  readonly position: Position;
  readonly deleted: number;
  /** Names the operation, for its undo; undefined when nothing was deleted. */
  readonly operationId?: string | undefined;
  /** Of a dry run: how many records have the batch id, and the keys of the first that have not. */
  readonly carried?: number;
  readonly keys?: readonly string[];
};

type Deletion = {
  readonly batchId: string;
  readonly confirm: number | undefined;
  readonly dryRun: boolean;
  /** What it has deleted already. Throws to refuse it. */
  readonly done?: (counts: CleanUpCounts) => Promise<SyncCommit | undefined>;
};

/** Counts at the revision that the append then expects. @throws ValidationError when the guard or `confirm` refuses it */
async function deleteOthers({ commands, caller, assetType }: TableWrite, deletion: Deletion): Promise<CleanUpResult> {
  const { batchId, confirm, dryRun, done } = deletion;
  const { tenant, key } = caller;
  const table = { tenant, table: assetType.name };
  const read = async () => {
    const found = await commands.queries.records.outsideBatch(table, batchId, dryRun ? MAX_ENTRIES : 0);
    const { count: deleted, inside: kept, keys, ...end } = found;
    return { ...end, state: { deleted, kept, keys } };
  };
  let before: SyncCommit | undefined;
  const { position, revision, state } = await writeTable(commands, caller, assetType, read, async (counts) => {
    before = await done?.(counts);
    if (before !== undefined || dryRun) return [];
    const guard = commands.directory.tenant(tenant)?.cleanUpGuard;
    const refusal = refusalOfCleanUp(guard, { batchId, confirm }, counts);
    if (refusal !== undefined) throw new ValidationError(refusal);
    const { deleted } = counts;
    // A commit ends its session, and a request with a key writes something, so that the key is known.
    if (deleted === 0 && !isSyncId(batchId) && key === undefined) return [];
    return [{ type: 'TableCleanedUp', data: { batchId, deleted }, counts: { deleted } }];
  });
  if (before !== undefined) return { ...before, position };
  const { deleted, kept: carried, keys } = state;
  return dryRun ? { position, deleted, carried, keys } : { position, deleted, operationId: String(revision) };
}

/**
 * @param body `{ batch_id, confirm? }`
 * @throws ValidationError without a batch id, when the guard refuses, and when the confirmed number is wrong
 * @throws NotSupportedError on Master Data
 */
export async function cleanUpTable(
  target: TableWrite,
  body: unknown,
  { dryRun = false, key }: WriteOptions = {},
): Promise<Once<CleanUpResult>> {
  const { commands, caller, assetType } = target;
  refuseMasterData(assetType, 'cleaned up');
  const { batch_id: batchId, confirm } = parseBody(cleanUpBody, body);
  if (isSyncId(batchId)) throw new ValidationError({ batch_id: [`${batchId} is a sync: commit it instead.`] });
  const run = (own: Caller) => deleteOthers({ ...target, caller: own }, { batchId, confirm, dryRun });
  const request = { table: assetType.name, key, body: ['clean-up', body] };
  const done = await once<CleanUpResult>(commands, caller, request, run, ({ position, revision, counts }) => {
    return { position, deleted: Number(counts.deleted), operationId: String(revision ?? counts.operationId) };
  });
  return done.deleted === 0 ? { ...done, operationId: undefined } : done;
}

/** @throws NotSupportedError on Master Data */
export async function startSync({ commands, caller, assetType }: TableWrite) {
  refuseMasterData(assetType, 'cleaned up');
  const id = syncId(commands.newId());
  const event: SyncEvent = { type: 'SyncStarted', data: { id } };
  const { at } = await appendEvents(commands, caller, syncStream(caller.tenant, assetType.name), [event]);
  return { id, startedAt: at };
}

/**
 * What the session's commit has deleted; undefined while it is open. To be called by a decision on the table, which never
 * misses a commit: the clean-up itself ends the session.
 * @throws ConflictError when it is not the newest of the table: it takes no batch and cannot be committed
 */
async function committedBy({ commands, caller, assetType }: TableWrite, id: string): Promise<SyncCommit | undefined> {
  const table = assetType.name;
  await untilShown(commands, caller);
  const rows = cancellable(commands.rows, caller.deadline);
  const space = { tenant: caller.tenant, space: SYNCS.name };
  const [row] = (await rows.rows(space, { ids: isSyncId(id) ? [uuidOfSync(id)] : [], keys: [] })).rows;
  const session = row && told<{ table: string; deleted?: number; operationId?: string }>(row);
  const { deleted, operationId } = session ?? {};
  if (session?.table === table && deleted !== undefined) return { deleted, operationId };
  const later = await rows.page(space, { ...ALL_ROWS, conditions: where({ table }), behind: row?.n, limit: 1 });
  if (session?.table !== table || later.rows.length > 0)
    throw new ConflictError(`${id} is not the newest sync of this table.`);
  return undefined;
}

/** To be called by the decision on a batch. @throws ConflictError when the session takes none */
export async function requireOpenSync(target: TableWrite, id: string): Promise<void> {
  if ((await committedBy(target, id)) !== undefined) throw new ConflictError(`${id} is committed already.`);
}

/**
 * A repetition gets the same answer and deletes nothing more.
 * @param body `{ records, confirm? }`; a dry run needs none
 * @throws ConflictError when it is not the newest
 * @throws ValidationError when a number is wrong, and when the guard refuses
 */
export async function commitSync(
  target: TableWrite,
  id: string,
  body: unknown,
  dryRun = false,
): Promise<CleanUpResult> {
  refuseMasterData(target.assetType, 'cleaned up');
  const { records, confirm } = parseBody(commitBody, body);
  if (records === undefined && !dryRun)
    throw new ValidationError({ records: ['The records field is required: how many the session has carried.'] });
  // A batch asks for its session on the rows that its append expects: it is counted here, or conflicts and is refused.
  const done = async ({ kept }: CleanUpCounts): Promise<SyncCommit | undefined> => {
    const committed = await committedBy(target, id);
    if (committed === undefined && !dryRun && records !== kept)
      throw new ValidationError({ records: [`${kept} records have ${id} as their batch id, not ${records}.`] });
    return committed;
  };
  return deleteOthers(target, { batchId: id, confirm, dryRun, done });
}
