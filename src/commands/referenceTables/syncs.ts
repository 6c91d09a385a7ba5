/** Starts and commits sync sessions; a commit is carried out once (decision 0034). */

import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_DIFFERENCES } from '../../domain/limits.js';
import { type CleanUpCounts, type CleanUpGuard, refusalOfCleanUp } from '../../domain/referenceTable/cleanUpGuard.js';
import { cleanUp } from '../../domain/referenceTable/decide.js';
import { cleanUpDifferences, type Difference, firstDifferences } from '../../domain/referenceTable/differences.js';
import {
  expiryOf,
  type Sync,
  type SyncCommitted,
  type SyncEvent,
  syncId,
  uuidOfSync,
} from '../../domain/referenceTable/sync.js';
import { tableStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import type { TableRef } from '../../queries/records.js';
import type { Application } from '../application.js';
import { parseBody } from '../body.js';
import { tenantEnd, untilTableIsShown } from '../catchUp.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { useOfKey } from '../idempotency.js';
import { refuseMasterData } from '../tables.js';
import { withDeadline } from '../writeStream.js';
import { confirmed, countCleanUp } from './synchronize.js';
import { changeSync, loadSync, requireOpen, requireSent, type Unsent, unsentOf } from './syncState.js';
import { writeTable } from './tableWriter.js';

export const commitBody = z.strictObject({
  /** How many records the session has carried: reveals a batch that was lost on its way. */
  records: confirmed.optional(),
  /** How many records the commit should delete. */
  confirm: confirmed.optional(),
  /** False: deletes nothing. */
  clean_up: z.boolean('must be true or false.').default(true),
});

type StartedSync = {
  readonly id: string;
  readonly startedAt: string;
  readonly expiresAt: string;
  /** Whether the table had none before. */
  readonly isFirst: boolean;
};

/** @throws NotSupportedError on Master Data */
export async function startSync(commands: Application, caller: Caller, assetType: AssetType): Promise<StartedSync> {
  refuseMasterData(assetType, 'synchronized');
  const id = syncId(commands.newId());
  const started = await changeSync(commands, caller, assetType.name, () => [{ type: 'SyncStarted', data: { id } }]);
  const { at: startedAt, state } = started;
  return { id, startedAt, expiresAt: expiryOf({ id, startedAt }), isFirst: state === undefined };
}

export type CommitResult = {
  readonly position: Position;
  readonly deleted: number;
  readonly operationId?: string | undefined;
  /** Dry run only: how many records the session has carried. */
  readonly carried?: number;
  readonly differences: readonly Difference[];
};

/**
 * A repetition gets the same answer and deletes nothing more.
 * @param body `{ records, confirm?, clean_up? }`; a dry run needs none
 * @throws ConflictError when records of a refused batch were not sent again, it has expired, it is not the newest, or it ended without a clean-up
 * @throws ValidationError when a number is wrong, and when the guard refuses
 */
export async function commitSync(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  options: { readonly dryRun?: boolean; readonly guard?: CleanUpGuard | undefined } = {},
): Promise<CommitResult> {
  refuseMasterData(assetType, 'synchronized');
  const { records, confirm, clean_up: cleansUp } = parseBody(commitBody, body);
  if (records === undefined && options.dryRun !== true) {
    throw new ValidationError({ records: ['The records field is required: how many the session has carried.'] });
  }
  const commit: Commit = {
    commands,
    caller,
    assetType,
    id,
    check({ deleted, kept }, unsent) {
      if (records !== undefined && records !== kept) {
        throw new ValidationError({ records: [`${kept} records have ${id} as their batch id, not ${records}.`] });
      }
      if (!cleansUp) return;
      if (confirm !== deleted) requireSent(assetType, id, unsent);
      const guard = options.dryRun === true ? undefined : options.guard;
      const refusal = refusalOfCleanUp(guard, { batchId: id, confirm }, { deleted, kept });
      if (refusal !== undefined) throw new ValidationError(refusal);
    },
  };
  if (options.dryRun === true) return dryRunOf(commit);
  const { state: newest } = await loadSync(commands, caller, assetType.name);
  if (newest?.id === id && newest.committed !== undefined) {
    const { deleted, operationId } = newest.committed;
    if (cleansUp && operationId === undefined) throw new ConflictError(`${id} was committed without a clean-up.`);
    return { deleted, operationId, position: await endOf(commit), differences: [] };
  }
  if (!cleansUp || newest?.id !== id || newest.closed === undefined) await checkUnlessClosed(commit);
  const expiresAt = await close(commit, cleansUp, confirm !== undefined);
  if (!cleansUp) return { deleted: 0, position: await endOf(commit), differences: [] };
  const { position, ...done } = await cleanUpOnce(commit, expiresAt);
  const committed: SyncCommitted = { type: 'SyncCommitted', data: { id, ...done } };
  const ending = (sync: Sync | undefined) => (sync?.id === id && sync.committed === undefined ? [committed] : []);
  // The clean-up stands in any case: without this event, a repetition finds it in the table's stream.
  await changeSync(commands, caller, assetType.name, ending).catch(() => undefined);
  return { ...done, position: position || (await endOf(commit)), differences: [] };
}

/** The commit of one session. */
type Commit = {
  readonly commands: Application;
  readonly caller: Caller;
  readonly assetType: AssetType;
  readonly id: string;
  /** Throws what speaks against it. */
  readonly check: (counts: CleanUpCounts, unsent?: Unsent) => void;
};

/** For answers that show what any request has written. */
const endOf = async ({ commands, caller }: Commit): Promise<Position> =>
  withDeadline(caller, tenantEnd(commands, caller.tenant));

const tableOf = ({ caller, assetType }: Commit): TableRef => ({ tenant: caller.tenant, table: assetType.name });

/** @returns what the commit of the open session would delete and keep */
async function checkCommit(commit: Commit): Promise<CleanUpCounts> {
  const { commands, caller, assetType, id, check } = commit;
  const { state: sync } = await loadSync(commands, caller, assetType.name);
  requireOpen(sync, id, commands.now());
  await untilTableIsShown(commands, caller, assetType.name);
  const { state: counts } = await countCleanUp(commands, tableOf(commit), id);
  check(counts, await unsentOf(commands, caller, assetType, sync));
  return counts;
}

async function dryRunOf(commit: Commit): Promise<CommitResult> {
  const { commands, caller, assetType, id } = commit;
  const { deleted, kept } = await withDeadline(caller, checkCommit(commit));
  const { records } = commands.queries;
  const some = await withDeadline(caller, records.someOutsideBatch(tableOf(commit), id, MAX_DIFFERENCES));
  const differences = firstDifferences(cleanUpDifferences(assetType, some));
  return { position: 0, deleted, carried: kept, differences };
}

/** If another request closes the session meanwhile, its clean-up is the answer to this one, too, whatever the check says. */
async function checkUnlessClosed(commit: Commit): Promise<void> {
  const { commands, caller, assetType, id } = commit;
  try {
    await withDeadline(caller, checkCommit(commit));
  } catch (error) {
    const { state } = await loadSync(commands, caller, assetType.name);
    if (state?.id !== id || state.closed === undefined) throw error;
  }
}

/**
 * Closes the session, before anything is deleted; without a clean-up it is committed by that. A batch asks for its session
 * after it has read the table, so each batch is either counted, or conflicts with the deletion and is refused. Where nothing
 * is deleted, a batch that is written between the check and the end stays, and was not counted.
 * @returns when it expires
 */
async function close(
  { commands, caller, assetType, id }: Commit,
  cleansUp: boolean,
  isConfirmed: boolean,
): Promise<string> {
  const { name } = assetType;
  const { state } = await changeSync(commands, caller, name, async (sync) => {
    if (sync?.id === id && (cleansUp ? sync.closed : sync.committed) !== undefined) return [];
    // Decided on the loaded state: if another request has closed it since, this append conflicts.
    requireOpen(sync, id, commands.now());
    // A batch may have been refused since the check.
    if (cleansUp && !isConfirmed) requireSent(assetType, id, await unsentOf(commands, caller, assetType, sync));
    const after = (await commands.eventStore.lastAppend(tableStream(caller.tenant, name)))?.revision ?? -1;
    const closed: SyncEvent = { type: 'SyncClosed', data: { id, after } };
    return cleansUp ? [closed] : [closed, { type: 'SyncCommitted', data: { id, deleted: 0 } }];
  });
  if (state === undefined) throw new Error(`${id} is not closed.`);
  return expiryOf(state);
}

type CleanedUp = { readonly deleted: number; readonly operationId: string };

/** Cleans up once, however often it is called: the rows say whether it was done. */
async function cleanUpOnce(commit: Commit, expiresAt: string): Promise<CleanedUp & { readonly position: Position }> {
  const { commands, caller, assetType, id, check } = commit;
  const read = async () => {
    const { state: counts, ...end } = await countCleanUp(commands, tableOf(commit), id);
    const use = await useOfKey(commands, caller.tenant, uuidOfSync(id));
    const before = use && { deleted: Number(use.counts.deleted), operationId: String(use.revision) };
    return { ...end, state: { counts, before } };
  };
  const { position, revision, state } = await writeTable(commands, caller, assetType, read, ({ counts, before }) => {
    if (before !== undefined) return [];
    if (Date.parse(commands.now()) >= Date.parse(expiresAt))
      throw new ConflictError(`${id} has expired: start another.`);
    check(counts);
    return [cleanUp(id, counts.deleted)];
  });
  return { position, ...(state.before ?? { deleted: state.counts.deleted, operationId: String(revision) }) };
}
