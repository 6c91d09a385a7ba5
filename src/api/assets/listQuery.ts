/** The query parameters of a list (spec §4.3): page, perPage, filter[…], sort. */
import { ALWAYS_SORTABLE, type AssetType, isFilterable, isSortable } from '../../domain/assetTypes/assetType.js';
import {
  MAX_FILTER_VALUE_LENGTH,
  MAX_FILTER_VALUES,
  MAX_FILTERS,
  MAX_PAGE_BYTES,
  MAX_SORT_TERMS,
  MAX_VALUES_OF_FILTER,
} from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import type { Filter, RecordQuery, SortTerm } from '../../ports/readModels.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { QueryParameter } from '../routes/operation.js';

const PAGE_SIZES = [25, 100, 1000] as const;
const DEFAULT_PAGE_SIZE = 25;

/** Offsets beyond this are no safe integers any more. */
const MAX_PAGE = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

const PAGE: QueryParameter = {
  component: 'Page',
  name: 'page',
  schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 1 },
};

const PER_PAGE: QueryParameter = {
  component: 'PerPage',
  name: 'perPage',
  description: `Records on a page; any other value counts as ${DEFAULT_PAGE_SIZE}.`,
  schema: { type: 'integer', enum: PAGE_SIZES, default: DEFAULT_PAGE_SIZE },
};

const SORT: QueryParameter = {
  name: 'sort',
  ofTable: ({ fields }) => {
    const sortable = [...ALWAYS_SORTABLE, ...fields.filter((field) => field.sortable).map(({ name }) => name)];
    const names = sortable.join('|');
    return [
      {
        name: 'sort',
        in: 'query',
        description: `Fields in order of weight, separated by commas; - before one for descending. Sortable: ${sortable.join(', ')}.`,
        schema: { type: 'string', pattern: `^-?(${names})(,-?(${names}))*$` },
        example: '-updated_at',
      },
    ];
  },
};

const FILTERS: QueryParameter = {
  name: 'filter[<field>]',
  ofTable: ({ fields }) =>
    fields
      .filter((field) => field.filterable)
      .map(({ name, label }) => ({
        name: `filter[${name}]`,
        in: 'query',
        description: `${label} contains this, without regard to case. Several values, of which one must match, are separated by commas.`,
        schema: { type: 'string', minLength: 1 },
      })),
};

export const PAGING_PARAMETERS: readonly QueryParameter[] = [PAGE, PER_PAGE];
export const LIST_PARAMETERS: readonly QueryParameter[] = [...PAGING_PARAMETERS, SORT, FILTERS];

/** What only lists answer. */
export const LIST_ANSWERS: json.Responses = {
  413: json.answer('The page would be too large; smaller ones are to be had.', json.ref('Error'), {
    message: 'The answer would be too large.',
    error: `A page has at most ${MAX_PAGE_BYTES} bytes. Ask for fewer entries with perPage, or for others with filters.`,
  }),
};

export type Paging = { readonly page: number; readonly perPage: number };

export type ListQuery = Paging & {
  readonly query: RecordQuery;
  /** What a link to another page of the same list repeats: filters and sort, as they came. */
  readonly kept: readonly [name: string, value: string][];
};

/** @throws HttpError 400 for a `page` that is no positive integer */
export function parsePaging(parameters: URLSearchParams): Paging {
  const [pageText = '1', second] = parameters.getAll('page');
  const page = /^0*[1-9]\d*$/.test(pageText) ? Number(pageText) : 0;
  if (page < 1 || second !== undefined) throw badRequest('page must be a positive integer.');
  if (page > MAX_PAGE) throw badRequest(`page must be at most ${MAX_PAGE}.`);
  const sizes = parameters.getAll('perPage');
  const perPage = PAGE_SIZES.find((size) => sizes.length === 1 && sizes[0] === String(size)) ?? DEFAULT_PAGE_SIZE;
  return { page, perPage };
}

/** @throws HttpError 400 naming what is wrong: a disallowed field, an empty value, a malformed parameter, too many of them */
export function parseListQuery(assetType: AssetType, parameters: URLSearchParams): ListQuery {
  const { page, perPage } = parsePaging(parameters);
  const query: RecordQuery = {
    filters: parseFilters(assetType, parameters),
    sort: parseSort(assetType, parameters.getAll('sort')),
    offset: (page - 1) * perPage,
    limit: perPage,
  };
  const kept = [...parameters].filter(([name]) => name === 'sort' || name.startsWith('filter['));
  return { page, perPage, query, kept };
}

