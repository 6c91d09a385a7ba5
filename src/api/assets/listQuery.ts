/** Parses the query of a list (spec §4.3): page, perPage, filter[…], sort; and what lists without pages have in common. */
import { z } from 'zod';
import { ALWAYS_SORTABLE, type AssetField, type AssetType, isSortable } from '../../domain/assetTypes/assetType.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import { MAX_SORT_TERMS, MAX_STRING_LENGTH } from '../../domain/limits.js';
import type { Sort } from '../../ports/rowStore.js';
import type { FieldFilter } from '../../queries/conditions.js';
import type { RecordQuery } from '../../queries/records.js';
import { badRequest } from '../errors.js';
import type { QueryParameter } from '../routes/operation.js';
import { anyFilter, checkedLength, filterParameters, parseFilters, quoted } from './filters.js';

const PAGE_SIZES = [25, 100, 1000] as const;
const DEFAULT_PAGE_SIZE = 25;

/** Greater offsets would not be safe integers. */
const MAX_PAGE = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

const PAGE: QueryParameter = {
  name: 'page',
  schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 },
};

const PER_PAGE: QueryParameter = {
  name: 'perPage',
  description: `Records on a page; any other value counts as ${DEFAULT_PAGE_SIZE}.`,
  schema: { type: 'integer', enum: PAGE_SIZES, default: DEFAULT_PAGE_SIZE },
};

const SORT: QueryParameter = {
  name: 'sort',
  description:
    'Fields, the most important first, separated by commas; - before one for descending, as in -updated_at. The info of the table says which can be sorted.',
  schema: { type: 'string', pattern: '^-?[a-z_][a-z0-9_]*(,-?[a-z_][a-z0-9_]*)*$' },
};

const sortableOf = ({ fields }: AssetType): readonly string[] => [
  ...ALWAYS_SORTABLE,
  ...fields.filter((field) => field.sortable).map(({ name }) => name),
];

const FILTERS: QueryParameter = {
  name: 'filter[<field>]',
  ofTables: filterParameters,
};

export const PAGING_PARAMETERS: readonly QueryParameter[] = [PAGE, PER_PAGE];
export const LIST_PARAMETERS: readonly QueryParameter[] = [...PAGING_PARAMETERS, SORT, FILTERS];

/** For operations whose path has the table as a parameter: the document cannot list its fields. */
export const ANY_LIST_PARAMETERS: readonly QueryParameter[] = [
  ...PAGING_PARAMETERS,
  { name: 'sort', description: 'As for API clients, by the fields of the table.', schema: { type: 'string' } },
  { ...FILTERS, ofTables: () => [anyFilter] },
];

export const SEARCH: QueryParameter = {
  name: 'search',
  description:
    'Records that have this text in one of the searched fields, without regard to case. Together with filters, both must hold.',
  schema: { type: 'string', minLength: 1, maxLength: MAX_STRING_LENGTH },
};

/** The text to search for; undefined without one. @throws HttpError 400 for an empty text, which would match everything */
export function searchIn(parameters: URLSearchParams): string | undefined {
  const text = parameters.get('search')?.trim();
  if (text === '') throw badRequest('search has an empty value.');
  return text === undefined ? undefined : checkedLength('search', text);
}

/** The alternatives of a search for a text in these fields. */
export const textIn = (fields: readonly string[], text: string): readonly FieldFilter[] =>
  fields.map((field) => ({ kind: 'contains', field, anyOf: [text] }));

export type Paging = { readonly page: number; readonly perPage: number };

export type ListQuery = Paging & {
  readonly query: RecordQuery;
  /** Filters and sort as they came, for links to other pages. */
  readonly kept: [name: string, value: string][];
};

/** @throws HttpError 400 for a `page` that is not a positive integer */
export function parsePaging(parameters: URLSearchParams): Paging {
  const pageText = parameters.get('page') ?? '1';
  const page = /^0*[1-9]\d*$/.test(pageText) ? Number(pageText) : 0;
  if (page < 1) throw badRequest('page must be a positive integer.');
  if (page > MAX_PAGE) throw badRequest(`page must be at most ${MAX_PAGE}.`);
  const size = parameters.get('perPage');
  const perPage = PAGE_SIZES.find((each) => size === String(each)) ?? DEFAULT_PAGE_SIZE;
  return { page, perPage };
}

/** @throws HttpError 400 for a disallowed field, an empty value, a malformed parameter, or too many */
export function parseListQuery(assetType: AssetType, parameters: URLSearchParams): ListQuery {
  const { page, perPage } = parsePaging(parameters);
  const query: RecordQuery = {
    filters: parseFilters(assetType, parameters),
    sort: parseSort(assetType, parameters.get('sort')),
    offset: (page - 1) * perPage,
    limit: perPage,
  };
  const kept = [...parameters].filter(([name]) => name === 'sort' || name.startsWith('filter['));
  return { page, perPage, query, kept };
}

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
  return { ...list, query: { ...list.query, filters }, kept: [['search', text], ...list.kept] };
}

/** Entries on a page of a list without page numbers. @throws HttpError 400 when it is parsed */
export const limitOf = (most: number, byDefault = DEFAULT_PAGE_SIZE) =>
  z
    .preprocess((text) => (/^\d{1,6}$/.test(String(text)) ? Number(text) : text), z.int().min(1).max(most))
    .catch(() => {
      throw badRequest(`limit must be 1 to ${most}.`);
    })
    .default(byDefault)
    .meta({ type: 'integer', minimum: 1, maximum: most, default: byDefault, description: 'Entries on a page.' });

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
export const exactText = (description: string) =>
  z
    .string()
    .min(1, 'must not be empty.')
    .max(MAX_STRING_LENGTH, `must have at most ${MAX_STRING_LENGTH} characters.`)
    .optional()
    .describe(description);

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A time, or a day to which this time of day is added. UTC if no zone is given. */
const timeOf = (timeOfDay: string, description: string) =>
  z
    .preprocess((text) => (typeof text === 'string' && DAY.test(text) ? `${text}${timeOfDay}` : text), dateTime)
    .optional()
    .meta({ format: 'date-time', description });

/** The parameters `from` and `to`, both inclusive. */
export const period = {
  from: timeOf('T00:00:00Z', 'At this time or later; a date is its beginning.'),
  to: timeOf('T23:59:59.999999Z', 'At this time or before; a date is its end.'),
};

function parseSort(assetType: AssetType, text: string | null): readonly Sort[] {
  if (text === null) return [];
  const given = text.split(',');
  if (given.length > MAX_SORT_TERMS) throw badRequest(`sort has more than ${MAX_SORT_TERMS} fields.`);
  const terms = new Map<string, Sort>();
  for (const term of given) {
    const descending = term.startsWith('-');
    const field = descending ? term.slice(1) : term;
    if (!isSortable(assetType, field)) {
      const sortable = sortableOf(assetType).join(', ');
      throw badRequest(`${assetType.name} cannot be sorted by ${quoted(field)}; it can be by ${sortable}.`);
    }
    // A repeated field cannot change the order.
    if (!terms.has(field)) terms.set(field, { field, direction: descending ? 'desc' : 'asc' });
  }
  return [...terms.values()];
}
