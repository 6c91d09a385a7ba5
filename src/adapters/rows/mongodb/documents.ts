/**
 * What is stored. A state of a row is a document, made by the event at `f` and ended by the one at `t`: it is never replaced,
 * only ended. A reader at the tenant's progress P finds the states with f <= P < t, so that states of a commit under way, or of
 * one that was cut, are not seen before the progress covers them, and writing them again changes nothing.
 */
import { type Fields, type FieldValue, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { matchText, type Row, sortValue } from '../../../domain/spaces.js';
import type { Position } from '../../../ports/eventStore.js';
import type { Parked, SpaceState, StoredRow, StoredVersion, TenantProgress } from '../../../ports/rowStore.js';

/** `t` of a state that has not ended. */
export const OPEN = Number.MAX_SAFE_INTEGER;

/** `replaced` and `forgotten` are no versions: they are removed when nobody can be reading them any more. */
export type How = StoredVersion['how'] | 'replaced' | 'forgotten';

export type StateDocument = {
  /** See `stateId`. */
  readonly _id: string;
  /** The space, see `spaceKey`. */
  readonly s: string;
  /** The row's id, its number and its key. */
  readonly i: string;
  readonly n: number;
  readonly k: string | null;
  readonly f: Position;
  readonly t: Position;
  readonly h: How;
  /** 1 until it has ended for a while. The indexes of lists hold these only. */
  readonly o?: 1;
  readonly c: string;
  readonly u: string;
  /** The batch id, and the position up to which it is known. */
  readonly b: string | null;
  readonly p: Position;
  /** JSON text of the fields. */
  readonly d: string;
  /** See `slotValues`. */
  readonly [slot: Slot]: string | number | null;
};
/** Which field has which slot. A field keeps its slot for ever. */
export type Slots = ReadonlyMap<string, number>;
type Slot = `${'a' | 'm' | 'x'}${number}`;

/** `definition`: its id. `next`: the number of the next row. */
export type SpaceDocument = Omit<SpaceState, 'progress'> & { readonly definition: string; readonly next: number };

/** A tenant's progress: everything that readers believe. It is written last, in one step. */
export type TenantDocument = {
  /** The tenant's name, or that of its copy. */
  readonly _id: string;
  readonly tenant: string;
  /** Names the rows: those of a copy have another. */
  readonly generation: string;
  readonly position: Position;
  /** Default: nothing. */
  readonly inLog?: { readonly bytes: number };
  readonly state: TenantProgress['state'];
  readonly parked: Parked | null;
  readonly spaces: { readonly [name: string]: SpaceDocument };
};

export type DefinitionDocument = {
  readonly _id: string;
  /** JSON text of the asset type. */
  readonly assetType: string;
  /** Names of fields by slot. */
  readonly slots: readonly string[];
};

/** Names of tenants and generations have no dots. */
export const spaceKey = ({ tenant, generation }: TenantDocument, space: string): string =>
  `${tenant}.${generation}.${space}`;

export const stateId = (s: string, { i, f }: Pick<StateDocument, 'i' | 'f'>): string => `${s}/${i}/${f}`;

/** States of a space that are visible at a position. Those that ended for a while are not among them. */
export const visibleAt = (s: string, position: Position) =>
  ({ s, o: 1, f: { $lte: position }, t: { $gt: position } }) as const;

/** Its batch id is known up to the event that made it: the slice may be cut, and be repeated in shorter ones. */
export const newDocument = (s: string, slots: Slots, row: Row, n: number): StateDocument => ({
  _id: stateId(s, { i: row.id, f: row.from }),
  s,
  i: row.id,
  n,
  k: row.key,
  f: row.from,
  t: OPEN,
  h: 'present',
  o: 1,
  c: row.created,
  u: row.updated,
  b: row.batch,
  p: row.from,
  d: JSON.stringify(row.fields),
  ...slotValues(slots, row.fields),
});

/**
 * Of each sought field that has a value: its sort value (a), its match text where that is another (m), and its exact text where
 * the sort value is folded (x).
 */
export function slotValues(slots: Slots, fields: Fields): { [slot: Slot]: string | number } {
  const values: { [slot: Slot]: string | number } = {};
  for (const [name, slot] of slots) {
    const value = ownValue(fields, name) ?? null;
    const [sorted, match, exact] = [sortValue(value), matchText(value), exactText(value)];
    if (sorted === null || match === null) continue;
    values[`a${slot}`] = sorted;
    if (match !== sorted) values[`m${slot}`] = match;
    if (exact !== undefined && exact !== sorted) values[`x${slot}`] = exact;
  }
  return values;
}

/** Of values whose sort value is a text. */
export const exactText = (value: FieldValue): string | undefined =>
  Array.isArray(value) ? JSON.stringify(value) : typeof value === 'string' ? value : undefined;

/** What is read of a document. */
export const WHOLE_STATE = { i: 1, n: 1, k: 1, f: 1, t: 1, h: 1, c: 1, u: 1, b: 1, d: 1 } as const;
export type WholeState = Pick<StateDocument, keyof typeof WHOLE_STATE>;

export const storedRow = ({ i: id, n, k: key, f: from, c, u, b: batch, d: data }: WholeState): StoredRow => {
  return { id, key, from, created: c, updated: u, batch, data, n };
};

/** @param progress a state that ends later has not ended */
export const storedVersion = (state: WholeState, progress: Position): StoredVersion => ({
  ...storedRow(state),
  ...(state.t > progress
    ? { to: undefined, how: 'present' }
    : { to: state.t, how: state.h === 'deleted' ? 'deleted' : 'changed' }),
});

export const spaceState = (tenant: TenantDocument | null, space: string): SpaceState => {
  const { changed = 0, revision = -1, lastEventAt = '', rows = 0 } = spaceIn(tenant, space) ?? {};
  return { progress: tenant?.position ?? 0, changed, revision, lastEventAt, rows };
};

export const spaceIn = (tenant: TenantDocument | null, space: string): SpaceDocument | undefined =>
  tenant !== null && Object.hasOwn(tenant.spaces, space) ? tenant.spaces[space] : undefined;

/** One that was made to be written, and never was, has no progress. */
export function progressOf(tenant: TenantDocument | null): TenantProgress | undefined {
  if (tenant === null || (tenant.position === 0 && tenant.state === 'running')) return undefined;
  const { position, inLog, state, parked, spaces } = tenant;
  const rows = Object.values(spaces).reduce((sum, space) => sum + space.rows, 0);
  return { position, logBytes: inLog?.bytes ?? 0, state, ...(parked && { parked }), rows };
}
