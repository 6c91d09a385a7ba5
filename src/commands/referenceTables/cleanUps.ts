/**
 * Deletes what the last synchronisation did not carry: a clean-up by the batch id (spec §4.8), or the commit of a sync
 * session, whose id the batches carry (decision 0012).
 */

import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_ENTRIES } from '../../domain/limits.js';
import { type CleanUpCounts, type CleanUpGuard, refusalOfCleanUp } from '../../domain/referenceTable/cleanUpGuard.js';
import { cleanUp } from '../../domain/referenceTable/decide.js';
import { cleanUpDifferences, type Difference } from '../../domain/referenceTable/differences.js';
import {
  expiryOf,
  isSyncId,
  refusalOfSync,
  type SyncEvent,
  type SyncSession,
  syncId,
  uuidOfSync,
} from '../../domain/referenceTable/sync.js';
import { SYNCS } from '../../domain/spaces.js';
import { syncStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { ALL_ROWS, cancellable, told, where } from '../../queries/asking.js';
import type { Application } from '../application.js';
import { parseBody, shortText } from '../body.js';
import { untilTenantIsShown } from '../catchUp.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { type Once, once } from '../idempotency.js';
import { refuseMasterData } from '../tables.js';
import { appendEvents, type Loaded, withDeadline } from '../writeStream.js';
import { writeTable } from './tableWriter.js';

const number = z.number('must be a number.').int('must be an integer.').min(0, 'must be at least 0.').optional();

/** `confirm`: how many records are to be deleted; any other number is refused. */
export const cleanUpBody = z.strictObject({ batch_id: shortText, confirm: number });

/** `records`: how many the session has carried: reveals a batch that was lost or refused. */
export const commitBody = z.strictObject({ records: number, confirm: number });

/** What was deleted, or what a dry run would delete, with the first of the records. */
export type CleanUpResult = {
  readonly position: Position;
  readonly deleted: number;
  /** Names the operation, for its undo; undefined when nothing was deleted. */
  readonly operationId?: string | undefined;
  /** Records that have the batch id; of a dry run. */
  readonly carried?: number;
  readonly differences: readonly Difference[];
};

/** `guard`: the tenant's; ignored by a dry run. */
type CleanUpOptions = { readonly dryRun?: boolean; readonly guard?: CleanUpGuard | undefined };

/**
 * @param body `{ batch_id, confirm? }`
 * @throws ValidationError without a batch id, when the guard refuses, and when the confirmed number is wrong
 * @throws NotSupportedError on Master Data
 */
export async function cleanUpTable(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  { dryRun = false, guard, key }: CleanUpOptions & { readonly key?: string | undefined } = {},
): Promise<Once<CleanUpResult>> {
  refuseMasterData(assetType, 'cleaned up');
  const { batch_id: batchId, confirm } = parseBody(cleanUpBody, body);
  if (isSyncId(batchId)) throw new ValidationError({ batch_id: [`${batchId} is a sync: commit it instead.`] });
  const result = (position: Position, deleted: number, operation: unknown): CleanUpResult => {
    return { position, deleted, operationId: deleted === 0 ? undefined : String(operation), differences: [] };
  };
  const run = async (own: Caller): Promise<CleanUpResult> => {
    if (dryRun) return wouldDelete(commands, caller, assetType, batchId);
    const read = () => countCleanUp(commands, caller, assetType, batchId);
    const { position, revision, state } = await writeTable(commands, own, assetType, read, (counts) => {
      requireAllowed(guard, { batchId, confirm }, counts);
      const { deleted } = counts;
      return deleted === 0 && own.key === undefined ? [] : [{ ...cleanUp(batchId, deleted), counts: { deleted } }];
    });
    return result(position, state.deleted, revision);
  };
  const request = { table: assetType.name, key, body: ['clean-up', body] };
  return once<CleanUpResult>(commands, caller, request, run, ({ position, revision, counts }) =>
    result(position, Number(counts.deleted), revision ?? counts.operationId),
  );
}

/** @throws ValidationError */
function requireAllowed(...request: Parameters<typeof refusalOfCleanUp>): void {
  const refusal = refusalOfCleanUp(...request);
  if (refusal !== undefined) throw new ValidationError(refusal);
}

/** Counted at the revision that the append then expects; with the first `limit` of the records that would go. */
async function countCleanUp({ queries }: Application, caller: Caller, { name }: AssetType, batchId: string, limit = 0) {
  const found = await queries.records.outsideBatch({ tenant: caller.tenant, table: name }, batchId, limit);
  const { count: deleted, inside: kept, revision, lastEventAt, records } = found;
  return { revision, lastEventAt, state: { deleted, kept }, records };
}

async function wouldDelete(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  batchId: string,
): Promise<CleanUpResult> {
  await withDeadline(caller, untilTenantIsShown(commands, caller));
  const counted = countCleanUp(commands, caller, assetType, batchId, MAX_ENTRIES);
  const { state, records } = await withDeadline(caller, counted);
  const differences = cleanUpDifferences(assetType, records);
  return { position: 0, deleted: state.deleted, carried: state.kept, differences };
}

type StartedSync = { readonly id: string; readonly startedAt: string; readonly expiresAt: string };

/** @throws NotSupportedError on Master Data */
export async function startSync(commands: Application, caller: Caller, assetType: AssetType): Promise<StartedSync> {
  refuseMasterData(assetType, 'synchronized');
  const id = syncId(commands.newId());
  const event: SyncEvent = { type: 'SyncStarted', data: { id } };
  const { at } = await appendEvents(commands, caller, syncStream(caller.tenant, assetType.name), [event]);
  return { id, startedAt: at, expiresAt: expiryOf(at) };
}

/** As the rows show it. The clean-up itself ends the session there, so a decision on the table never misses that. */
async function sessionOf(
  commands: Application,
  caller: Caller,
  { name: table }: AssetType,
  id: string,
): Promise<SyncSession | undefined> {
  const rows = cancellable(commands.rows, caller.deadline);
  const space = { tenant: caller.tenant, space: SYNCS.name };
  const [row] = (await rows.rows(space, { ids: isSyncId(id) ? [uuidOfSync(id)] : [], keys: [] })).rows;
  if (row === undefined) return undefined;
  type Stored = { table: string; startedAt: string; deleted?: number; operationId?: string };
  const { deleted, operationId, startedAt, table: own } = told<Stored>(row);
  if (own !== table) return undefined;
  const later = await rows.page(space, { ...ALL_ROWS, conditions: where({ table }), behind: row.n, limit: 1 });
  const committed = deleted === undefined ? undefined : { deleted, operationId };
  return { startedAt, isNewest: later.rows.length === 0, committed };
}

/**
 * To be called by a decision on the table, on rows that show the whole tenant.
 * @throws ConflictError when the session takes no batch and cannot be committed
 */
export async function requireOpenSync(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
): Promise<void> {
  requireOpen(await sessionOf(commands, caller, assetType, id), id, commands.now());
}

function requireOpen(session: SyncSession | undefined, id: string, now: string): void {
  const refusal = session?.committed ? `${id} is committed already.` : refusalOfSync(session, id, now);
  if (refusal !== undefined) throw new ConflictError(refusal);
}

/**
 * A repetition gets the same answer and deletes nothing more.
 * @param body `{ records, confirm? }`; a dry run needs none
 * @throws ConflictError when it has expired, or is not the newest
 * @throws ValidationError when a number is wrong, and when the guard refuses
 */
export async function commitSync(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  { dryRun = false, guard }: CleanUpOptions = {},
): Promise<CleanUpResult> {
  refuseMasterData(assetType, 'synchronized');
  const { records, confirm } = parseBody(commitBody, body);
  if (dryRun) {
    const would = await wouldDelete(commands, caller, assetType, id);
    await withDeadline(caller, requireOpenSync(commands, caller, assetType, id));
    return would;
  }
  if (records === undefined)
    throw new ValidationError({ records: ['The records field is required: how many the session has carried.'] });
  const load = async (): Promise<Loaded<CleanUpCounts & { readonly session: SyncSession | undefined }>> => {
    await untilTenantIsShown(commands, caller);
    const { state, ...end } = await countCleanUp(commands, caller, assetType, id);
    return { ...end, state: { ...state, session: await sessionOf(commands, caller, assetType, id) } };
  };
  // A batch asks for its session on the rows that its append expects: it is counted here, or conflicts and is refused.
  const { position, revision, state } = await writeTable(commands, caller, assetType, load, (now) => {
    if (now.session?.committed !== undefined) return [];
    requireOpen(now.session, id, commands.now());
    if (records !== now.kept)
      throw new ValidationError({ records: [`${now.kept} records have ${id} as their batch id, not ${records}.`] });
    requireAllowed(guard, { batchId: id, confirm }, now);
    return [cleanUp(id, now.deleted)];
  });
  const done = state.session?.committed ?? { deleted: state.deleted, operationId: String(revision) };
  return { ...done, position, differences: [] };
}
