/**
 * Parses the query of a list (spec §4.3) and documents it: page, perPage, cursor, sort, `filter[<field>]=` for a part of a text
 * and `filter[<field>][<operator>]=` for a typed value; and what lists without page numbers have in common.
 */
import { z } from 'zod';
import { dateTime, shortText } from '../../commands/body.js';
import {
  ALWAYS_SORTABLE,
  type AssetField,
  type AssetType,
  findField,
  isSortable,
} from '../../domain/assetTypes/assetType.js';
import { DECIMAL_TEXT, fieldRules, isExactDouble, Refusal } from '../../domain/assetTypes/fieldTypes.js';
import { MAX_FILTER_VALUES, MAX_SORT_TERMS, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import type { Sort } from '../../ports/rowStore.js';
import { COMPARISONS, type FieldFilter, type Filter } from '../../queries/asking.js';
import type { ListBehind, RecordQuery } from '../../queries/records.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { QueryParameter } from '../routes/operation.js';

const PAGE_SIZES = [25, 100, 1000] as const;
const DEFAULT_PAGE_SIZE = 25;
/** Greater offsets would not be safe integers. */
const MAX_PAGE = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

export const PAGING_PARAMETERS: readonly QueryParameter[] = [
  { name: 'page', schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 } },
  {
    name: 'perPage',
    description: `Records on a page; any other value counts as ${DEFAULT_PAGE_SIZE}.`,
    schema: { type: 'integer', enum: PAGE_SIZES, default: DEFAULT_PAGE_SIZE },
  },
];

const SORT: QueryParameter = {
  name: 'sort',
  description:
    'Fields, the most important first, separated by commas; - before one for descending, as in -updated_at. The info of the table says which can be sorted.',
  schema: { type: 'string', pattern: '^-?[a-z_][a-z0-9_]*(,-?[a-z_][a-z0-9_]*)*$' },
};

export const LIST_PARAMETERS: readonly QueryParameter[] = [
  ...PAGING_PARAMETERS,
  SORT,
  { name: 'filter[<field>]', ofTables: filterParameters },
];

export const SEARCH: QueryParameter = {
  name: 'search',
  description:
    'Records that have this text in one of the searched fields, without regard to case. Together with filters, both must hold.',
  schema: { type: 'string', minLength: 1, maxLength: MAX_STRING_LENGTH },
};

export const CURSOR: QueryParameter = {
  name: 'cursor',
  description:
    'Empty for the first page; for the next one, meta.next_cursor of the page before and the same filters. The sort is created_at or -created_at. Records present for the whole export appear exactly once.',
  schema: { type: 'string' },
};

export const FILTERS_TEXT =
  'filter[<field>] finds the records whose field contains the value, without regard to case; of several values, separated by commas, one must match. filter[<field>][<operator>] compares with a value of its type: eq, ne, in, gt, gte, lt, lte, null (true or false). All filters must hold. The info of a table says which fields it has.';

/**
 * Parameters for each field of the tables and the most usual operators. Not one object for all: generators of clients send
 * objects in three ways, two of them wrong.
 */
function filterParameters(tables: readonly AssetType[]): readonly json.Parameter[] {
  const fields = new Map(
    tables.flatMap((table) => table.fields.filter((each) => each.filterable)).map((each) => [each.name, each]),
  );
  const parameter = (name: string, schema: json.JsonSchema): json.Parameter => {
    return { name: `filter${name}`, in: 'query', schema };
  };
  const filled: json.JsonSchema = { type: 'string', minLength: 1 };
  const times = ALWAYS_SORTABLE.flatMap((name) =>
    COMPARISONS.map((is) => parameter(`[${name}][${is}]`, json.ref('DateTimeFilter'))),
  );
  const named = [...fields.values()].flatMap(({ name, type, list }) => [
    parameter(`[${name}]`, filled),
    // A text may equal the empty one.
    ...(list === true ? [] : [parameter(`[${name}][eq]`, json.text)]),
    ...(fieldRules(type).isRanged ? ['gte', 'lte'].map((is) => parameter(`[${name}][${is}]`, filled)) : []),
  ]);
  return [...times, ...named];
}

