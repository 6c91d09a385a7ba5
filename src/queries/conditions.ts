/** The meaning of a list's filters and sort, once for all engines: folding and ids. Values are of the types of their fields. */
import { ALWAYS_SORTABLE } from '../domain/assetTypes/assetType.js';
import { isStorableText } from '../domain/assetTypes/fieldTypes.js';
import { foldCase } from '../domain/row.js';
import type { Condition, FieldCondition, Sort } from '../ports/rowStore.js';
import { storedId } from './storedRecord.js';

/** A test of one field as a caller gives it: texts are literal and not folded yet, ids have any case. */
export type FieldFilter = Exclude<FieldCondition, { readonly kind: 'ids' }>;

export type Filter =
  | FieldFilter
  /** At least one of these holds. */
  | { readonly kind: 'any'; readonly anyOf: readonly FieldFilter[] };

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
/** No id is above the highest and below the lowest. */
const NONE: FieldCondition = { kind: 'ids', from: LOWEST_ID.replaceAll('0', 'f'), to: LOWEST_ID };

export const conditionsOf = (filters: readonly Filter[]): readonly Condition[] =>
  filters.map((filter) => {
    const anyOf = (filter.kind === 'any' ? filter.anyOf : [filter]).flatMap(alternativesOf);
    const [first = NONE] = anyOf;
    return anyOf.length > 1 ? { kind: 'any', anyOf } : first;
  });

/** One of these holds; none: nothing is selected. */
function alternativesOf(filter: FieldFilter): readonly FieldCondition[] {
  const { kind, field } = filter;
  if (kind === 'equals' && field === 'id') {
    const ids = filter.anyOf.flatMap((text) => storedId(String(text)) ?? []);
    return ids.map((id) => ({ kind: 'ids', from: id, to: id }));
  }
  if (kind === 'contains') {
    // Stored texts never contain a text that cannot be stored.
    const anyOf = [...new Set(filter.anyOf.filter(isStorableText).map(foldCase))];
    return anyOf.length === 0 ? [] : [{ ...filter, anyOf }];
  }
  const isTime = ALWAYS_SORTABLE.some((name) => name === field);
  if (kind === 'compares' && typeof filter.value === 'string' && !isTime)
    return [{ ...filter, value: foldCase(filter.value) }];
  return [filter];
}

/** The terms as asked, then the id in the direction of the last; no terms mean the order of creation. */
export function sortOf(sort: readonly Sort[]): readonly Sort[] {
  const last = sort.at(-1);
  return last === undefined ? [{ field: 'n', direction: 'asc' }] : [...sort, { ...last, field: 'id' }];
}
