/**
 * The past of a table, from its rows and the states that they had: what each event did to them, the history of one, the
 * changes since a cursor, and what differs between two moments. Positions of the log decide what came before what.
 */
import { createHash } from 'node:crypto';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type Fields, type FieldValue, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { MAX_CHANGES, MAX_PAGE_BYTES, MAX_UNDONE_CHARACTERS } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import type { Position } from '../ports/eventStore.js';
import type { RowReads, SpaceRef, StoredRow, StoredVersion, VersionQuery } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { recordOf, type StoredRecord } from './storedRecord.js';

/** A place in the order of what happened in a space; all of one event is at one position. */
export type Place = readonly [position: Position, n: number];

/** What an event, or the events of one append, did to a row: it was this, and it is that from then on. */
export type Transition = {
  readonly place: Place;
  readonly id: string;
  /** Undefined: it was created. */
  readonly before: StoredVersion | undefined;
  /** Undefined: it was deleted. */
  readonly after: Pick<StoredVersion, 'from' | 'n' | 'data' | 'updated'> | undefined;
};

type Asked = Omit<VersionQuery, 'limit' | 'withTotal' | 'direction'> & Partial<Pick<VersionQuery, 'direction'>>;

/** All states that are asked for, page by page. @throws the cancellation's reason */
async function* statesOf(
  rows: RowReads,
  space: SpaceRef,
  asked: Asked,
  limit: number,
  cancellation: Cancellation | undefined,
): AsyncGenerator<StoredVersion> {
  for (let { behind } = asked; ; ) {
    cancellation?.throwIfCancelled();
    const query: VersionQuery = { direction: 'asc', ...asked, behind, limit, withTotal: false };
    const { versions } = await rows.versions(space, query, cancellation);
    yield* versions;
    const last = versions.at(-1);
    if (last === undefined || versions.length < limit) return;
    behind = asked.begun === undefined ? endOf(last) : startOf(last);
  }
}

const startOf = ({ from, n }: StoredVersion): Place => [from, n];
/** A present state ends behind all positions. */
const endOf = ({ to = Number.MAX_SAFE_INTEGER, n }: StoredVersion): Place => [to, n];

const fieldsOf = (state: Pick<StoredRow, 'data'> | undefined): Fields =>
  state === undefined ? {} : JSON.parse(state.data);

/** Field by field. */
export function differenceOf({ id, before, after }: Omit<Transition, 'place'>) {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const fields: Record<string, { readonly from: FieldValue; readonly to: FieldValue }> = Object.create(null);
  for (const name of Object.keys({ ...was, ...is })) {
    const [from, to] = [ownValue(was, name) ?? null, ownValue(is, name) ?? null];
    if (JSON.stringify(from) !== JSON.stringify(to)) fields[name] = { from, to };
  }
  const change = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
  return { change, id, fields } satisfies RecordDifference;
}

/** What happened at a position to the first rows behind one, by their numbers; at least one, if there are as many. */
export async function transitionsAt(
  rows: RowReads,
  space: SpaceRef,
  position: Position,
  { behind, limit }: { readonly behind: Place | undefined; readonly limit: number },
  cancellation: Cancellation | undefined,
): Promise<readonly Transition[]> {
  const range = [position - 1, position] as const;
  const asked = { behind, direction: 'asc', limit, withTotal: false } as const;
  const [ended, begun] = await Promise.all([
    rows.versions(space, { ...asked, ended: range }, cancellation),
    rows.versions(space, { ...asked, begun: range }, cancellation),
  ]);
  const before = new Map(ended.versions.map((state) => [state.n, state]));
  const after = new Map(begun.versions.map((state) => [state.n, state]));
  const first = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => a - b).slice(0, limit);
  return first.flatMap((n) => {
    const [was, is] = [before.get(n), after.get(n)];
    const id = (was ?? is)?.id;
    return id === undefined ? [] : [{ place: [position, n] as const, id, before: was, after: is }];
  });
}

type AskedHistory = {
  readonly id: string;
  /** Exclusive. */
  readonly until?: Position | undefined;
  /** States that are read at once. */
  readonly atOnce: number;
};

