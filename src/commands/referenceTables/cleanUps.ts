/**
 * Deletes what the last synchronisation did not carry: a clean-up by the batch id (spec §4.8), or the commit of a sync
 * session, whose id the batches carry (decision 0012).
 */

import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { MAX_ENTRIES, MAX_REFUSED_KEYS, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { type CleanUpCounts, type CleanUpGuard, refusalOfCleanUp } from '../../domain/referenceTable/cleanUpGuard.js';
import { cleanUp, uniqueFieldOf, uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import { cleanUpDifferences, type Difference, firstDifferences } from '../../domain/referenceTable/differences.js';
import { expiryOf, isSyncId, refusalOfSync, type SyncEvent, syncId } from '../../domain/referenceTable/sync.js';
import { cutText, shownName } from '../../domain/shownName.js';
import { syncStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { cancellable } from '../../queries/asking.js';
import type { TableRef } from '../../queries/records.js';
import { type SyncSession, syncSession } from '../../queries/syncs.js';
import type { Application } from '../application.js';
import { parseBody, shortText } from '../body.js';
import { untilTenantIsShown } from '../catchUp.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { type Once, once } from '../idempotency.js';
import { refuseMasterData } from '../tables.js';
import { appendEvents, type Loaded, type Written, withDeadline } from '../writeStream.js';
import { writeTable } from './tableWriter.js';

const confirmed = z.number('must be a number.').int('must be an integer.').min(0, 'must be at least 0.');

export const cleanUpBody = z.strictObject({
  batch_id: shortText,
  /** How many records the clean-up should delete; any other number is refused. */
  confirm: confirmed.optional(),
});

/** What was deleted, or what a dry run would delete, with the first of the records. */
export type CleanUpResult = {
  readonly position: Position;
  readonly deleted: number;
  /** Names the operation, for its undo; undefined when nothing was deleted. */
  readonly operationId?: string | undefined;
  /** Dry run of a commit only: how many records the session has carried. */
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
    const read = () => countCleanUp(commands, caller, assetType, batchId);
    const { position, revision, state } = await writeTable(commands, own, assetType, read, (counts) => {
      if (dryRun) return [];
      const refusal = refusalOfCleanUp(guard, { batchId, confirm }, counts);
      if (refusal !== undefined) throw new ValidationError(refusal);
      const { deleted } = counts;
      return deleted === 0 && own.key === undefined ? [] : [{ ...cleanUp(batchId, deleted), counts: { deleted } }];
    });
    if (!dryRun) return result(position, state.deleted, revision);
    const differences = await deletionsOf(commands, caller, assetType, batchId);
    return { position, deleted: state.deleted, differences };
  };
  const request = { table: assetType.name, key, body: ['clean-up', body] };
  return once<CleanUpResult>(commands, caller, request, run, ({ position, revision, counts }) =>
    result(position, Number(counts.deleted), revision ?? counts.operationId),
  );
}

const refOf = ({ tenant }: Caller, { name: table }: AssetType): TableRef => ({ tenant, table });

/** Counted at the revision that the append then expects. */
async function countCleanUp(
  { queries }: Pick<Application, 'queries'>,
  caller: Caller,
  assetType: AssetType,
  batchId: string,
): Promise<Loaded<CleanUpCounts>> {
  const found = await queries.records.outsideBatch(refOf(caller, assetType), batchId);
  const { count: deleted, inside: kept, revision, lastEventAt } = found;
  return { revision, lastEventAt, state: { deleted, kept } };
}

/** The first records that a clean-up would delete. */
async function deletionsOf(
  { queries }: Application,
  caller: Caller,
  assetType: AssetType,
  batchId: string,
): Promise<readonly Difference[]> {
  const some = queries.records.outsideBatch(refOf(caller, assetType), batchId, MAX_ENTRIES);
  return firstDifferences(cleanUpDifferences(assetType, (await withDeadline(caller, some)).records));
}

export const commitBody = z.strictObject({
  /** How many records the session has carried: reveals a batch that was lost on its way. */
  records: confirmed.optional(),
  /** How many records the commit should delete. */
  confirm: confirmed.optional(),
  /** False: deletes nothing. */
  clean_up: z.boolean('must be true or false.').default(true),
});

const appendSync = (
  commands: Application,
  caller: Caller,
  { name }: AssetType,
  event: SyncEvent,
): Promise<Written<undefined, SyncEvent>> => appendEvents(commands, caller, syncStream(caller.tenant, name), [event]);

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
  const event = { type: 'SyncStarted', data: { id } } as const;
  const { at: startedAt, revision } = await appendSync(commands, caller, assetType, event);
  return { id, startedAt, expiresAt: expiryOf({ startedAt }), isFirst: revision === 0 };
}

/** The ids of sync sessions among batch ids. */
export const syncIdsOf = (batchIds: Iterable<unknown>): readonly string[] => [
  ...new Set([...batchIds].filter((id): id is string => typeof id === 'string' && isSyncId(id))),
];

type Session = SyncSession | undefined;

/** As the rows show it. The clean-up itself ends the session there, so a decision on the table never misses that. */
const sessionOf = (commands: Application, caller: Caller, assetType: AssetType, id: string): Promise<Session> =>
  withDeadline(caller, syncSession(cancellable(commands.rows, caller.deadline), refOf(caller, assetType), id));

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

function requireOpen(session: Session, id: string, now: string): void {
  const refusal = refusalOfSync(session, id, now);
  if (refusal !== undefined) throw new ConflictError(refusal);
  if (session?.committed !== undefined) throw new ConflictError(`${id} is being committed, or is committed already.`);
}

type CommitState = CleanUpCounts & { readonly session: Session };

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
  { dryRun = false, guard }: CleanUpOptions = {},
): Promise<CleanUpResult> {
  refuseMasterData(assetType, 'synchronized');
  const { records, confirm, clean_up: cleansUp } = parseBody(commitBody, body);
  if (records === undefined && !dryRun)
    throw new ValidationError({ records: ['The records field is required: how many the session has carried.'] });
  const load = async (): Promise<Loaded<CommitState>> => {
    await untilTenantIsShown(commands, caller);
    const { state: counts, ...end } = await countCleanUp(commands, caller, assetType, id);
    return { ...end, state: { ...counts, session: await sessionOf(commands, caller, assetType, id) } };
  };
  const check = async ({ deleted, kept, session }: CommitState): Promise<void> => {
    requireOpen(session, id, commands.now());
    if (records !== undefined && records !== kept)
      throw new ValidationError({ records: [`${kept} records have ${id} as their batch id, not ${records}.`] });
    if (!cleansUp) return;
    if (confirm !== deleted) await requireSent(commands, refOf(caller, assetType), assetType, id, session);
    const refusal = refusalOfCleanUp(dryRun ? undefined : guard, { batchId: id, confirm }, { deleted, kept });
    if (refusal !== undefined) throw new ValidationError(refusal);
  };
  if (dryRun) {
    const { state } = await withDeadline(caller, load());
    await withDeadline(caller, check(state));
    const differences = await deletionsOf(commands, caller, assetType, id);
    return { position: 0, deleted: state.deleted, carried: state.kept, differences };
  }
  // A batch asks for its session on the rows that its append expects: it is counted here, or conflicts and is refused.
  const { position, revision, state } = await writeTable(commands, caller, assetType, load, async (now) => {
    if (now.session?.committed !== undefined) return [];
    await check(now);
    return cleansUp ? [cleanUp(id, now.deleted)] : [];
  });
  const committed = state.session?.committed;
  if (committed !== undefined) {
    if (cleansUp && committed.operationId === undefined)
      throw new ConflictError(`${id} was committed without a clean-up.`);
    return { ...committed, position: 0, differences: [] };
  }
  const done = cleansUp ? { deleted: state.deleted, operationId: String(revision) } : { deleted: 0 };
  const noted = appendSync(commands, caller, assetType, { type: 'SyncCommitted', data: { id, ...done } });
  // A clean-up stands in any case, and a repetition finds it.
  const { position: end } = await (cleansUp ? noted.catch(() => ({ position })) : noted);
  return { ...done, position: Math.max(position, end), differences: [] };
}

