/** The batches, clean-ups and undos of a table, from the activity, and what they did to its records. */
import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES, MAX_OPERATION_EVENTS, MAX_OPERATIONS } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import { type Operation, type OperationKind, together } from '../domain/referenceTable/operation.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf } from './activity.js';
import { NEWEST_FIRST, where } from './asking.js';
import { differenceOf, type Place, transitionsAt } from './past.js';
import type { TableRef } from './records.js';

export type TableOperation = Operation & {
  /** Revision of its first event, which is its id. */
  readonly revision: Revision;
  readonly position: Position;
  readonly requestId: string;
  readonly at: string;
  readonly actor: ActivityEntry['actor'];
};

type OperationsPage = {
  /** Newest first. */
  readonly operations: readonly TableOperation[];
  /** The next page begins before this position; undefined on the last page. */
  readonly next?: Position | undefined;
};

type OperationsQuery = {
  readonly before?: Position | undefined;
  /** Inclusive: ISO 8601, UTC, six digits. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly kind?: OperationKind | undefined;
  readonly isWanted?: (operation: TableOperation) => boolean;
};

const KINDS: ReadonlyMap<string, OperationKind> = new Map([
  ['table.batch', 'batch'],
  ['table.clean_up', 'clean_up'],
  ['table.undo', 'undo'],
]);
/** Kinds of activity that are operations. */
export const OPERATIONS = [...KINDS.keys()];

const NOTHING = { created: 0, updated: 0, seen: 0, deleted: 0 };

export function operationIn(entry: ActivityEntry): TableOperation | undefined {
  const { kind: name, counts = NOTHING, details, revision, position, at, actor, causationId: requestId } = entry;
  const kind = KINDS.get(name);
  if (kind === undefined) return undefined;
  const batchIds = Array.isArray(details?.batch_ids) ? details.batch_ids.map(String) : [];
  const undoes = details?.undoes === undefined ? undefined : Number(details.undoes);
  return { kind, batchIds, ...counts, undoes, revision, position, requestId, at, actor };
}

const isPartOf = (operation: TableOperation, other: TableOperation): boolean =>
  operation.kind === other.kind && operation.kind !== 'clean_up' && operation.requestId === other.requestId;

/** A page of a table's operations; it looks at MAX_OPERATION_EVENTS entries at most. @throws the cancellation's reason */
export async function tableOperations(
  rows: RowReads,
  { tenant, table }: TableRef,
  { before, from, to, kind, isWanted = () => true }: OperationsQuery,
  cancellation: Cancellation | undefined,
): Promise<OperationsPage> {
  const kinds = OPERATIONS.filter((name) => kind === undefined || KINDS.get(name) === kind);
  const within = { position: { lt: before }, created_at: { gte: from, lte: to } };
  const asked = { ...NEWEST_FIRST, conditions: where({ table, kind: kinds }, within) };
  const operations: TableOperation[] = [];
  // The operation read last; earlier events may belong to it.
  let later: TableOperation | undefined;
  let entries = 0;
  const all = () => (later !== undefined && isWanted(later) ? [...operations, later] : operations);
  for await (const entry of entriesOf(rows, tenant, asked, cancellation)) {
    const operation = operationIn(entry);
    if (operation === undefined) continue;
    const isPart = later !== undefined && isPartOf(operation, later);
    // A batch is never split, since it is one append. An undo is one append for each piece.
    const mayEnd = !isPart || (operation.kind === 'undo' && operation.position !== later?.position);
    if (mayEnd && (all().length >= MAX_OPERATIONS || entries >= MAX_OPERATION_EVENTS))
      return { operations: all(), next: later?.position };
    entries += 1;
    if (later !== undefined && !isPart && isWanted(later)) operations.push(later);
    later = later !== undefined && isPart ? together(operation, later) : operation;
  }
  return { operations: all() };
}

type DifferencesPage = {
  readonly differences: readonly RecordDifference[];
  /** The next page begins behind this place; undefined on the last. */
  readonly next?: Place | undefined;
};

/** What an entry about a table did to its records. @throws the cancellation's reason */
export async function tableDifferences(
  rows: RowReads,
  space: TableRef,
  entry: ActivityEntry,
  start: Place | undefined,
  cancellation: Cancellation | undefined,
): Promise<DifferencesPage> {
  const differences: RecordDifference[] = [];
  let characters = 0;
  let last: Place | undefined;
  for await (const position of positionsOf(rows, space, entry, start?.[0], cancellation)) {
    const behind = start?.[0] === position ? start : undefined;
    const asked = { behind, limit: MAX_DIFFERENCES + 1 };
    const ofTable = { tenant: space.tenant, space: space.table };
    for (const { place, ...transition } of await transitionsAt(rows, ofTable, position, asked, cancellation)) {
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
  { tenant, table }: TableRef,
  { kind, position, correlationId }: ActivityEntry,
  from: Position | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<Position> {
  const ofUndo = kind === 'table.undo' ? { kind, correlation_id: correlationId } : {};
  const conditions = where({ table, ...ofUndo }, { position: { gte: from ?? position } });
  let last: Position | undefined;
  for await (const entry of entriesOf(rows, tenant, { conditions }, cancellation)) {
    if (entry.kind !== kind || entry.correlationId !== correlationId) return;
    if (entry.position !== last) yield entry.position;
    last = entry.position;
    if (!KINDS.has(kind)) return;
  }
}
