/**
 * The past of a table, from its rows and the states that they had: what each event did to them, the history of one, the
 * changes since a cursor, and what differs between two moments. Positions of the log decide what came before what.
 */
import { changesOf, clearedFields, type Fields } from '../domain/assetTypes/fieldTypes.js';
import { MAX_PAGE_BYTES, MAX_RECORDS } from '../domain/limits.js';
import type { Position } from '../ports/eventStore.js';
import type { SpaceRef, StoredRow, StoredVersion, VersionQuery } from '../ports/rowStore.js';
import { type Rows, roomFor } from './asking.js';

/** A place in the order of what happened in a space; all of one event is at one position. */
export type Place = readonly [position: Position, n: number];

/** What an event, or the events of one append, did to a row: it was this, and it is that from then on. */
export type Transition = {
  readonly place: Place;
  readonly id: string;
  /** Undefined: it was created. */
  readonly before: StoredVersion | undefined;
  /** Undefined: it was deleted. */
  readonly after: (StoredRow & Partial<Pick<StoredVersion, 'to'>>) | undefined;
};

/** All states that are asked for. @param asked `limit`: states that are read at once */
async function* statesOf(rows: Rows, space: SpaceRef, asked: VersionQuery): AsyncGenerator<StoredVersion, undefined> {
  for (let { behind } = asked; ; ) {
    const { versions } = await rows.versions(space, { ...asked, behind });
    yield* versions;
    const last = versions.at(-1);
    if (last === undefined || versions.length < asked.limit) return;
    behind = asked.begun === undefined ? endOf(last) : startOf(last);
  }
}

const startOf = ({ from, n }: StoredRow): Place => [from, n];
/** A present state ends behind all positions. */
const endOf = ({ to = Number.MAX_SAFE_INTEGER, n }: StoredVersion): Place => [to, n];

/** What a transition did to the fields of a record; unset ones are null. */
export function changeOf({ id, before, after }: Transition) {
  const [was = {}, is = {}] = [before, after].map((row): Fields => (row === undefined ? {} : JSON.parse(row.data)));
  const all = Object.entries({ ...clearedFields(was), ...changesOf(was, is) });
  const fields = all.filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to));
  const change = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
  return { change, id, fields: Object.fromEntries(fields) } as const;
}

type TransitionsQuery = {
  /** Above the first position, not above the second. */
  readonly range: readonly [after: Position, until: Position];
  readonly behind?: Place | undefined;
  /** States that are read at once. */
  readonly limit: number;
  /** Only what made rows present as they are now, and the deletions. */
  readonly isLatest?: boolean;
};

/** What happened in a space, in the order of places. */
export async function* transitionsIn(
  rows: Rows,
  space: SpaceRef,
  { range, isLatest = false, ...asked }: TransitionsQuery,
): AsyncGenerator<Transition> {
  const ended = statesOf(rows, space, { ...asked, ended: range, how: isLatest ? 'deleted' : undefined });
  const begun = statesOf(rows, space, { ...asked, begun: range, how: isLatest ? 'present' : undefined });
  let [end, begin] = await Promise.all([ended.next(), begun.next()]);
  while (end.value !== undefined || begin.value !== undefined) {
    const [was, is] = [end.value, begin.value];
    const order = was === undefined ? 1 : is === undefined ? -1 : compared(endOf(was), startOf(is));
    const [before, after] = [order > 0 ? undefined : was, order < 0 ? undefined : is];
    if (before !== undefined) yield { place: endOf(before), id: before.id, before, after };
    else if (after !== undefined) yield { place: startOf(after), id: after.id, before, after };
    if (before !== undefined) end = await ended.next();
    if (after !== undefined) begin = await begun.next();
  }
}

const compared = ([position, n]: Place, other: Place): number => position - other[0] || n - other[1];

/**
 * What happened to one row before `until`, the newest first; nothing if there never was such a row.
 * @param asked `limit`: states that are read at once
 */
