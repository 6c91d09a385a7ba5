/** Filters and sort terms of a query, as MongoDB has them. */
import type { Filter as MongoFilter } from 'mongodb';
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import type { Filter, RecordQuery } from '../../../ports/readModels.js';
import { gramsToFind } from './grams.js';
import { type FieldLayout, sortValue, type TableLayout, uniqueText } from './layout.js';
import { type RecordDocument, storedId } from './recordDocument.js';

export type RecordFilter = MongoFilter<RecordDocument>;

/** Many alternatives are one expression, and no longer than MongoDB's limit of 32,764 bytes allows. */
const LONGEST_EXPRESSION = 8_000;
/** So many alternatives are looked up in the index of n-grams; more are found by one pass over the records. */
const MOST_LOOK_UPS = 20;

/**
 * All filters of a query; undefined when nothing can match.
 * @throws RangeError when the asset type has no such field, or none that can be searched
 */
export function filterOf(filters: readonly Filter[], layout: TableLayout, grams: boolean): RecordFilter | undefined {
  const conditions: RecordFilter[] = [];
  for (const filter of filters) {
    const condition = conditionOf(filter, layout, grams);
    if (condition === undefined) return undefined;
    conditions.push(condition);
  }
  const [only, ...others] = conditions;
  return others.length === 0 ? (only ?? {}) : { $and: conditions };
}

function conditionOf(filter: Filter, layout: TableLayout, grams: boolean): RecordFilter | undefined {
  if (filter.field === 'id') {
    if (filter.kind !== 'equals') throw new RangeError('An id cannot be searched for by a part of it.');
    const ids = filter.anyOf.flatMap((id) => (typeof id === 'string' ? (storedId(id) ?? []) : []));
    return ids.length === 0 ? undefined : { _id: { $in: ids } };
  }
  const field = layout.byName.get(filter.field);
  if (field === undefined) throw new RangeError(`There is no field ${filter.field} to filter by.`);
  return filter.kind === 'contains' ? contains(field, filter.anyOf, grams) : equals(field, filter.anyOf, layout);
}

function contains(field: FieldLayout, anyOf: readonly string[], grams: boolean): RecordFilter | undefined {
  // Half a surrogate pair is no character and NUL is not stored, so no text contains them.
  const needles = anyOf.filter((text) => text.isWellFormed() && !text.includes('\0')).map(foldCase);
  if (needles.length === 0) return undefined;
  if (field.type === 'Boolean' && field.sort !== undefined) {
    const values = [false, true].filter((value) => needles.some((needle) => String(value).includes(needle)));
    return values.length === 0 ? undefined : { [field.sort]: { $in: values.map(Number) } };
  }
  const key = field.match;
  if (key === undefined) throw new RangeError(`The field ${field.name} cannot be searched.`);
  if (needles.length > MOST_LOOK_UPS) return anyExpression(key, needles.map(escaped));
  return either(
    needles.map((needle) => {
      const found = grams && field.grams ? gramsToFind(needle, field.grams.lengths, field.grams.prefix) : [];
      const verified: RecordFilter = { [key]: { $regex: escaped(needle) } };
      return found.length === 0 ? verified : { g: { $all: [...found] }, ...verified };
    }),
  );
}

function equals(
  field: FieldLayout,
  anyOf: readonly (string | number | boolean)[],
  layout: TableLayout,
): RecordFilter | undefined {
  const values = anyOf.filter((value) => fits(field, value));
  if (values.length === 0) return undefined;
  if (field.name === layout.unique) return { k: { $in: values.map(uniqueText) } };
  const found: RecordFilter = field.sort === undefined ? {} : { [field.sort]: { $in: values.map(sortValue) } };
  if (field.sort !== undefined && field.exactWhenFolded) return found;
  return {
    ...found,
    ...anyExpression(
      'd',
      values.map((value) => inDocument(field.name, value)),
    ),
  };
}

function fits(field: FieldLayout, value: string | number | boolean): boolean {
  if (field.isText) return typeof value === 'string' && value.isWellFormed();
  return typeof value === (field.type === 'Boolean' ? 'boolean' : 'number');
}

/**
 * The field with this value in a record's JSON text. It occurs nowhere else there: inside a string
 * every quotation mark follows a backslash, and here the one before the colon does not.
 */
const inDocument = (name: string, value: string | number | boolean): string =>
  `(?:^|,)${escaped(`${JSON.stringify(name)}:${JSON.stringify(value)}`)}(?:,|$)`;

function anyExpression(key: string, expressions: readonly string[]): RecordFilter {
  const joined: string[] = [];
  for (const expression of expressions) {
    const last = joined.at(-1);
    if (last === undefined || last.length + expression.length > LONGEST_EXPRESSION) joined.push(expression);
    else joined[joined.length - 1] = `${last}|${expression}`;
  }
  return either(joined.map((expression): RecordFilter => ({ [key]: { $regex: expression } })));
}

function either(conditions: readonly RecordFilter[]): RecordFilter {
  const [only, ...others] = conditions;
  return others.length === 0 ? (only ?? {}) : { $or: [...conditions] };
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

const SYSTEM_KEYS: ReadonlyMap<string, string> = new Map([
  ['id', '_id'],
  ['created_at', 'c'],
  ['updated_at', 'u'],
]);

/**
 * The order as asked, each field once, and the id last, in the direction of the last term; no terms mean order
 * of creation. Null comes first when ascending, as MongoDB has it.
 * @throws RangeError when the asset type has no such field, or none that can be sorted by
 */
export function sortOf(sort: RecordQuery['sort'], layout: TableLayout): Record<string, 1 | -1> {
  const asked: RecordQuery['sort'] = sort.length === 0 ? [{ field: 'created_at', direction: 'asc' }] : sort;
  const last = asked.at(-1)?.direction ?? 'asc';
  const terms: Record<string, 1 | -1> = {};
  for (const { field, direction } of [...asked, { field: 'id', direction: last }]) {
    const key = SYSTEM_KEYS.get(field) ?? layout.byName.get(field)?.sort;
    if (key === undefined) throw new RangeError(`There is no field ${field} to sort by.`);
    // Behind the id nothing is left to decide.
    if (!('_id' in terms)) terms[key] ??= direction === 'asc' ? 1 : -1;
  }
  return terms;
}