export type Paging = { readonly page: number; readonly perPage: number };

type ListQuery = Paging & { readonly query: RecordQuery };

/** @throws HttpError 400 for a `page` that is not a positive integer */
export function parsePaging(parameters: URLSearchParams): Paging {
  const text = parameters.get('page') ?? '1';
  const page = /^\d+$/.test(text) ? Number(text) : 0;
  if (page < 1 || page > MAX_PAGE) throw badRequest(`page must be a positive integer, at most ${MAX_PAGE}.`);
  const size = parameters.get('perPage');
  const perPage = PAGE_SIZES.find((each) => size === String(each)) ?? DEFAULT_PAGE_SIZE;
  return { page, perPage };
}

/** @throws HttpError 400 for a disallowed field, an empty value, a malformed parameter, or too many */
export function parseListQuery(assetType: AssetType, parameters: URLSearchParams): ListQuery {
  const { page, perPage } = parsePaging(parameters);
  const filters = parseFilters(assetType, parameters);
  const sort = parseSort(assetType, parameters.get('sort'));
  return { page, perPage, query: { filters, sort, offset: (page - 1) * perPage, limit: perPage } };
}

/** The text to search for; undefined without one. @throws HttpError 400 for an empty text, which would match everything */
export function searchIn(parameters: URLSearchParams): string | undefined {
  const text = parameters.get('search')?.trim();
  if (text === '') throw badRequest('search has an empty value.');
  return text === undefined ? undefined : checkedLength('search', text);
}

/** The alternatives of a search for a text in these fields. */
export const textIn = (fields: readonly string[], text: string): readonly FieldFilter[] =>
  fields.map((field) => ({ kind: 'contains', field, anyOf: [text] }));

/** Fields whose values people type. */
const isSearched = ({ type, filterable, format, list, oneOf }: AssetField): boolean =>
  type === 'String' && filterable && format === undefined && list !== true && oneOf === undefined;

/** A query with `search`, in all fields of short text that can be filtered. @throws HttpError 400 as above */
export function parseTableQuery(assetType: AssetType, parameters: URLSearchParams): ListQuery {
  const list = parseListQuery(assetType, parameters);
  const text = searchIn(parameters);
  if (text === undefined) return list;
  const fields = assetType.fields.filter(isSearched).map(({ name }) => name);
  if (fields.length === 0) throw badRequest(`${assetType.name} has no field that can be searched.`);
  const filters = [...list.query.filters, { kind: 'any' as const, anyOf: textIn(fields, text) }];
  return { ...list, query: { ...list.query, filters } };
}

/** The page behind a cursor, which is the number of a record in the order of creation. @throws HttpError 400 */
export function behindCursor(
  { perPage, query: { filters, sort } }: ListQuery,
  parameters: URLSearchParams,
): ListBehind {
  const text = parameters.get('cursor') ?? '';
  if (parameters.has('page')) throw badRequest('cursor and page exclude each other.');
  if (!/^\d{0,15}$/.test(text)) throw badRequest('cursor must be meta.next_cursor of the page before.');
  const [{ field, direction } = { field: 'created_at', direction: 'asc' as const }, ...others] = sort;
  if (field !== 'created_at' || others.length > 0)
    throw badRequest('With cursor a list can only be sorted by created_at or -created_at.');
  return { filters, direction, behind: text === '' ? undefined : Number(text), limit: perPage };
}