/** What happened to one row, the newest first; nothing if there never was such a row. @throws the cancellation's reason */
export async function* historyOf(
  rows: RowReads,
  space: SpaceRef,
  { id, until, atOnce }: AskedHistory,
  cancellation: Cancellation | undefined,
): AsyncGenerator<Transition> {
  let after: Transition['after'];
  let behind: Place | undefined;
  if (until !== undefined) {
    [after] = (await rows.rows(space, { ids: [id], keys: [], at: until - 1 }, cancellation)).rows;
    behind = [until - 1, Number.MAX_SAFE_INTEGER];
  }
  for await (const state of statesOf(rows, space, { id, direction: 'desc', behind }, atOnce, cancellation)) {
    if (after !== undefined) {
      const isFollowed = state.to === after.from && state.how === 'changed';
      yield { id, place: [after.from, after.n], before: isFollowed ? state : undefined, after };
    }
    if (state.how === 'deleted') yield { id, place: endOf(state), before: state, after: undefined };
    after = state;
  }
  if (after !== undefined) yield { id, place: [after.from, after.n], before: undefined, after };
}

type ChangedRow = { readonly id: string; readonly row: StoredRow | undefined };

export type ChangesPage = {
  /** A deleted row is undefined. */
  readonly changed: readonly ChangedRow[];
  /** Behind the last of these; where there are no more, behind all that is at the position. */
  readonly next: readonly [position: Position, n: number | null];
  readonly hasMore: boolean;
};

/** Position of the last event that changed the space, or moved a batch id in it. */
export async function changedAt(rows: RowReads, space: SpaceRef, cancellation?: Cancellation): Promise<Position> {
  return (await rows.rows(space, { ids: [], keys: [] }, cancellation)).state.changed;
}

/** Each row that was created, changed or deleted behind the cursor, as it is now. @throws the cancellation's reason */
export async function changesAfter(
  rows: RowReads,
  space: SpaceRef,
  [position, n]: ChangesPage['next'],
  cancellation: Cancellation | undefined,
  limit = MAX_CHANGES,
): Promise<ChangesPage> {
  const until = await changedAt(rows, space, cancellation);
  const range = [n === null ? position : position - 1, until] as const;
  const behind: Place | undefined = n === null ? undefined : [position, n];
  const ended = statesOf(rows, space, { ended: range, how: 'deleted', behind }, STATES_AT_ONCE, cancellation);
  const begun = statesOf(rows, space, { begun: range, how: 'present', behind }, STATES_AT_ONCE, cancellation);
  const found = new Map<string, StoredVersion | undefined>();
  let next: Place | undefined;
  let characters = 0;
  for await (const [place, state] of inOrder(ended, begun)) {
    const isGone = state.how === 'deleted';
    characters += isGone ? 0 : state.data.length;
    const isFull = found.size === limit || characters > MAX_PAGE_BYTES;
    if (isFull && next !== undefined) return { changed: await asTheyAre(), next, hasMore: true };
    found.set(state.id, isGone ? undefined : state);
    next = place;
  }
  return { changed: await asTheyAre(), next: [Math.max(position, until), null], hasMore: false };

  /** Some that were deleted are there again, and come at the place of that. */
  async function asTheyAre(): Promise<readonly ChangedRow[]> {
    const ids = [...found].flatMap(([id, row]) => (row === undefined ? [id] : []));
    const again = ids.length === 0 ? [] : (await rows.rows(space, { ids, keys: [] }, cancellation)).rows;
    const there = new Set(again.map(({ id }) => id));
    return [...found].flatMap(([id, row]) => (there.has(id) ? [] : [{ id, row }]));
  }
}

const STATES_AT_ONCE = 200;

/** States by their ends, and states by their beginnings, in one order. */
async function* inOrder(
  ended: AsyncGenerator<StoredVersion>,
  begun: AsyncGenerator<StoredVersion>,
): AsyncGenerator<readonly [Place, StoredVersion]> {
  let [end, begin] = [await ended.next(), await begun.next()];
  while (end.done !== true || begin.done !== true) {
    const isEnd = begin.done === true || (end.done !== true && isBefore(endOf(end.value), startOf(begin.value)));
    if (isEnd && end.done !== true) {
      yield [endOf(end.value), end.value];
      end = await ended.next();
    } else if (begin.done !== true) {
      yield [startOf(begin.value), begin.value];
      begin = await begun.next();
    }
  }
}

