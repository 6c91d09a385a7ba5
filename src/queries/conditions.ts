/** The meaning of a list's filters and sort, once for all engines: folding, types, ids, and values that a field cannot have. */
import { type AssetType, findField } from '../domain/assetTypes/assetType.js';
import { type FieldValue, isStorableText } from '../domain/assetTypes/fieldTypes.js';
import { foldCase, sortValue } from '../domain/row.js';
import type { Condition, FieldCondition, Sort } from '../ports/rowStore.js';
import { storedId } from './storedRecord.js';

/** A test of one field as a caller gives it: texts are literal and not folded yet, ids have any case. */
export type FieldFilter = Exclude<FieldCondition, { readonly kind: 'ids' }>;

export type Filter =
  | FieldFilter
  /** At least one of these holds. */
  | { readonly kind: 'any'; readonly anyOf: readonly FieldFilter[] };

/** The stored form: dates and times as normalised text. */
export type FilterValue = string | number | boolean;

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Number of values in the filter, or of its alternatives. */
export const valuesOf = (filter: Filter): number => ('anyOf' in filter ? filter.anyOf.length : 1);

export type SortTerm = { readonly field: string; readonly direction: 'asc' | 'desc' };

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
const HIGHEST_ID = LOWEST_ID.replaceAll('0', 'f');
const ALL: FieldCondition = { kind: 'ids', from: LOWEST_ID, to: HIGHEST_ID };
/** No id is above the highest and below the lowest. */
const NONE: FieldCondition = { kind: 'ids', from: HIGHEST_ID, to: LOWEST_ID };

type Table = Pick<AssetType, 'fields'>;

/** @throws RangeError when part of an id is searched for */
export const conditionsOf = (filters: readonly Filter[], assetType: Table): readonly Condition[] =>
  filters.flatMap((filter) => {
    const anyOf = (filter.kind === 'any' ? filter.anyOf : [filter]).flatMap((each) => alternativesOf(each, assetType));
    if (anyOf.includes(ALL)) return [];
    const [first = NONE] = anyOf;
    return anyOf.length > 1 ? { kind: 'any', anyOf } : first;
  });

/** One of these holds; none: nothing is selected. */
function alternativesOf(filter: FieldFilter, assetType: Table): readonly FieldCondition[] {
  const { field } = filter;
  if (field === 'id') {
    if (filter.kind !== 'equals') throw new RangeError('An id cannot be searched for by a part of it.');
    const ids = filter.anyOf.flatMap((text) => storedId(String(text)) ?? []);
    return ids.map((id) => ({ kind: 'ids', from: id, to: id }));
  }
  const canBe = possibleValues(field, assetType);
  switch (filter.kind) {
    case 'contains': {
      // Stored texts never contain a text that cannot be stored.
      const anyOf = [...new Set(filter.anyOf.filter(isStorableText).map(foldCase))];
      return anyOf.length === 0 ? [] : [{ kind: 'contains', field, anyOf }];
    }
    case 'equals':
    case 'differs': {
      const anyOf = filter.anyOf.filter(canBe);
      if (anyOf.length === 0) return filter.kind === 'differs' ? [ALL] : [];
      return [{ kind: filter.kind, field, anyOf }];
    }
    case 'compares': {
      const value = OWN_TIMES.includes(field) ? filter.value : sortValue(filter.value);
      return value === null || !canBe(filter.value) ? [] : [{ ...filter, value }];
    }
    case 'null':
      return [filter];
  }
}

const OWN_TIMES = ['created_at', 'updated_at'];

/** Whether the field may have a value; there is none of a field that the table lacks. */
function possibleValues(name: string, assetType: Table): (value: FieldValue) => boolean {
  const field = findField(assetType, name);
  if (field === undefined && !OWN_TIMES.includes(name)) return () => false;
  if (field?.type === 'Boolean') return (value) => typeof value === 'boolean';
  if (field?.type === 'Integer' || field?.type === 'Decimal') return (value) => typeof value === 'number';
  return (value) => typeof value === 'string' && isStorableText(value);
}

/**
 * The terms as asked, each field once, and the id last, in the direction of the last term; no terms mean the order of
 * creation. Nothing follows the id, since it leaves no ties.
 */
export function sortOf(sort: readonly SortTerm[]): readonly Sort[] {
  const last = sort.at(-1);
  if (last === undefined) return [{ field: 'n', direction: 'asc' }];
  const terms: Sort[] = [];
  for (const term of [...sort, { field: 'id', direction: last.direction }])
    if (!terms.some(({ field }) => field === 'id' || field === term.field)) terms.push(term);
  return terms;
}