/** What to change about a list that takes too long. */
export function narrowing({ filters, sort }: RecordQuery): string {
  const values = filters.reduce((count, { anyOf }) => count + anyOf.length, 0);
  const [most] = filters.toSorted((a, b) => b.anyOf.length - a.anyOf.length);
  return [
    ...(most === undefined || values < 2
      ? []
      : [`Filter by fewer values: there are ${values}, the most in filter[${most.field}].`]),
    ...(filters.length === 0 ? ['Filter the list.'] : ['Filter by values of three or more characters.']),
    ...(sort.length > 1 ? [`Sort by ${sort[0]?.field} alone.`] : []),
  ].join(' ');
}

/** `filter[name]`; `filter[name][]` and `filter[name][0]` for several values. */
const FILTER_NAME = /^filter\[([^[\]]+)\](?:\[\d{0,4}\])?$/;

function parseFilters(assetType: AssetType, parameters: URLSearchParams): readonly Filter[] {
  const values = new Map<string, string[]>();
  for (const [name, value] of parameters) {
    if (!/^(filter|sort)(\[|$)/.test(name) || name === 'sort') continue;
    const field = FILTER_NAME.exec(name)?.[1];
    if (field === undefined)
      throw badRequest(`${quoted(name)} is malformed: write filter[<field>]=<value> and sort=<field>,-<field>.`);
    if (!isFilterable(assetType, field)) throw badRequest(`${assetType.name} cannot be filtered by ${quoted(field)}.`);
    const anyOf = values.get(field) ?? [];
    anyOf.push(...filterValues(field, value));
    if (anyOf.length > MAX_VALUES_OF_FILTER) {
      throw badRequest(`filter[${field}] has more than ${MAX_VALUES_OF_FILTER} values.`);
    }
    values.set(field, anyOf);
  }
  // Each value is looked for in each record.
  const count = [...values.values()].reduce((sum, anyOf) => sum + anyOf.length, 0);
  if (count > MAX_FILTER_VALUES) throw badRequest(`The filters have more than ${MAX_FILTER_VALUES} values in all.`);
  if (values.size > MAX_FILTERS) throw badRequest(`There are more than ${MAX_FILTERS} filters.`);
  return [...values].map(([field, anyOf]) => ({ kind: 'contains', field, anyOf }));
}

/** The values between commas; `\,` is a literal comma. An empty value would match everything, so it is refused. */
function filterValues(field: string, text: string): readonly string[] {
  const values = splitAtCommas(text).filter((value) => value !== '');
  if (values.length === 0) throw badRequest(`filter[${field}] has an empty value.`);
  for (const value of values) {
    if (value.length > MAX_FILTER_VALUE_LENGTH) {
      throw badRequest(`filter[${field}] has a value of more than ${MAX_FILTER_VALUE_LENGTH} characters.`);
    }
    if (value.includes('\0')) throw badRequest(`filter[${field}] has a NUL character.`);
  }
  return values;
}

export const splitAtCommas = (text: string): string[] =>
  text.split(/(?<!\\),/).map((piece) => piece.replaceAll('\\,', ','));

function parseSort(assetType: AssetType, texts: readonly string[]): readonly SortTerm[] {
  const [text, second] = texts;
  if (text === undefined) return [];
  if (second !== undefined) throw badRequest('sort is given twice; separate its fields by commas.');
  const given = text.split(',');
  if (given.length > MAX_SORT_TERMS) throw badRequest(`sort has more than ${MAX_SORT_TERMS} fields.`);
  const terms = new Map<string, SortTerm>();
  for (const term of given) {
    const descending = term.startsWith('-');
    const field = descending ? term.slice(1) : term;
    if (!isSortable(assetType, field)) throw badRequest(`${assetType.name} cannot be sorted by ${quoted(field)}.`);
    // A field named again cannot change the order any more.
    if (!terms.has(field)) terms.set(field, { field, direction: descending ? 'desc' : 'asc' });
  }
  return [...terms.values()];
}

const quoted = (name: string): string => JSON.stringify(shownName(name));
