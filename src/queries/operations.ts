/** The batches, clean-ups and undos of a table, from the activity, and what they did to its records. */
import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES, MAX_OPERATION_EVENTS, MAX_OPERATIONS } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import { type Operation, type OperationKind, together } from '../domain/referenceTable/operation.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { PageQuery, RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf } from './activity.js';
import { NEWEST_FIRST, where } from './asking.js';
import { differenceOf, type Place, transitionsIn } from './past.js';
import type { TableRef } from './records.js';

export type TableOperation = Operation & {
  /** Revision of its first event, which is its id. */
  readonly revision: Revision;
  readonly position: Position;
  /** Number of its entries in the activity. */
  readonly entries: number;
  /** Records that it created, updated, saw again or deleted. */
  readonly records: number;
  readonly requestId: string;
  readonly at: string;
  readonly actor: ActivityEntry['actor'];
};

const KINDS: ReadonlyMap<string, OperationKind> = new Map([
  ['table.batch', 'batch'],
  ['table.clean_up', 'clean_up'],
  ['table.undo', 'undo'],
]);
/** Kinds of activity that are operations. */
export const OPERATIONS = [...KINDS.keys()];

const NOTHING = { created: 0, updated: 0, seen: 0, deleted: 0 };

/** The batch ids that an operation carried, or that a clean-up kept. */
export const batchIdsOf = ({ details }: ActivityEntry): readonly string[] =>
  Array.isArray(details?.batch_ids) ? details.batch_ids.map(String) : [];

function operationIn(entry: ActivityEntry): TableOperation | undefined {
  const { kind: name, counts = NOTHING, details, revision, position, at, actor, causationId: requestId } = entry;
  const kind = KINDS.get(name);
  if (kind === undefined) return undefined;
  const undoes = details?.undoes === undefined ? undefined : Number(details.undoes);
  const batchIds = batchIdsOf(entry);
  const records = counts.created + counts.updated + counts.seen + counts.deleted;
  return { kind, batchIds, ...counts, records, undoes, revision, position, entries: 1, requestId, at, actor };
}

const isOne = (operation: TableOperation, other: TableOperation): boolean =>
  operation.kind === other.kind && operation.kind !== 'clean_up' && operation.requestId === other.requestId;

/**
 * The operations in these entries of the activity, which are of one table. A batch may be several events, one for each batch
 * id, and an undo is one append for each piece.
 */
export async function* operationsIn(entries: AsyncIterable<ActivityEntry>): AsyncGenerator<TableOperation> {
  let last: TableOperation | undefined;
  for await (const entry of entries) {
    const operation = operationIn(entry);
    if (operation === undefined) continue;
    if (last !== undefined && isOne(operation, last)) {
      const [first, other] = operation.revision < last.revision ? [operation, last] : [last, operation];
      const [entries, records] = [first.entries + other.entries, first.records + other.records];
      last = { ...together(first, other), entries, records };
      continue;
    }
    if (last !== undefined) yield last;
    last = operation;
  }
  if (last !== undefined) yield last;
}

type OperationsQuery = {
  readonly before?: Position | undefined;
  /** Inclusive: ISO 8601, UTC, six digits. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly kind?: OperationKind | undefined;
  readonly isWanted?: (operation: TableOperation) => boolean;
};

/**
 * A page of a table's operations, newest first; it looks at some MAX_OPERATION_EVENTS entries.
 * @returns `next`: the next page begins before this position; undefined on the last @throws the cancellation's reason
 */
export async function tableOperations(
  rows: RowReads,
  { tenant, table }: TableRef,
  { before, from, to, kind, isWanted = () => true }: OperationsQuery,
  cancellation: Cancellation | undefined,
): Promise<{ readonly operations: readonly TableOperation[]; readonly next?: Position | undefined }> {
  const kinds = OPERATIONS.filter((name) => kind === undefined || KINDS.get(name) === kind);
  const within = { position: { lt: before }, created_at: { gte: from, lte: to } };
  const asked: Partial<PageQuery> = { ...NEWEST_FIRST, conditions: where({ table, kind: kinds, ...within }) };
  const operations: TableOperation[] = [];
  let entries = 0;
  let next: Position | undefined;
  for await (const operation of operationsIn(entriesOf(rows, tenant, asked, cancellation))) {
    if (operations.length === MAX_OPERATIONS || entries >= MAX_OPERATION_EVENTS) return { operations, next };
    entries += operation.entries;
    next = operation.position;
    if (isWanted(operation)) operations.push(operation);
  }
  return { operations };
}

/**
 * What an entry about a table did to its records.
 * @returns `next`: the next page begins behind this place; undefined on the last @throws the cancellation's reason
 */
export async function tableDifferences(
  rows: RowReads,
  { tenant, table: space }: TableRef,
  entry: ActivityEntry,
  start: Place | undefined,
  cancellation: Cancellation | undefined,
): Promise<{ readonly differences: readonly RecordDifference[]; readonly next?: Place }> {
  const differences: RecordDifference[] = [];
  let characters = 0;
  let last: Place | undefined;
  for await (const position of positionsOf(rows, tenant, entry, start?.[0], cancellation)) {
    const behind = start?.[0] === position ? start : undefined;
    const asked = { range: [position - 1, position], behind, atOnce: MAX_DIFFERENCES + 1 } as const;
    for await (const { place, ...transition } of transitionsIn(rows, { tenant, space }, asked, cancellation)) {
      const difference = differenceOf(transition);
      characters += JSON.stringify(difference).length;
      const isFull = differences.length === MAX_DIFFERENCES || characters > MAX_DIFFERENCE_CHARACTERS;
      if (isFull && last !== undefined) return { differences, next: last };
      differences.push(difference);
      last = place;
    }
  }
  return { differences };
}

/** The positions of an entry's events from this one on: a batch is one append, an undo one for each piece. */
async function* positionsOf(
  rows: RowReads,
  tenant: string,
  { kind, table, position, correlationId }: ActivityEntry,
  from: Position = position,
  cancellation: Cancellation | undefined,
): AsyncGenerator<Position> {
  const ofUndo = kind === 'table.undo' ? { kind, correlation_id: correlationId } : {};
  const conditions = where({ table, ...ofUndo, position: { gte: from } });
  let last: Position | undefined;
  for await (const entry of entriesOf(rows, tenant, { conditions }, cancellation)) {
    if (entry.kind !== kind || entry.correlationId !== correlationId) return;
    if (entry.position !== last) yield entry.position;
    last = entry.position;
    if (!KINDS.has(kind)) return;
  }
}