function parseSort(assetType: AssetType, text: string | null): readonly Sort[] {
  if (text === null) return [];
  const given = text.split(',');
  if (given.length > MAX_SORT_TERMS) throw badRequest(`sort has more than ${MAX_SORT_TERMS} fields.`);
  const terms = new Map<string, Sort>();
  for (const term of given) {
    const descending = term.startsWith('-');
    const field = descending ? term.slice(1) : term;
    if (!isSortable(assetType, field)) throw disallowed(assetType, 'sort', field);
    // A repeated field cannot change the order.
    if (!terms.has(field)) terms.set(field, { field, direction: descending ? 'desc' : 'asc' });
  }
  return [...terms.values()];
}

/** The refusal of a field, which names those that there are. */
function disallowed({ name, fields }: AssetType, by: 'sort' | 'filter', field: string) {
  const names = fields.filter((each) => (by === 'sort' ? each.sortable : each.filterable)).map((each) => each.name);
  const known = by === 'sort' ? [...ALWAYS_SORTABLE, ...names] : [...names, 'filter[created_at][gte]'];
  const done = by === 'sort' ? 'sorted' : 'filtered';
  return badRequest(`${name} cannot be ${done} by ${quoted(field)}; it can be by ${known.join(', ')}.`);
}

const quoted = (name: string): string => JSON.stringify(shownName(name));

const OPERATORS = ['eq', 'ne', ...COMPARISONS, 'in', 'null'] as const;

/** `filter[name]`; `filter[name][]` for several values; `filter[name][gte]`. */
const FILTER_NAME = /^filter\[([^[\]]+)\](?:\[(\d{0,4}|[a-z]+)\])?$/;

/** @throws HttpError 400 for a disallowed field, an unknown operator, a value of another type, or too many filters */
function parseFilters(assetType: AssetType, parameters: URLSearchParams): readonly Filter[] {
  const parts = new Map<string, string[]>();
  const typed: Filter[] = [];
  for (const [name, value] of parameters) {
    if (!name.startsWith('filter')) continue;
    const [, field, operator = ''] = FILTER_NAME.exec(name) ?? [];
    if (field === undefined) throw badRequest(`${quoted(name)} is malformed: write filter[<field>]=<value>.`);
    if (/[a-z]/.test(operator)) {
      typed.push(typedFilter(TIMES.find((time) => time.name === field) ?? filterable(field), operator, value));
    } else parts.set(filterable(field).name, [...(parts.get(field) ?? []), ...separated(`filter[${field}]`, value)]);
  }
  const filters = [...[...parts].map(([field, anyOf]): Filter => ({ kind: 'contains', field, anyOf })), ...typed];
  // Each value is compared with each record, so their sum has a limit.
  const count = filters.reduce((sum, filter) => sum + ('anyOf' in filter ? filter.anyOf.length : 1), 0);
  if (count > MAX_FILTER_VALUES) throw badRequest(`The filters have more than ${MAX_FILTER_VALUES} values in all.`);
  return filters;

  function filterable(name: string): AssetField {
    const field = findField(assetType, name);
    if (field?.filterable !== true) throw disallowed(assetType, 'filter', name);
    return field;
  }
}

type ComparedField = Pick<AssetField, 'name' | 'type' | 'format' | 'list'>;

/** Timestamps that every record has. They are compared, but have no text of which a part could be sought. */
const TIMES: readonly ComparedField[] = ALWAYS_SORTABLE.map((name) => ({ name, type: 'DateTime' }));

/** The operators of a field: booleans have no order, and a list has no single value. */
function operatorsOf({ type, list }: ComparedField): readonly (typeof OPERATORS)[number][] {
  if (list === true) return ['null'];
  return type === 'Boolean' ? ['eq', 'ne', 'in', 'null'] : OPERATORS;
}

