/** The batches, clean-ups and undos of a table, as its stream tells them. */

import { streamPagesBackwards } from '../../commands/streamPages.js';
import { MAX_OPERATION_EVENTS, MAX_OPERATION_RECORDS, MAX_OPERATIONS } from '../../domain/limits.js';
import { type Operation, operationOf, together } from '../../domain/referenceTable/operation.js';
import type { Actor, EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';

export type TableOperation = Operation & {
  /** Of its first event: by this it is named. */
  readonly revision: Revision;
  readonly requestId: string;
  readonly at: string;
  readonly actor: Actor;
};

export type OperationsPage = {
  /** The newest first. */
  readonly operations: readonly TableOperation[];
  /** Before this one the next page goes on; undefined at the end. */
  readonly next?: Revision | undefined;
};

/** An event may have 400,000 bytes. */
const EVENTS_AT_ONCE = 20;

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
      const operation = tableOperationOf(event);
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

function tableOperationOf({ type, revision, metadata, data }: RecordedEvent): TableOperation | undefined {
  const operation = operationOf({ type, data });
  const { occurredAt: at, actor, causationId: requestId } = metadata;
  return operation && { ...operation, revision, requestId, at, actor };
}
