/** The meaning of a query's filters and sort, the same for each engine. */
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import { isStorableText } from '../../../domain/assetTypes/fieldTypes.js';
import {
  type Comparison,
  type Filter,
  type FilterValue,
  ReadModelsWithheldError,
  type SortTerm,
} from '../../../ports/readModels.js';
import { isTextType, type StoredType } from './fieldRules.js';
import { storedId } from './recordText.js';

type QueriedField = { readonly name: string; readonly type: StoredType };

/** The selection of a filter. Values that the field cannot have are left out; without values it selects nothing. */
export type Selection<Field> =
  | { readonly kind: 'nothing' }
  /** UUIDs in lower case. */
  | { readonly kind: 'ids'; readonly anyOf: readonly string[] }
  /** The same, from the first to the last. */
  | { readonly kind: 'idRange'; readonly from: string; readonly to: string }
  /** Parts of text, folded. */
  | { readonly kind: 'contains'; readonly field: Field; readonly anyOf: readonly [string, ...string[]] }
  | { readonly kind: 'equals'; readonly field: Field; readonly anyOf: readonly FilterValue[] }
  /** All records that the other does not select. */
  | { readonly kind: 'not'; readonly selected: Selection<Field> }
  | { readonly kind: 'compares'; readonly field: Field; readonly is: Comparison; readonly value: string | number }
  | { readonly kind: 'null'; readonly field: Field }
  /** What one of at least two others selects. */
  | { readonly kind: 'any'; readonly anyOf: readonly Selection<Field>[] };

const NOTHING = { kind: 'nothing' } as const;

/** A table gets a field of a newer release, or its index, some time after the API. */
export const notYet = (field: string): ReadModelsWithheldError =>
  new ReadModelsWithheldError(
    `The table is being brought to this release: nothing is found by its field ${field} yet.`,
  );

/** @throws ReadModelsWithheldError when the table has no such field yet; RangeError when part of an id is searched for */
export function selectionOf<Field extends QueriedField>(
  filter: Filter,
  fields: ReadonlyMap<string, Field>,
): Selection<Field> {
  if (filter.kind === 'any') return anyOf(filter.anyOf.map((each) => selectionOf(each, fields)));
  if (filter.kind === 'begins') return idRange(filter.with);
  if (filter.field === 'id') {
    if (filter.kind !== 'equals') throw new RangeError('An id cannot be searched for by a part of it.');
    const anyOf = filter.anyOf.flatMap((id) => (typeof id === 'string' ? (storedId(id) ?? []) : []));
    return anyOf.length === 0 ? NOTHING : { kind: 'ids', anyOf };
  }
  const field = fields.get(filter.field);
  if (field === undefined) throw notYet(filter.field);
  if (filter.kind === 'contains') {
    // Stored texts never contain a text that cannot be stored.
    const [first, ...others] = new Set(filter.anyOf.filter(isStorableText).map(foldCase));
    return first === undefined ? NOTHING : { kind: 'contains', field, anyOf: [first, ...others] };
  }
  switch (filter.kind) {
    case 'equals':
      return equalsOf(field, filter.anyOf);
    case 'differs':
      return { kind: 'not', selected: equalsOf(field, filter.anyOf) };
    case 'compares': {
      const { is, value } = filter;
      return isOfType(field, value) ? { kind: 'compares', field, is, value } : NOTHING;
    }
    case 'null':
      return filter.isNull ? { kind: 'null', field } : { kind: 'not', selected: { kind: 'null', field } };
  }
}

function anyOf<Field>(selections: readonly Selection<Field>[]): Selection<Field> {
  const [first, ...others] = selections.filter(({ kind }) => kind !== 'nothing');
  if (first === undefined) return NOTHING;
  return others.length === 0 ? first : { kind: 'any', anyOf: [first, ...others] };
}

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
const HIGHEST_ID = LOWEST_ID.replaceAll('0', 'f');

/** The ids that begin with this text. */
function idRange(start: string): Selection<never> {
  const [from, to] = [LOWEST_ID, HIGHEST_ID].map((id) => storedId(start + id.slice(start.length)));
  return from === undefined || to === undefined ? NOTHING : { kind: 'idRange', from, to };
}

function equalsOf<Field extends QueriedField>(field: Field, values: readonly FilterValue[]): Selection<Field> {
  const anyOf = values.filter((value) => isOfType(field, value));
  return anyOf.length === 0 ? NOTHING : { kind: 'equals', field, anyOf };
}

function isOfType({ type }: QueriedField, value: FilterValue): boolean {
  if (isTextType(type)) return typeof value === 'string' && isStorableText(value);
  return typeof value === (type === 'Boolean' ? 'boolean' : 'number');
}

/**
 * The terms to sort by: as asked, each field once, and the id last, in the direction of the last term asked;
 * no terms mean order of creation. Nothing follows the id, since it leaves no ties.
 */
export function sortTermsOf(sort: readonly SortTerm[]): readonly SortTerm[] {
  const asked: readonly SortTerm[] = sort.length === 0 ? [{ field: 'created_at', direction: 'asc' }] : sort;
  const last = asked.at(-1)?.direction ?? 'asc';
  const terms: SortTerm[] = [];
  for (const term of [...asked, { field: 'id', direction: last }]) {
    if (!terms.some(({ field }) => field === 'id' || field === term.field)) terms.push(term);
  }
  return terms;
}
