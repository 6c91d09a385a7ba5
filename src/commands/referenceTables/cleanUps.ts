/**
 * Deletes what the last synchronisation did not carry: a clean-up by the batch id (spec §4.8), or the commit of a sync
 * session, whose id the batches carry (decision 0012).
 */
import { z } from 'zod';
import { MAX_ENTRIES } from '../../domain/limits.js';
import { refusalOfCleanUp } from '../../domain/referenceTable/cleanUp.js';
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
  /** Of the commit of a sync session: how many records it has carried. */
  readonly commit?: { readonly records: number | undefined };
};

/** Counts at the revision that the append then expects. @throws ValidationError when the guard or `confirm` refuses it */
async function deleteOthers(target: TableWrite, deletion: Deletion): Promise<CleanUpResult> {
  const { commands, caller, assetType } = target;
  const { batchId, confirm, dryRun, commit } = deletion;
  const { tenant, key } = caller;
  const table = { tenant, table: assetType.name };
  const read = async () => {
    const found = await commands.queries.records.outsideBatch(table, batchId, dryRun ? MAX_ENTRIES : 0);
    const { count: deleted, inside: kept, keys, ...end } = found;
    return { ...end, state: { deleted, kept, keys, session: commit && (await sessionOf(target, batchId)) } };
  };
  const { position, revision, state } = await writeTable(
    commands,
    caller,
    assetType,
    read,
    ({ session, deleted, kept }) => {
      if (session?.commit !== undefined) return [];
      if (session?.refusal !== undefined) throw session.refusal;
      if (dryRun) return [];
      // A batch asks for its session on the rows that its append expects: it is counted here, or conflicts and is refused.
      if (commit !== undefined && commit.records !== kept)
        throw new ValidationError({
          records: [`${kept} records have ${batchId} as their batch id, not ${commit.records}.`],
        });
      const guard = commands.directory.tenant(tenant)?.cleanUpGuard;
      const refusal = refusalOfCleanUp(guard, { batchId, confirm }, { deleted, kept });
      if (refusal !== undefined) throw new ValidationError(refusal);
      // A commit ends its session, and a request with a key writes something, so that the key is known.
      if (deleted === 0 && !isSyncId(batchId) && key === undefined) return [];
      return [{ type: 'TableCleanedUp', data: { batchId, deleted }, counts: { deleted } }];
    },
  );
  const { session, deleted, kept: carried, keys } = state;
  if (session?.commit !== undefined) return { ...session.commit, position };
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

/** Its commit, if it has ended; why it takes no batch, if it has ended or is not the newest. */
type Session = { readonly commit?: SyncCommit; readonly refusal?: ConflictError };

/** To be read behind the rows that an append expects, which then never misses a commit: the clean-up itself ends the session. */
export async function sessionOf({ commands, caller, assetType }: TableWrite, id: string): Promise<Session> {
  const table = assetType.name;
  await untilShown(commands, caller);
  const rows = cancellable(commands.rows, caller.deadline);
  const space = { tenant: caller.tenant, space: SYNCS.name };
  const [row] = (await rows.rows(space, { ids: isSyncId(id) ? [uuidOfSync(id)] : [], keys: [] })).rows;
  const session = row && told<{ table?: string; deleted?: number; operationId?: string }>(row);
  const { table: own, deleted, operationId } = session ?? {};
  if (own === table && deleted !== undefined)
    return { commit: { deleted, operationId }, refusal: new ConflictError(`${id} is committed already.`) };
  const later = await rows.page(space, { ...ALL_ROWS, conditions: where({ table }), behind: row?.n, limit: 1 });
  const isNewest = own === table && later.rows.length === 0;
  return isNewest ? {} : { refusal: new ConflictError(`${id} is not the newest sync of this table.`) };
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
  return deleteOthers(target, { batchId: id, confirm, dryRun, commit: { records } });
}
