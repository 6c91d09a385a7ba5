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
  readonly after: StoredRow | undefined;
};

type Asked = Omit<VersionQuery, 'limit' | 'withTotal' | 'direction'> & Partial<Pick<VersionQuery, 'direction'>>;

/** All states that are asked for, page by page. @throws the cancellation's reason */
async function* statesOf(
  rows: RowReads,
  space: SpaceRef,
  asked: Asked,
  limit: number,
  cancellation: Cancellation | undefined,
): AsyncGenerator<StoredVersion, undefined> {
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

const startOf = ({ from, n }: StoredRow): Place => [from, n];
/** A present state ends behind all positions. */
const endOf = ({ to = Number.MAX_SAFE_INTEGER, n }: StoredVersion): Place => [to, n];

const fieldsOf = (state: StoredRow | undefined): Fields => (state === undefined ? {} : JSON.parse(state.data));

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

type AskedTransitions = {
  /** Above the first position, not above the second. */
  readonly range: readonly [after: Position, until: Position];
  readonly behind?: Place | undefined;
  /** States that are read at once. */
  readonly atOnce: number;
  /** Only what made rows present as they are now, and the deletions. */
  readonly isLatest?: boolean;
};

/** What happened in a space, in the order of places. @throws the cancellation's reason */
export async function* transitionsIn(
  rows: RowReads,
  space: SpaceRef,
  { range, behind, atOnce, isLatest = false }: AskedTransitions,
  cancellation: Cancellation | undefined,
): AsyncGenerator<Transition> {
  const states = (asked: Asked) => statesOf(rows, space, { ...asked, behind }, atOnce, cancellation);
  const ended = states({ ended: range, ...(isLatest && { how: 'deleted' }) });
  const begun = states({ begun: range, ...(isLatest && { how: 'present' }) });
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
 * @param atOnce states that are read at once @throws the cancellation's reason
 */
export async function* historyOf(
  rows: RowReads,
  space: SpaceRef,
  { id, until, atOnce }: { readonly id: string; readonly until?: Position | undefined; readonly atOnce: number },
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
  const found = new Map<string, ChangedRow['row']>();
  let next: Place | undefined;
  let characters = 0;
  const asked = { range, behind, atOnce: STATES_AT_ONCE, isLatest: true };
  for await (const { place, id, after } of transitionsIn(rows, space, asked, cancellation)) {
    characters += after?.data.length ?? 0;
    const isFull = found.size === limit || characters > MAX_PAGE_BYTES;
    if (isFull && next !== undefined) return { changed: await asTheyAre(), next, hasMore: true };
    found.set(id, after);
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
  // Digests, as both states of each row of a large table would be too much to keep. Undefined: it was not there.
  const was = new Map<string, number | undefined>();
  const is = new Map<string, number | undefined>();
  for await (const { id, before, after } of transitionsIn(
    rows,
    space,
    { range, atOnce: COMPARED_AT_ONCE },
    cancellation,
  )) {
    if (!was.has(id)) was.set(id, before && digestOf(before));
    is.set(id, after && digestOf(after));
  }
  const counts = { created: 0, changed: 0, deleted: 0 };
  const differences: (readonly [string, DifferenceKind])[] = [];
  for (const [id, old] of was) {
    const now = is.get(id);
    if (old === now) continue;
    const kind = old === undefined ? 'created' : now === undefined ? 'deleted' : 'changed';
    counts[kind] += 1;
    differences.push([id, kind]);
  }
  differences.sort(([a], [b]) => (a < b ? -1 : 1));
  return { counts, differences };
}

/** Equal for the same values, in whatever order they were set. */
function digestOf(state: StoredRow): number {
  const values = Object.entries(fieldsOf(state)).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha1').update(JSON.stringify(values)).digest().readUIntBE(0, 6);
}

type AskedDeleted = { readonly after?: string | undefined; readonly limit: number; readonly isCounted?: boolean };

/**
 * Records deleted by the clean-up at this position, as they were and in the order of their creation, except those whose id was
 * deleted again later: at most `limit` after the id `after`, and at most MAX_UNDONE_CHARACTERS of text.
 * @returns `total`: how many come after `after`, only if asked for, as all are read; `next`: the next page's `after`
 */
export async function deletedRecords(
  rows: RowReads,
  tenant: string,
  assetType: AssetType,
  cleanUp: Position,
  { after, limit, isCounted = false }: AskedDeleted,
): Promise<{ readonly records: readonly StoredRecord[]; readonly total?: number; readonly next?: string }> {
  const space = { tenant, space: assetType.name };
  const lastDeletion = async (id: string, behind?: Place) => {
    const asked = { id, how: 'deleted', direction: 'desc', behind, limit: 1, withTotal: false } as const;
    return (await rows.versions(space, asked)).versions[0];
  };
  const start = after === undefined ? undefined : await lastDeletion(after.toLowerCase(), [cleanUp + 1, 0]);
  const behind = start?.to === cleanUp ? endOf(start) : undefined;
  const ended = [cleanUp - 1, cleanUp] as const;
  const asked = { ended, how: 'deleted', direction: 'asc', behind, limit: limit + 1, withTotal: isCounted } as const;
  const { versions, total = 0 } = await rows.versions(space, asked);
  let characters = 0;
  const end = versions.findIndex(({ data }, index) => {
    characters += data.length;
    return index === limit || (index > 0 && characters > MAX_UNDONE_CHARACTERS);
  });
  const read = end < 0 ? versions : versions.slice(0, end);
  const latest = await Promise.all(read.map(({ id }) => lastDeletion(id)));
  const records = read.filter((_, index) => latest[index]?.to === cleanUp).map((state) => recordOf(state, assetType));
  const next = end < 0 ? undefined : read.at(-1)?.id;
  return { records, ...(isCounted && { total }), ...(next !== undefined && { next }) };
}
