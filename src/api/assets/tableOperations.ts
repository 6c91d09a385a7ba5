/** Reads the batches, clean-ups and undos of a table from its stream. */
import { EventTimes, lastUntil } from '../../commands/referenceTables/syncHistory.js';
import { type StreamReads, streamPagesBackwards } from '../../commands/streamPages.js';
import { MAX_OPERATION_EVENTS, MAX_OPERATION_RECORDS, MAX_OPERATIONS } from '../../domain/limits.js';
import { type Operation, operationOf, together } from '../../domain/referenceTable/operation.js';
import type { Actor, EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';

export type TableOperation = Operation & {
  /** Revision of its first event, which is its id. */
  readonly revision: Revision;
  readonly requestId: string;
  readonly at: string;
  readonly actor: Actor;
};

export type OperationsPage = {
  /** Newest first. */
  readonly operations: readonly TableOperation[];
  /** Revision before which the next page begins; undefined on the last page. */
  readonly next?: Revision | undefined;
};

/** Few, as most pages of operations end after some. */
const EVENTS_AT_ONCE = 20;

/** Filters; none by default. */
export type OperationsQuery = {
  /** Return operations before this revision; undefined: the newest ones. */
  readonly before?: Revision | undefined;
  /** Inclusive bounds: ISO 8601, UTC, six digits. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly isWanted?: (operation: TableOperation) => boolean;
};

type Log = StreamReads & Pick<EventStore, 'lastAppend'>;

/**
 * The limits on events and records count all that are read, wanted or not. Events outside the times are not read.
 * @throws the cancellation's reason
 */
export async function tableOperations(
  eventStore: Log,
  stream: string,
  { before = Number.MAX_SAFE_INTEGER, from = '', to, isWanted = () => true }: OperationsQuery = {},
  cancellation?: Cancellation,
): Promise<OperationsPage> {
  const newest = (await eventStore.lastAppend(stream))?.revision ?? -1;
  const end = Math.min(newest, before - 1);
  const last = await lastUntil(new EventTimes(eventStore, stream), to, end, cancellation);
  const operations: TableOperation[] = [];
  // The operation read last; earlier events may belong to it.
  let later: TableOperation | undefined;
  let [events, records] = [0, 0];
  const pages = { to: last, eventsAPage: EVENTS_AT_ONCE, cancellation };
  for await (const slice of streamPagesBackwards(eventStore, stream, pages)) {
    for (const event of slice.toReversed()) {
      const operation = tableOperationOf(event);
      const isPart = operation !== undefined && later !== undefined && isPartOf(operation, later);
      // A batch is never split, since it is one append. An undo is one append for each piece.
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
