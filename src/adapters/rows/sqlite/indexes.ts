/**
 * Indexes on demand: a list that took long for want of one asks for it, and later ones use it. An index for a sort has all
 * its terms; one for parts of texts has the trigrams of one field.
 */
import type { Sort } from '../../../ports/rowStore.js';
import { isText, type Space } from './cells.js';

export type IndexSpec =
  /** `terms`: columns, the first one ascending. It is read in both directions. */
  { readonly kind: 'sort'; readonly terms: readonly SortTerm[] } | { readonly kind: 'text'; readonly slot: number };
export type SortTerm = { readonly column: string; readonly descending: boolean };

export type StoredIndex = [name: string, spec: string, upto: number | null];

export type TextIndex = {
  readonly name: string;
  readonly slot: number;
  /** Rows up to this n are in it; undefined: all. */
  readonly upto: number | undefined;
};

export type SpaceIndexes = {
  readonly texts: readonly TextIndex[];
  readonly sorts: readonly { readonly name: string; readonly terms: readonly SortTerm[] }[];
};

export function indexesOf(stored: readonly StoredIndex[]): SpaceIndexes {
  const texts: TextIndex[] = [];
  const sorts: { name: string; terms: readonly SortTerm[] }[] = [
    { name: 'rows_id', terms: [{ column: 'id', descending: false }] },
  ];
  for (const [name, text, upto] of stored) {
    const spec: IndexSpec = JSON.parse(text);
    if (spec.kind === 'text') texts.push({ name, slot: spec.slot, upto: upto ?? undefined });
    else sorts.push({ name, terms: spec.terms });
  }
  return { texts, sorts };
}

/** A name that says what the index is, so that it is made once. */
export const nameOf = ({ number }: Pick<Space, 'number'>, spec: IndexSpec): string =>
  spec.kind === 'text'
    ? `ft_${number}_s${spec.slot}`
    : `rows_${number}_${spec.terms.map(({ column, descending }) => `${column}${descending ? '_desc' : ''}`).join('_')}`;

/** The column of a field that has one. */
export function columnOf({ slots }: Space, field: string): string | undefined {
  if (field === 'created_at') return 'created';
  if (field === 'updated_at') return 'updated';
  if (field === 'id') return 'id';
  const slot = slots.indexOf(field);
  return slot < 0 ? undefined : `s${slot}`;
}

/** The slot of a field whose column has its match texts. */
export function textSlot({ slots, assetType }: Space, field: string): number | undefined {
  const slot = slots.indexOf(field);
  const described = assetType.fields.find(({ name }) => name === field);
  return slot >= 0 && described !== undefined && isText(described) ? slot : undefined;
}

/**
 * The index that serves a sort, and whether it is read backwards. `n` is last in each index without being named.
 * @returns undefined where a term has no column
 */
export function indexOfSort(
  space: Space,
  sort: readonly Sort[],
): { terms: readonly SortTerm[]; backwards: boolean } | undefined {
  const backwards = sort[0]?.direction === 'desc';
  const terms: SortTerm[] = [];
  for (const { field, direction } of sort) {
    const descending = (direction === 'desc') !== backwards;
    if (field === 'n') return descending || terms.length === 0 ? undefined : { terms, backwards };
    const column = columnOf(space, field);
    if (column === undefined) return undefined;
    terms.push({ column, descending });
  }
  return { terms, backwards };
}