/** Notes a batch that is refused for good in its session, so that no commit deletes what the batch named. */
export async function noteRefusal(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  items: readonly unknown[],
  error: unknown,
): Promise<void> {
  if (!(error instanceof ValidationError || error instanceof ConflictError)) return;
  const sent = items.map((item) => Object(item) as Fields);
  for (const id of syncIdsOf(sent.map((item) => ownValue(item, '_batch_id')))) {
    await untilTenantIsShown(commands, caller);
    const session = await sessionOf(commands, caller, assetType, id);
    if (refusalOfSync(session, id, commands.now()) !== undefined || session?.committed !== undefined) continue;
    const keys = sent
      .filter((item) => ownValue(item, '_batch_id') === id)
      .map((item) => ownValue(item, uniqueFieldOf(assetType)))
      .filter((key) => typeof key === 'number' || (typeof key === 'string' && key.length <= MAX_STRING_LENGTH));
    const known = new Set([...(session?.refused?.keys ?? []), ...keys.map(String)]);
    const isTooMany = known.size > MAX_REFUSED_KEYS;
    const data = {
      id,
      reason: cutText(error.message, MAX_REASON),
      ...(!isTooMany && { keys: [...new Set(keys.map(String))] }),
    };
    await appendSync(commands, caller, assetType, { type: 'SyncFailed', data });
  }
}

/** @throws ConflictError for a commit that would delete what a refused batch named, and what was not sent again */
async function requireSent(
  { queries }: Application,
  table: TableRef,
  assetType: AssetType,
  id: string,
  session: SyncSession | undefined,
): Promise<void> {
  if (session?.refused === undefined) return;
  const { keys: refused, reason } = session.refused;
  const keys: string[] = [];
  for (let from = 0; from < refused.size; from += KEYS_AT_ONCE) {
    const some = [...refused].slice(from, from + KEYS_AT_ONCE);
    const { records } = await queries.records.snapshot(table, { keys: some, ids: [] });
    for (const { batchId, fields } of records) {
      const key = uniqueKeyOf(assetType, fields);
      if (batchId !== id && refused.has(key)) keys.push(key);
    }
  }
  if (keys.length === 0) return;
  const named = keys.slice(0, NAMED_KEYS).map((key) => JSON.stringify(shownName(key)));
  const more = keys.length > named.length ? ', …' : '';
  throw new ConflictError(
    `A batch of ${id} was refused (${reason}), and ${keys.length} of its records were not sent again: ${named.join(', ')}${more}. Send them again. A commit whose "confirm" names the number of all deletions deletes them.`,
  );
}

const KEYS_AT_ONCE = 1_000;
/** Keys that a refusal names. */
const NAMED_KEYS = 5;
/** Characters of a stored reason. */
const MAX_REASON = 500;