export async function* historyOf(
  rows: Rows,
  space: SpaceRef,
  { id, until, limit }: { readonly id: string; readonly until?: Position | undefined; readonly limit: number },
): AsyncGenerator<Transition> {
  let after: Transition['after'];
  let behind: Place | undefined;
  if (until !== undefined) {
    [after] = (await rows.rows(space, { ids: [id], keys: [], at: until - 1 })).rows;
    behind = [until - 1, Number.MAX_SAFE_INTEGER];
  }
  for await (const state of statesOf(rows, space, { id, behind, limit })) {
    if (after !== undefined) {
      const isFollowed = state.to === after.from && state.how === 'changed';
      yield { id, place: startOf(after), before: isFollowed ? state : undefined, after };
    }
    if (state.how === 'deleted') yield { id, place: endOf(state), before: state, after: undefined };
    after = state;
  }
  if (after !== undefined) yield { id, place: startOf(after), before: undefined, after };
}

export type ChangesPage = {
  /** A deleted row is undefined. */
  readonly changed: readonly (readonly [id: string, row: StoredRow | undefined])[];
  /** Behind the last of these; where there are no more, behind all that is at the position. */
  readonly next: readonly [position: Position, n: number | null];
  readonly hasMore: boolean;
};

const STATES_AT_ONCE = 200;

/** Position of the last event that changed the space, or moved a batch id in it. */
export const changedAt = async (rows: Rows, space: SpaceRef): Promise<Position> =>
  (await rows.rows(space, { ids: [], keys: [] })).state.changed;

/** Each row that was created, changed or deleted behind the cursor, as it is now. */
export async function changesAfter(
  rows: Rows,
  space: SpaceRef,
  [position, n]: ChangesPage['next'],
  limit = MAX_RECORDS,
): Promise<ChangesPage> {
  const until = await changedAt(rows, space);
  const behind = n === null ? undefined : ([position, n] as const);
  const range = [behind === undefined ? position : position - 1, until] as const;
  const found = new Map<string, StoredRow | undefined>();
  const fits = roomFor(limit, MAX_PAGE_BYTES);
  let [next, hasMore]: [ChangesPage['next'], boolean] = [[position, n], false];
  const asked = { range, behind, limit: STATES_AT_ONCE, isLatest: true };
  for await (const { place, id, after } of transitionsIn(rows, space, asked)) {
    hasMore = !fits(after?.data.length ?? 0);
    if (hasMore) break;
    found.set(id, after);
    next = place;
  }
  // Some that were deleted are there again, and come at the place of that.
  const ids = [...found].flatMap(([id, row]) => (row === undefined ? [id] : []));
  const recreated = ids.length === 0 ? [] : (await rows.rows(space, { ids, keys: [] })).rows;
  for (const { id } of recreated) found.delete(id);
  return { changed: [...found], next: hasMore ? next : [Math.max(position, until), null], hasMore };
}

/** A comparison reads many states. */
const COMPARED_AT_ONCE = 2_000;

/** `isThere`: at the later position, where this was the last change; otherwise the row was there at the earlier one. */
type Changed = { readonly place: Place; readonly id: string; readonly isThere: boolean };

/** Rows that may differ between two positions, in the order of places: each once as it is, or as it was if it is gone. */
export async function* changedBetween(
  rows: Rows,
  space: SpaceRef,
  range: readonly [from: Position, to: Position],
  behind?: Place,
): AsyncGenerator<Changed> {
  const asked = { range, behind, limit: COMPARED_AT_ONCE };
  for await (const { place, id, before, after } of transitionsIn(rows, space, asked)) {
    if (after !== undefined && (after.to ?? Number.POSITIVE_INFINITY) > range[1]) yield { place, id, isThere: true };
    else if (before !== undefined && before.from <= range[0]) yield { place, id, isThere: false };
  }
}
