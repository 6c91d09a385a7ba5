/** The newest sync session of a table, from the last events of its stream. */
import {
  evolve,
  isSyncId,
  MAX_EVENTS_OF_SYNC,
  refusalOfSync,
  type Sync,
  type SyncEvent,
} from '../../domain/referenceTable/sync.js';
import { cutText } from '../../domain/shownName.js';
import { syncStream } from '../../domain/streams.js';
import { type Caller, ConflictError, ValidationError } from '../context.js';
import {
  type Loaded,
  type LogAccess,
  loadStream,
  NO_STREAM,
  type Written,
  withDeadline,
  writeStream,
} from '../writeStream.js';

type Log = Pick<LogAccess, 'eventStore'>;

export async function loadSync({ eventStore }: Log, tenant: string, table: string): Promise<Loaded<Sync | undefined>> {
  const stream = syncStream(tenant, table);
  const end = await eventStore.lastAppend(stream);
  if (end === undefined) return { ...NO_STREAM, state: undefined };
  // To the end of the stream, so that events appended meanwhile are not missed.
  const from = Math.max(0, end.revision - MAX_EVENTS_OF_SYNC + 1);
  return loadStream<Sync>(
    eventStore,
    stream,
    (sync, { type, data, metadata }) => evolve(sync, { type, data } as SyncEvent, metadata.occurredAt),
    undefined,
    { from },
  );
}

export function changeSync(
  log: LogAccess,
  caller: Caller,
  table: string,
  decide: (newest: Sync | undefined) => readonly SyncEvent[] | Promise<readonly SyncEvent[]>,
): Promise<Written<Sync | undefined, SyncEvent>> {
  const stream = syncStream(caller.tenant, table);
  const load = () => loadSync(log, caller.tenant, table);
  return writeStream(log, caller, { stream, name: `The syncs of ${table}`, load, decide });
}

/** @throws ConflictError when the session takes no batch and cannot be committed */
export async function refuseUnlessOpen(
  log: Pick<LogAccess, 'eventStore' | 'now'>,
  caller: Caller,
  table: string,
  id: string,
): Promise<void> {
  const { state } = await withDeadline(caller, loadSync(log, caller.tenant, table));
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

/** A batch that is refused for good fails its session, so that the session cannot be committed without the batch. */
export async function failSyncOf(
  log: LogAccess,
  caller: Caller,
  table: string,
  items: readonly unknown[],
  error: unknown,
): Promise<void> {
  if (!(error instanceof ValidationError || error instanceof ConflictError)) return;
  for (const id of syncIdsOf(items.map((item) => Object(item)._batch_id))) {
    await changeSync(log, caller, table, (sync) =>
      sync?.id !== id || sync.failure !== undefined || sync.closed !== undefined
        ? []
        : [{ type: 'SyncFailed', data: { id, reason: cutText(error.message, MAX_REASON) } }],
    );
  }
}

/** Characters of a stored reason. */
const MAX_REASON = 500;
