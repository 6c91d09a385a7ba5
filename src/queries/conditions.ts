/** The meaning of a list's filters and sort, once for all engines: folding, types, ids, and values that a field cannot have. */
import { type AssetType, findField } from '../domain/assetTypes/assetType.js';
import { foldCase } from '../domain/assetTypes/caseFolding.js';
import { type FieldValue, isStorableText } from '../domain/assetTypes/fieldTypes.js';
import { sortValue } from '../domain/row.js';
import type { Condition, FieldCondition, Sort } from '../ports/rowStore.js';
import { storedId } from './storedRecord.js';

/** A test of one field as a caller gives it: texts are literal and not folded yet, ids have any case. */
export type FieldFilter =
  | Exclude<FieldCondition, { readonly kind: 'ids' }>
  /** The id's text begins with this, ignoring case. */
  | { readonly kind: 'begins'; readonly field: 'id'; readonly with: string };

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

/** @returns undefined if no row can fulfil them @throws RangeError when part of an id is searched for, or the field is unknown */
export function conditionsOf(filters: readonly Filter[], assetType: AssetType): readonly Condition[] | undefined {
  const conditions: Condition[] = [];
  for (const filter of filters) {
    const found = (filter.kind === 'any' ? filter.anyOf : [filter]).map((each) => alternativesOf(each, assetType));
    if (found.includes('all')) continue;
    const anyOf = found.flatMap((each) => (each === 'all' ? [] : each));
    const [first] = anyOf;
    if (first === undefined) return undefined;
    conditions.push(anyOf.length === 1 ? first : { kind: 'any', anyOf });
  }
  return conditions;
}

/** One of these holds; none: nothing is selected. */
function alternativesOf(filter: FieldFilter, assetType: AssetType): readonly FieldCondition[] | 'all' {
  if (filter.kind === 'begins') return idsThatBegin(filter.with);
  const { field } = filter;
  if (field === 'id') {
    if (filter.kind !== 'equals') throw new RangeError('An id cannot be searched for by a part of it.');
    return filter.anyOf.flatMap((text) => {
      const id = typeof text === 'string' ? storedId(text) : undefined;
      return id === undefined ? [] : [{ kind: 'ids', from: id, to: id } as const];
    });
  }
  const canBe = possibleValues(field, assetType);
  switch (filter.kind) {
    case 'contains': {
      // Stored texts never contain a text that cannot be stored.
      const texts = [...new Set(filter.anyOf.filter(isStorableText).map(foldCase))];
      return texts.length === 0 ? [] : [{ kind: 'contains', field, anyOf: texts }];
    }
    case 'equals':
    case 'differs': {
      const values = filter.anyOf.filter(canBe);
      if (values.length === 0) return filter.kind === 'differs' ? 'all' : [];
      return [{ kind: filter.kind, field, anyOf: values }];
    }
    case 'compares': {
      const value = OWN_TIMES.includes(field) ? filter.value : sortValue(filter.value);
      return value === null || !canBe(filter.value) ? [] : [{ kind: 'compares', field, is: filter.is, value }];
    }
    case 'null':
      return [filter];
  }
}

const OWN_TIMES = ['created_at', 'updated_at'];

/** Whether the field may have a value. */
function possibleValues(name: string, assetType: AssetType): (value: FieldValue) => boolean {
  const field = findField(assetType, name);
  if (field === undefined && !OWN_TIMES.includes(name)) throw new RangeError(`${assetType.name} has no field ${name}.`);
  if (field?.type === 'Boolean') return (value) => typeof value === 'boolean';
  if (field?.type === 'Integer' || field?.type === 'Decimal') return (value) => typeof value === 'number';
  return (value) => typeof value === 'string' && isStorableText(value);
}

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
const HIGHEST_ID = LOWEST_ID.replaceAll('0', 'f');

function idsThatBegin(start: string): readonly FieldCondition[] {
  const [from, to] = [LOWEST_ID, HIGHEST_ID].map((id) => storedId(start + id.slice(start.length)));
  return from === undefined || to === undefined ? [] : [{ kind: 'ids', from, to }];
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
