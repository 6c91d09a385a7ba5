/** The batches, clean-ups and undos of a table, as its stream tells them. */

import { streamPagesBackwards } from '../../commands/streamPages.js';
import { MAX_OPERATION_EVENTS, MAX_OPERATION_RECORDS, MAX_OPERATIONS } from '../../domain/limits.js';
import type { BatchUndone, BatchUpserted, TableCleanedUp } from '../../domain/referenceTable/events.js';
import type { Actor, EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';

export type TableOperation = {
  /** Of its first event: by this it is named. */
  readonly revision: Revision;
  readonly kind: 'batch' | 'clean_up' | 'undo';
  readonly requestId: string;
  readonly at: string;
  readonly actor: Actor;
  /** Those that its records carried, and that a clean-up left. */
  readonly batchIds: readonly string[];
  readonly created: number;
  readonly updated: number;
  /** Sent again as they were: they moved to the batch. */
  readonly seen: number;
  readonly deleted: number;
  /** Of an undo: the batch or the clean-up. */
  readonly undoes?: Revision | undefined;
};

export type OperationsPage = {
  /** The newest first. */
  readonly operations: readonly TableOperation[];
  /** Before this one the next page goes on; undefined at the end. */
  readonly next?: Revision | undefined;
};

/** An event may have 400,000 bytes. */
const EVENTS_AT_ONCE = 20;
const PACKED_ID_BYTES = 16;

/** @param before revision of an operation; unset: the newest ones */
export async function tableOperations(
  eventStore: Pick<EventStore, 'readStream' | 'lastAppend'>,
  stream: string,
  before: Revision = Number.MAX_SAFE_INTEGER,
): Promise<OperationsPage> {
  const last = (await eventStore.lastAppend(stream))?.revision ?? -1;
  const operations: TableOperation[] = [];
  let [events, records] = [0, 0];
  for await (const slice of streamPagesBackwards(eventStore, stream, Math.min(last, before - 1), EVENTS_AT_ONCE)) {
    for (const event of slice.toReversed()) {
      const operation = operationOf(event);
      const later = operations.at(-1);
      // A batch is one append of as many events as it takes.
      const isPart = operation?.kind !== 'clean_up' && operation?.requestId === later?.requestId && later !== undefined;
      const isFull =
        operations.length === MAX_OPERATIONS || events >= MAX_OPERATION_EVENTS || records >= MAX_OPERATION_RECORDS;
      if (isFull && !isPart) return { operations, next: event.revision + 1 };
      events += 1;
      if (operation === undefined) continue;
      records += operation.created + operation.updated + operation.seen;
      if (isPart) operations.splice(-1, 1, together(operation, later));
      else operations.push(operation);
    }
  }
  return { operations };
}

function operationOf({ type, revision, metadata, data }: RecordedEvent): TableOperation | undefined {
  const { occurredAt: at, actor, causationId: requestId } = metadata;
  const counted = { revision, requestId, at, actor, created: 0, updated: 0, seen: 0, deleted: 0 };
  if (type === 'TableCleanedUp') {
    const { batchId, deleted } = data as TableCleanedUp['data'];
    return { ...counted, kind: 'clean_up', batchIds: [batchId], deleted };
  }
  if (type === 'BatchUndone') {
    const { batchId, changed, seen, deleted, undoes } = data as BatchUndone['data'];
    const counts = { updated: changed.length, seen: packedIds(seen), deleted: packedIds(deleted) };
    return { ...counted, ...counts, kind: 'undo', batchIds: typeof batchId === 'string' ? [batchId] : [], undoes };
  }
  if (type !== 'BatchUpserted') return undefined;
  const { batchId, created, changed, seen, undoes } = data as BatchUpserted['data'];
  return {
    ...counted,
    kind: undoes === undefined ? 'batch' : 'undo',
    batchIds: typeof batchId === 'string' ? [batchId] : [],
    created: created.length,
    updated: changed.length,
    seen: packedIds(seen),
    undoes,
  };
}

const packedIds = (packed: string): number => Buffer.byteLength(packed, 'base64') / PACKED_ID_BYTES;

const together = (part: TableOperation, later: TableOperation): TableOperation => ({
  ...part,
  batchIds: [...new Set([...part.batchIds, ...later.batchIds])],
  created: part.created + later.created,
  updated: part.updated + later.updated,
  seen: part.seen + later.seen,
  deleted: part.deleted + later.deleted,
});
