/**
 * The past of a table, from its rows and the states that they had: what each event did to them, the history of one, the
 * changes since a cursor, and what differs between two moments. Positions of the log decide what came before what.
 */
import { createHash } from 'node:crypto';
import { type Fields, type FieldValue, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { MAX_CHANGES, MAX_PAGE_BYTES } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import type { Position } from '../ports/eventStore.js';
import type { RowReads, SpaceRef, StoredRow, StoredVersion, VersionQuery } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';

/** A place in the order of what happened in a space; all of one event is at one position. */
export type Place = readonly [position: Position, n: number];

/** What an event, or the events of one append, did to a row: it was this, and it is that from then on. */
export type Transition = {
  readonly place: Place;
  readonly id: string;
  /** Undefined: it was created. */
  readonly before: StoredVersion | undefined;
  /** Undefined: it was deleted. */
  readonly after: StoredVersion | undefined;
};

/** A page of states is few, since some are long; a comparison reads many. */
const STATES_AT_ONCE = 200;
const COMPARED_AT_ONCE = 2_000;

type Asked = Omit<VersionQuery, 'limit' | 'withTotal' | 'direction'> & Partial<Pick<VersionQuery, 'direction'>>;

/** All states that are asked for, page by page. @throws the cancellation's reason */
export async function* statesOf(
  rows: RowReads,
  space: SpaceRef,
  asked: Asked,
  cancellation: Cancellation | undefined,
  limit = STATES_AT_ONCE,
): AsyncGenerator<StoredVersion> {
  for (let { behind } = asked; ; ) {
    cancellation?.throwIfCancelled();
    const query: VersionQuery = { direction: 'asc', ...asked, behind, limit, withTotal: false };
    const { versions } = await rows.versions(space, query, cancellation);
    yield* versions;
    const last = versions.at(-1);
    if (last === undefined || versions.length < limit) return;
    behind = [asked.begun === undefined ? endOf(last) : last.from, last.n];
  }
}

/** A present state ends behind all positions. */
const endOf = ({ to = Number.MAX_SAFE_INTEGER }: Pick<StoredVersion, 'to'>): Position => to;

const isBefore = ([position, n]: Place, other: Place): boolean =>
  position < other[0] || (position === other[0] && n < other[1]);

type Placed = { readonly place: Place; readonly ended?: StoredVersion; readonly begun?: StoredVersion };

/** States that ended, and states that began, in one order; those of one place are together. */
async function* inOrder(
  ended: AsyncGenerator<StoredVersion>,
  begun: AsyncGenerator<StoredVersion>,
): AsyncGenerator<Placed> {
  let [one, other] = [await ended.next(), await begun.next()];
  while (one.done !== true || other.done !== true) {
    const end: Place = one.done === true ? NEVER : [endOf(one.value), one.value.n];
    const start: Place = other.done === true ? NEVER : [other.value.from, other.value.n];
    const place = isBefore(end, start) ? end : start;
    const placed: { place: Place; ended?: StoredVersion; begun?: StoredVersion } = { place };
    if (one.done !== true && !isBefore(place, end)) {
      placed.ended = one.value;
      one = await ended.next();
    }
    if (other.done !== true && !isBefore(place, start)) {
      placed.begun = other.value;
      other = await begun.next();
    }
    yield placed;
  }
}

const NEVER: Place = [Number.POSITIVE_INFINITY, 0];

/** What happened to the rows of a space above the first position, up to the second. @throws the cancellation's reason */
export async function* transitions(
  rows: RowReads,
  space: SpaceRef,
  range: readonly [after: Position, until: Position],
  behind: Place | undefined,
  cancellation: Cancellation | undefined,
  atOnce = STATES_AT_ONCE,
): AsyncGenerator<Transition> {
  const ended = statesOf(rows, space, { ended: range, behind }, cancellation, atOnce);
  const begun = statesOf(rows, space, { begun: range, behind }, cancellation, atOnce);
  for await (const { place, ended: before, begun: after } of inOrder(ended, begun)) {
    const id = (before ?? after)?.id;
    if (id !== undefined) yield { place, id, before, after };
  }
}

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

/**
 * What happened to one row, the newest first; nothing if there never was such a row.
 * @param until exclusive
 */
export async function* historyOf(
  rows: RowReads,
  space: SpaceRef,
  id: string,
  until: Position | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<Transition> {
  const first = until === undefined ? undefined : await stateBefore(rows, space, id, until, cancellation);
  const behind: Place | undefined = first && [endOf(first), first.n];
  let after = until !== undefined && first !== undefined && first.from < until ? first : undefined;
  for await (const state of statesOf(rows, space, { id, direction: 'desc', behind }, cancellation, HISTORY_AT_ONCE)) {
    const isFollowed = after !== undefined && state.to === after.from && state.how === 'changed';
    if (after !== undefined) {
      yield { id, place: [after.from, after.n], before: isFollowed ? state : undefined, after };
    }
    if (state.how === 'deleted') yield { id, place: [endOf(state), state.n], before: state, after: undefined };
    after = state;
  }
  if (after !== undefined) yield { id, place: [after.from, after.n], before: undefined, after };
}

const HISTORY_AT_ONCE = 26;

/** The first state of the row that lasted until then, or longer. */
async function stateBefore(
  rows: RowReads,
  space: SpaceRef,
  id: string,
  until: Position,
  cancellation: Cancellation | undefined,
): Promise<StoredVersion | undefined> {
  const behind: Place = [until - 1, Number.MAX_SAFE_INTEGER];
  const query: VersionQuery = { id, direction: 'asc', behind, limit: 1, withTotal: false };
  return (await rows.versions(space, query, cancellation)).versions[0];
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
  const ended = statesOf(rows, space, { ended: range, how: 'deleted', behind }, cancellation);
  const begun = statesOf(rows, space, { begun: range, how: 'present', behind }, cancellation);
  const found = new Map<string, StoredVersion | undefined>();
  let last: Place | undefined;
  let characters = 0;
  for await (const { place, ended: gone, begun: present } of inOrder(ended, begun)) {
    const id = (present ?? gone)?.id ?? '';
    characters += present?.data.length ?? 0;
    const isFull = found.size === limit || characters > MAX_PAGE_BYTES;
    if (isFull && last !== undefined) return { changed: await asTheyAre(), next: last, hasMore: true };
    found.set(id, present);
    last = place;
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

export const DIFFERENCE_KINDS = ['created', 'changed', 'deleted'] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export type Comparison = {
  readonly counts: { readonly [kind in DifferenceKind]: number };
  /** In the order of ids. */
  readonly differences: readonly (readonly [id: string, kind: DifferenceKind])[];
};

/** What differs between two positions: rows that are not at both, or have other values. @throws the cancellation's reason */
export async function comparisonOf(
  rows: RowReads,
  space: SpaceRef,
  range: readonly [from: Position, to: Position],
  cancellation: Cancellation | undefined,
): Promise<Comparison> {
  // Digests, as both states of each row of a large table would be too much to keep.
  const found = new Map<string, { readonly was: number | undefined; is: number | undefined }>();
  for await (const { id, before, after } of transitions(
    rows,
    space,
    range,
    undefined,
    cancellation,
    COMPARED_AT_ONCE,
  )) {
    const is = after && digestOf(after);
    const known = found.get(id);
    if (known === undefined) found.set(id, { was: before && digestOf(before), is });
    else known.is = is;
  }
  const counts = { created: 0, changed: 0, deleted: 0 };
  const differences: (readonly [string, DifferenceKind])[] = [];
  for (const [id, { was, is }] of found) {
    if (was === is) continue;
    const kind = was === undefined ? 'created' : is === undefined ? 'deleted' : 'changed';
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
