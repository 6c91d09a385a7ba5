/** The batches, clean-ups and undos of a table, from the activity, and what they did to its records. */
import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES, MAX_OPERATION_EVENTS, MAX_OPERATIONS } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import { type Operation, type OperationKind, together } from '../domain/referenceTable/operation.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityEntry } from './activity.js';
import { entriesOf, ofTable } from './activity.js';
import { compares, isOneOf } from './asking.js';
import { differenceOf, type Place, transitions } from './past.js';
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
export const kindsOf = (kind?: OperationKind): readonly string[] =>
  [...KINDS].flatMap(([name, each]) => (kind === undefined || kind === each ? [name] : []));

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
  const conditions = [
    ofTable(table),
    isOneOf('kind', kindsOf(kind)),
    ...(before === undefined ? [] : [compares('position', 'lt', before)]),
    ...(from === undefined ? [] : [compares('created_at', 'gte', from)]),
    ...(to === undefined ? [] : [compares('created_at', 'lte', to)]),
  ];
  const operations: TableOperation[] = [];
  // The operation read last; earlier events may belong to it.
  let later: TableOperation | undefined;
  let entries = 0;
  for await (const entry of entriesOf(rows, tenant, { conditions, direction: 'desc' }, cancellation)) {
    const operation = operationIn(entry);
    if (operation === undefined) continue;
    const isPart = later !== undefined && isPartOf(operation, later);
    // A batch is never split, since it is one append. An undo is one append for each piece.
    const mayEnd = !isPart || (operation.kind === 'undo' && operation.position !== later?.position);
    if (mayEnd && isFull()) return { operations: all(), next: later?.position };
    entries += 1;
    if (isPart && later !== undefined) {
      later = together(operation, later);
      continue;
    }
    if (later !== undefined && isWanted(later)) operations.push(later);
    later = operation;
  }
  return { operations: all() };

  function all(): readonly TableOperation[] {
    return later !== undefined && isWanted(later) ? [...operations, later] : operations;
  }

  function isFull(): boolean {
    return all().length >= MAX_OPERATIONS || entries >= MAX_OPERATION_EVENTS;
  }
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
  behind: Place | undefined,
  cancellation: Cancellation | undefined,
): Promise<DifferencesPage> {
  const differences: RecordDifference[] = [];
  let characters = 0;
  let last: Place | undefined;
  for await (const position of positionsOf(rows, space, entry, behind?.[0], cancellation)) {
    const start = behind?.[0] === position ? behind : undefined;
    const range = [position - 1, position] as const;
    const done = transitions(rows, { ...space, space: space.table }, range, start, cancellation);
    for await (const { place, ...transition } of done) {
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
  const isUndo = kind === 'table.undo';
  const own = [isOneOf('kind', [kind]), isOneOf('correlation_id', [correlationId])];
  const conditions = [ofTable(table), compares('position', 'gte', from ?? position), ...(isUndo ? own : [])];
  let last: Position | undefined;
  for await (const entry of entriesOf(rows, tenant, { conditions, direction: 'asc' }, cancellation)) {
    if (entry.kind !== kind || entry.correlationId !== correlationId) return;
    if (entry.position !== last) yield entry.position;
    last = entry.position;
    if (!KINDS.has(kind)) return;
  }
}
