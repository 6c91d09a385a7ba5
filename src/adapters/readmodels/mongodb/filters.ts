/** Filters and sort terms as queries of MongoDB. */
import type { Filter as MongoFilter } from 'mongodb';
import type { Filter, FilterValue, RecordQuery } from '../../../ports/readModels.js';
import { sortValue, uniqueText } from '../shared/fieldRules.js';
import { notYet, type Selection, selectionOf, sortTermsOf } from '../shared/query.js';
import { type FieldLayout, isNgram, leftOut, ngramsToFind, type TableLayout } from './layout.js';
import type { RecordDocument } from './recordDocument.js';

export type RecordFilter = MongoFilter<RecordDocument>;

/** Alternatives are joined in one expression, up to MongoDB's limit of 32,764 bytes. */
const LONGEST_EXPRESSION = 8_000;
/** The most alternatives that are looked up in the index of n-grams. With more, the records are scanned once. */
const MOST_LOOK_UPS = 20;

/** Whether some of the table's texts may be missing in the index of n-grams (`IndexedTexts`). */
export type TextsLeftOut = 'none' | 'some';

/**
 * All filters of a query; undefined if nothing can match.
 * @param texts only for filters that search in texts
 * @throws ReadModelsWithheldError if the table does not have the field yet, or not searchable
 */
export function filterOf(
  filters: readonly Filter[],
  layout: TableLayout,
  texts: TextsLeftOut = 'some',
): RecordFilter | undefined {
  const conditions: RecordFilter[] = [];
  const fields = new Map([...TIMES, ...layout.byName]);
  for (const filter of filters) {
    const condition = conditionOf(selectionOf(filter, fields), layout, texts);
    if (condition === undefined) return undefined;
    conditions.push(condition);
  }
  const [only, ...others] = conditions;
  return others.length === 0 ? (only ?? {}) : { $and: conditions };
}

/** The record's own times. */
const TIMES: ReadonlyMap<string, FieldLayout> = new Map(
  [['created_at', 'c'] as const, ['updated_at', 'u'] as const].map(([name, sort]) => [
    name,
    { name, type: 'DateTime', sort, isIndexed: true, exactWhenFolded: true },
  ]),
);

/** The value as it is stored for sorting. */
const storedValue = ({ name }: FieldLayout, value: FilterValue): string | number | null =>
  TIMES.has(name) ? String(value) : sortValue(value);

/** What the n-grams of these filters' fields have in place of a text that is left out. */
export const leftOutIn = (filters: readonly Filter[], { byName }: TableLayout): readonly string[] =>
  filters
    .flatMap((filter) => (filter.kind === 'any' ? filter.anyOf : [filter]))
    .flatMap(({ kind, field }) => {
      const ngrams = kind === 'contains' ? byName.get(field)?.ngrams : undefined;
      return ngrams === undefined ? [] : [leftOut(ngrams.prefix)];
    });

function conditionOf(
  selection: Selection<FieldLayout>,
  layout: TableLayout,
  texts: TextsLeftOut,
): RecordFilter | undefined {
  switch (selection.kind) {
    case 'nothing':
      return undefined;
    case 'ids':
      return { _id: { $in: [...selection.anyOf] } };
    case 'idRange':
      return { _id: { $gte: selection.from, $lte: selection.to } };
    case 'contains':
      return contains(selection.field, selection.anyOf, texts);
    case 'equals':
      return equals(selection.field, selection.anyOf, layout);
    case 'compares': {
      const { field, is, value } = selection;
      return { [sortKey(field)]: { [`$${is}`]: storedValue(field, value) } };
    }
    case 'null':
      return { [selection.field.sort ?? selection.field.match ?? sortKey(selection.field)]: null };
    case 'not': {
      const selected = conditionOf(selection.selected, layout, texts);
      return selected === undefined ? {} : { $nor: [selected] };
    }
    case 'any': {
      const conditions = selection.anyOf.flatMap((each) => conditionOf(each, layout, texts) ?? []);
      return conditions.length === 0 ? undefined : either(conditions);
    }
  }
}

/** @throws ReadModelsWithheldError */
function sortKey({ name, sort }: FieldLayout): string {
  if (sort === undefined) throw notYet(name);
  return sort;
}

function contains(field: FieldLayout, needles: readonly string[], texts: TextsLeftOut): RecordFilter | undefined {
  if (field.type === 'Boolean' && field.sort !== undefined) {
    const values = [false, true].filter((value) => needles.some((needle) => String(value).includes(needle)));
    return values.length === 0 ? undefined : { [field.sort]: { $in: values.map(Number) } };
  }
  const key = field.match;
  if (key === undefined) throw notYet(field.name);
  if (needles.length > MOST_LOOK_UPS) return anyExpression(key, needles.map(escaped));
  const { ngrams } = field;
  if (ngrams === undefined) return either(needles.map((needle) => verified(key, needle)));
  const isWhole = (needle: string) => texts === 'none' && isNgram(needle, ngrams.lengths);
  const whole = needles.filter(isWhole).map((needle) => ngrams.prefix + needle);
  const others = needles.filter((needle) => !isWhole(needle));
  return either([
    ...(whole.length === 0 ? [] : [{ g: whole.length === 1 ? whole[0] : { $in: whole } }]),
    ...others.map((needle) => containing(ngrams, key, needle, texts)),
  ]);
}

const verified = (key: string, needle: string): RecordFilter => ({ [key]: { $regex: escaped(needle) } });

function containing(
  { lengths, prefix }: NonNullable<FieldLayout['ngrams']>,
  key: string,
  needle: string,
  texts: TextsLeftOut,
): RecordFilter {
  // Each n-gram is a condition of its own, as `$all` would make it; a text without n-grams has the mark instead.
  const found = ngramsToFind(needle, lengths, prefix).map(
    (ngram): RecordFilter => ({ g: texts === 'none' ? ngram : { $in: [ngram, leftOut(prefix)] } }),
  );
  return found.length === 0 ? verified(key, needle) : { $and: [...found, verified(key, needle)] };
}

function equals(field: FieldLayout, values: readonly FilterValue[], layout: TableLayout): RecordFilter {
  if (field.name === layout.unique) return { k: { $in: values.map(uniqueText) } };
  const found: RecordFilter =
    field.sort === undefined ? {} : { [field.sort]: { $in: values.map((value) => storedValue(field, value)) } };
  if (field.sort !== undefined && field.exactWhenFolded) return found;
  return {
    ...found,
    ...anyExpression(
      'd',
      values.map((value) => inDocument(field.name, value)),
    ),
  };
}

/**
 * The field with this value in a record's JSON text. It occurs nowhere else: inside a string each quotation mark is escaped,
 * and the one before the colon is not.
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
 * The order of a list. Null comes first when ascending, as MongoDB sorts it.
 * @throws ReadModelsWithheldError if the table does not have the field yet, or not sortable
 */
export function sortOf(sort: RecordQuery['sort'], layout: TableLayout): Record<string, 1 | -1> {
  return Object.fromEntries(
    sortTermsOf(sort).map(({ field, direction }) => {
      const key = SYSTEM_KEYS.get(field) ?? layout.byName.get(field)?.sort;
      if (key === undefined) throw notYet(field);
      return [key, direction === 'asc' ? 1 : -1];
    }),
  );
}
