/** The batches, clean-ups and undos of a table, as its stream tells them. */

import { lastUntil } from '../../commands/referenceTables/syncHistory.js';
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

/** Those that are asked for; all by default. */
export type OperationsQuery = {
  /** Revision of an operation; unset: the newest ones. */
  readonly before?: Revision | undefined;
  /** Not before this time, and not after that one: ISO 8601, UTC, six digits. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly isWanted?: (operation: TableOperation) => boolean;
};

type Log = Pick<EventStore, 'readStream' | 'lastAppend'>;

/** A page looks at so many events and records whether they are wanted or not, and at none outside its times. */
export async function tableOperations(
  eventStore: Log,
  stream: string,
  { before = Number.MAX_SAFE_INTEGER, from = '', to, isWanted = () => true }: OperationsQuery = {},
): Promise<OperationsPage> {
  const newest = (await eventStore.lastAppend(stream))?.revision ?? -1;
  const end = Math.min(newest, before - 1);
  const last = await lastUntil(eventStore, stream, to, end);
  const operations: TableOperation[] = [];
  // The last one that was come to; what is before it may be a part of it.
  let later: TableOperation | undefined;
  let [events, records] = [0, 0];
  for await (const slice of streamPagesBackwards(eventStore, stream, last, EVENTS_AT_ONCE)) {
    for (const event of slice.toReversed()) {
      const operation = tableOperationOf(event);
      const isPart = operation !== undefined && later !== undefined && isPartOf(operation, later);
      // A batch is never cut: it is one append. An undo is one append for each of its pieces.
      const mayEnd = !isPart || operation.kind === 'undo';
      const isOver = event.metadata.occurredAt < from;
      if (isOver || (mayEnd && isFull())) {
        keep();
        return isOver ? { operations } : { operations, next: event.revision + 1 };
      }
      events += 1;
      if (operation === undefined) continue;
      records += operation.created + operation.updated + operation.seen;
      if (!isPart) keep();
      later = later === undefined ? operation : together(operation, later);
    }
  }
  keep();
  return { operations };

  function isFull(): boolean {
    const found = operations.length + (later !== undefined && isWanted(later) ? 1 : 0);
    return found >= MAX_OPERATIONS || events >= MAX_OPERATION_EVENTS || records >= MAX_OPERATION_RECORDS;
  }

  function keep(): void {
    if (later !== undefined && isWanted(later)) operations.push(later);
    later = undefined;
  }
}

const isPartOf = (operation: TableOperation, later: TableOperation): boolean =>
  operation.kind === later.kind && operation.kind !== 'clean_up' && operation.requestId === later.requestId;

function tableOperationOf({ type, revision, metadata, data }: RecordedEvent): TableOperation | undefined {
  const operation = operationOf({ type, data });
  const { occurredAt: at, actor, causationId: requestId } = metadata;
  return operation && { ...operation, revision, requestId, at, actor };
}