function typedFilter(compared: ComparedField, asked: string, text: string): Filter {
  const { name: field } = compared;
  const name = `filter[${field}][${shownName(asked)}]`;
  const taken = operatorsOf(compared);
  const operator = taken.find((each) => each === asked);
  if (operator === undefined) throw badRequest(`${name} has an unknown operator; known ones are ${taken.join(', ')}.`);
  if (operator === 'null') {
    if (text !== 'true' && text !== 'false') throw badRequest(`${name} must be true or false.`);
    return { kind: 'null', field, isNull: text === 'true' };
  }
  if (operator === 'in')
    return { kind: 'equals', field, anyOf: separated(name, text).map((each) => typedValue(name, compared, each)) };
  const value = typedValue(name, compared, checkedLength(name, text));
  if (operator === 'eq') return { kind: 'equals', field, anyOf: [value] };
  if (operator === 'ne') return { kind: 'differs', field, anyOf: [value] };
  return { kind: 'compares', field, is: operator, value: typeof value === 'boolean' ? Number(value) : value };
}

/** Converts to the field's type. @throws HttpError 400 */
function typedValue(name: string, { type, format }: ComparedField, text: string): string | number | boolean {
  const value = fieldRules(type).read(bodyValue(type, text), fieldRules(type).maxLength ?? 0);
  if (value instanceof Refusal) throw badRequest(`${name} ${value.message}`);
  if (typeof value === 'object') throw badRequest(`${name} has no value of its type.`);
  return format === 'uuid' && typeof value === 'string' ? value.toLowerCase() : value;
}

/** Converts a text of the URL to the value that a JSON body would have. */
function bodyValue(type: AssetField['type'], text: string): string | number | boolean {
  if (type === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true';
  // What a double does not hold is refused as the text that it is.
  return type === 'Integer' && DECIMAL_TEXT.test(text) && isExactDouble(text) ? Number(text) : text;
}

/** Splits at commas; `\,` is a literal comma. An empty value would match everything, so it is refused. */
function separated(name: string, text: string): readonly string[] {
  const values = text
    .split(/(?<!\\),/)
    .map((piece) => piece.replaceAll('\\,', ','))
    .filter((value) => value !== '');
  if (values.length === 0) throw badRequest(`${name} has an empty value.`);
  return values.map((value) => checkedLength(name, value));
}

/** @throws HttpError 400 */
function checkedLength(name: string, value: string): string {
  // Counts characters as fields do: a surrogate pair is one.
  if (value.length > MAX_STRING_LENGTH && [...value].length > MAX_STRING_LENGTH) {
    throw badRequest(`${name} has a value of more than ${MAX_STRING_LENGTH} characters.`);
  }
  return value;
}

/** Entries on a page of a list without page numbers. */
export function limitOf(most: number, byDefault = DEFAULT_PAGE_SIZE) {
  const wrong = `must be 1 to ${most}.`;
  const limit = z.coerce.number(wrong).int(wrong).min(1, wrong).max(most, wrong).default(byDefault);
  return limit.meta({
    type: 'integer',
    minimum: 1,
    maximum: most,
    default: byDefault,
    description: 'Entries on a page.',
  });
}

/** A cursor of such a list. */
export const cursorLike = (form: RegExp) =>
  z
    .string()
    .regex(form, 'must be that of a link to the next page.')
    .optional()
    .describe('That of a link to the next page.');

/** A number of the last entry, before which the next page begins. */
export const revisionCursor = cursorLike(/^\d{1,15}$/);

/** An exact value, such as an id or a name. */
export const exactText = (description: string) => shortText.optional().describe(description);

/** A time, or a day to which this time of day is added. UTC if no zone is given. */
const timeOf = (timeOfDay: string, description: string) =>
  z
    .preprocess((text) => (/^\d{4}-\d\d-\d\d$/.test(String(text)) ? `${text}${timeOfDay}` : text), dateTime)
    .optional()
    .meta({ format: 'date-time', description });

/** The parameters `from` and `to`, both inclusive. */
export const period = {
  from: timeOf('T00:00:00Z', 'At this time or later; a date is its beginning.'),
  to: timeOf('T23:59:59.999999Z', 'At this time or before; a date is its end.'),
};