const isBefore = ([position, n]: Place, other: Place): boolean =>
  position < other[0] || (position === other[0] && n <= other[1]);

export const DIFFERENCE_KINDS = ['created', 'changed', 'deleted'] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export type Comparison = {
  readonly counts: { readonly [kind in DifferenceKind]: number };
  /** In the order of ids. */
  readonly differences: readonly (readonly [id: string, kind: DifferenceKind])[];
};

/** A comparison reads many states. */
const COMPARED_AT_ONCE = 2_000;

/** What differs between two positions: rows that are not at both, or have other values. @throws the cancellation's reason */
export async function comparisonOf(
  rows: RowReads,
  space: SpaceRef,
  range: readonly [from: Position, to: Position],
  cancellation: Cancellation | undefined,
): Promise<Comparison> {
  const [from, to] = range;
  // Digests, as both states of each row of a large table would be too much to keep.
  const was = new Map<string, number>();
  const is = new Map<string, number>();
  for await (const state of statesOf(rows, space, { ended: range }, COMPARED_AT_ONCE, cancellation))
    if (state.from <= from) was.set(state.id, digestOf(state));
  for await (const state of statesOf(rows, space, { begun: range }, COMPARED_AT_ONCE, cancellation))
    if (state.to === undefined || state.to > to) is.set(state.id, digestOf(state));
  const counts = { created: 0, changed: 0, deleted: 0 };
  const differences: (readonly [string, DifferenceKind])[] = [];
  for (const id of new Set([...was.keys(), ...is.keys()])) {
    if (was.get(id) === is.get(id)) continue;
    const kind = was.has(id) ? (is.has(id) ? 'changed' : 'deleted') : 'created';
    counts[kind] += 1;
    differences.push([id, kind]);
  }
  differences.sort(([a], [b]) => (a < b ? -1 : 1));
  return { counts, differences };
}

/** Equal for the same values, in whatever order they were set. */
function digestOf(state: StoredVersion): number {
  const values = Object.entries(fieldsOf(state)).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha1').update(JSON.stringify(values)).digest().readUIntBE(0, 6);
}

type DeletedPage = {
  /** As they were when they were deleted, in the order of their creation. */
  readonly records: readonly StoredRecord[];
  /** How many come after `after`, this page included. Only if asked for, since counting reads all of them. */
  readonly total?: number | undefined;
  /** `after` of the next page: the last id that was read; undefined at the end. */
  readonly next?: string | undefined;
};

type AskedDeleted = { readonly after?: string | undefined; readonly limit: number; readonly isCounted?: boolean };

/**
 * Records deleted by the clean-up at this position, except those whose id was deleted again later: at most `limit` after the
 * id `after`, and at most MAX_UNDONE_CHARACTERS of text.
 */
export async function deletedRecords(
  rows: RowReads,
  tenant: string,
  assetType: AssetType,
  cleanUp: Position,
  { after, limit, isCounted = false }: AskedDeleted,
): Promise<DeletedPage> {
  const space = { tenant, space: assetType.name };
  const deletions = (id: string, atOnce: number) =>
    statesOf(rows, space, { id, how: 'deleted', direction: 'desc' }, atOnce, undefined);
  let behind: Place | undefined;
  if (after !== undefined)
    for await (const state of deletions(after.toLowerCase(), STATES_AT_ONCE))
      if (state.to === cleanUp) behind = endOf(state);
  const ended = [cleanUp - 1, cleanUp] as const;
  const asked: VersionQuery = {
    ended,
    how: 'deleted',
    direction: 'asc',
    behind,
    limit: limit + 1,
    withTotal: isCounted,
  };
  const { versions, total = 0 } = await rows.versions(space, asked);
  let characters = 0;
  const end = versions.findIndex(({ data }, index) => {
    characters += data.length;
    return index === limit || (index > 0 && characters > MAX_UNDONE_CHARACTERS);
  });
  const read = end < 0 ? versions : versions.slice(0, end);
  const latest = await Promise.all(read.map(async ({ id }) => (await deletions(id, 1).next()).value));
  const records = read.filter((_, index) => latest[index]?.to === cleanUp).map((state) => recordOf(state, assetType));
  const next = end < 0 ? undefined : read.at(-1)?.id;
  return { records, ...(isCounted && { total }), ...(next !== undefined && { next }) };
}
