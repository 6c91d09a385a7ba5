/** The newest sync session of a table, from the last events of its stream. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { MAX_SHORT_TEXT } from '../../domain/limits.js';
import { uniqueFieldOf, uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import {
  evolve,
  failSync,
  isSyncId,
  refusalOfSync,
  type Sync,
  type SyncEvent,
} from '../../domain/referenceTable/sync.js';
import { cutText, shownName } from '../../domain/shownName.js';
import { syncStream } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';
import type { Application } from '../application.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import { streamPagesBackwards } from '../streamPages.js';
import { type Loaded, type LogAccess, NO_STREAM, type Written, withDeadline, writeStream } from '../writeStream.js';

type Log = Pick<LogAccess, 'eventStore'>;

/** @throws DeadlineError */
export const loadSync = async ({ eventStore }: Log, caller: Caller, table: string): Promise<Loaded<Sync | undefined>> =>
  withDeadline(caller, newestSync(eventStore, syncStream(caller.tenant, table)));

async function newestSync(eventStore: Log['eventStore'], stream: string): Promise<Loaded<Sync | undefined>> {
  const end = await eventStore.lastAppend(stream);
  if (end === undefined) return { ...NO_STREAM, state: undefined };
  let ofSync: readonly RecordedEvent[] = [];
  for await (const events of streamPagesBackwards(eventStore, stream, { to: end.revision, eventsAPage: 4 })) {
    const start = events.findLastIndex(({ type }) => type === 'SyncStarted');
    ofSync = [...events.slice(Math.max(0, start)), ...ofSync];
    if (start >= 0) break;
  }
  const state = ofSync.reduce<Sync | undefined>(
    (sync, { type, data, metadata }) => evolve(sync, { type, data } as SyncEvent, metadata.occurredAt),
    undefined,
  );
  return { state, revision: end.revision, lastEventAt: ofSync.at(-1)?.metadata.occurredAt ?? '' };
}

export function changeSync(
  log: LogAccess,
  caller: Caller,
  table: string,
  decide: (newest: Sync | undefined) => readonly SyncEvent[] | Promise<readonly SyncEvent[]>,
): Promise<Written<Sync | undefined, SyncEvent>> {
  const stream = syncStream(caller.tenant, table);
  const load = () => loadSync(log, caller, table);
  return writeStream(log, caller, { stream, name: `The syncs of ${table}`, load, decide });
}

/** @throws ConflictError when the session takes no batch and cannot be committed */
export async function refuseUnlessOpen(
  log: Pick<LogAccess, 'eventStore' | 'now'>,
  caller: Caller,
  table: string,
  id: string,
): Promise<void> {
  const { state } = await loadSync(log, caller, table);
  requireOpen(state, id, log.now());
}

/** @throws ConflictError as `refuseUnlessOpen` */
export function requireOpen(newest: Sync | undefined, id: string, now: string): void {
  const refusal = refusalOfSync(newest, id, now);
  if (refusal !== undefined) throw new ConflictError(refusal);
  if (newest?.closed !== undefined) throw new ConflictError(`${id} is being committed, or is committed already.`);
}

/** The ids of sync sessions among batch ids. */
export const syncIdsOf = (batchIds: Iterable<unknown>): readonly string[] => [
  ...new Set([...batchIds].filter((id): id is string => typeof id === 'string' && isSyncId(id))),
];

/** Notes a batch that is refused for good in its session, so that no commit deletes what the batch named. */
export async function failSyncOf(
  log: LogAccess,
  caller: Caller,
  assetType: AssetType,
  items: readonly unknown[],
  error: unknown,
): Promise<void> {
  if (!(error instanceof ValidationError || error instanceof ConflictError)) return;
  const reason = cutText(error.message, MAX_REASON);
  const sent = items.map((item) => Object(item) as Fields);
  for (const id of syncIdsOf(sent.map((item) => ownValue(item, '_batch_id')))) {
    const keys = sent.flatMap((item) => {
      const key = ownValue(item, '_batch_id') === id ? ownValue(item, uniqueFieldOf(assetType)) : undefined;
      const isKey = typeof key === 'number' || (typeof key === 'string' && key.length <= MAX_SHORT_TEXT);
      return isKey ? [String(key)] : [];
    });
    await changeSync(log, caller, assetType.name, (sync) => failSync(sync, id, reason, keys));
  }
}

/** Refused batches of a session that were not sent again: keys of records that its commit would delete. */
export type Unsent = { readonly reason: string; readonly keys: readonly string[] };

/** Undefined if there is none. */
export async function unsentOf(
  { queries }: Pick<Application, 'queries'>,
  { tenant }: Caller,
  assetType: AssetType,
  sync: Sync | undefined,
): Promise<Unsent | undefined> {
  if (sync?.refused === undefined) return undefined;
  const { id, refused } = sync;
  const unsent = [...refused.keys];
  const keys: string[] = [];
  for (let from = 0; from < unsent.length; from += KEYS_AT_ONCE) {
    const some = unsent.slice(from, from + KEYS_AT_ONCE);
    const { records } = await queries.records.snapshot({ tenant, table: assetType.name }, { keys: some, ids: [] });
    for (const { batchId, fields } of records) {
      const key = uniqueKeyOf(assetType, fields);
      if (batchId !== id && refused.keys.has(key)) keys.push(key);
    }
  }
  return keys.length === 0 ? undefined : { reason: refused.reason, keys };
}

const KEYS_AT_ONCE = 1_000;
/** Keys that a refusal names. */
const NAMED_KEYS = 5;

/** @throws ConflictError for a commit that would delete what a refused batch named */
export function requireSent(assetType: AssetType, id: string, unsent: Unsent | undefined): void {
  if (unsent === undefined) return;
  const { reason, keys } = unsent;
  const named = keys.slice(0, NAMED_KEYS).map((key) => JSON.stringify(shownName(key)));
  const more = keys.length > named.length ? ', …' : '';
  const keep = `{"${uniqueFieldOf(assetType)}": …, "_batch_id": "${id}"}`;
  throw new ConflictError(
    `A batch of ${id} was refused (${reason}), and ${keys.length} of its records were not sent again: ${named.join(', ')}${more}. Send them again, or ${keep} to keep one as it is. A commit whose "confirm" names the number of all deletions deletes them.`,
  );
}

/** Characters of a stored reason. */
const MAX_REASON = 500;
