/**
 * Pages of a list, by number (spec §2.2) or by cursor, made around records that are JSON text already. Cursors go in the
 * order of creation and stay consistent at any depth while others write. They hold their whole state, so no process stores
 * them, and begin with a hash of the query they belong to, so that they cannot be used with another one.
 */
import { z } from 'zod';
import { tagOf } from '../../commands/preconditions.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Position } from '../../ports/eventStore.js';
import type { Filter } from '../../queries/conditions.js';
import type { ListBehind, RecordsBehind } from '../../queries/records.js';
import { badRequest } from '../errors.js';
import type { AnswerBody } from '../jsonAnswer.js';
import * as json from '../openapi/schema.js';
import type { PageText } from '../pageRecords.js';
import type { QueryParameter } from '../routes/operation.js';
import type { ListQuery, Paging } from './listQuery.js';

const pageLinks = { first: json.link, last: json.link, prev: json.orNull(json.link), next: json.orNull(json.link) };
const pageMeta = {
  current_page: json.count,
  from: json.count,
  to: json.count,
  per_page: json.count,
  last_page: json.count,
  total: json.count,
};
const nextCursor = { ...json.nullableText, description: 'null: there are no more.' };

export const pageSchemas: json.Schemas = {
  PageLinks: json.closedObject(pageLinks),
  PageMeta: json.closedObject(pageMeta),
};

type PageOf = Paging & {
  /** The list's URL without its query, as the client used it. */
  readonly url: string;
  /** Parameters that links repeat. */
  readonly kept: ListQuery['kept'];
  /** Number of records on all pages. */
  readonly total: number;
  /** Where the page is, if pages may have fewer than `perPage` records. */
  readonly place?: { readonly before: number; readonly count: number; readonly pages: number };
};

export function envelope(records: PageText, links: object, meta: object): AnswerBody {
  const rest = `],"links":${JSON.stringify(links)},"meta":${JSON.stringify(meta)}}`;
  if (typeof records === 'string') return `{"data":[${records}${rest}`;
  return Buffer.concat([Buffer.from('{"data":['), records, Buffer.from(rest)]);
}

/** A page of a list. */
export function collectionEnvelope(records: PageText, list: PageOf): AnswerBody {
  const { page, perPage, total, place = placeOf(list) } = list;
  const lastPage = Math.max(1, place.pages);
  const repeated = new URLSearchParams([['perPage', String(perPage)], ...list.kept]);
  const linkTo = (at: number): string => `${list.url}?page=${at}&${repeated}`;
  const links = {
    first: linkTo(1),
    last: linkTo(lastPage),
    prev: page > 1 ? linkTo(Math.min(page - 1, lastPage)) : null,
    next: page < lastPage ? linkTo(page + 1) : null,
  };
  const { before, count } = place;
  const meta = {
    current_page: page,
    from: count === 0 ? 0 : before + 1,
    to: count === 0 ? 0 : before + count,
    per_page: perPage,
    last_page: lastPage,
    total,
  };
  return envelope(records, links, meta);
}

function placeOf({ page, perPage, total }: PageOf): NonNullable<PageOf['place']> {
  const before = (page - 1) * perPage;
  return { before, count: Math.max(0, Math.min(perPage, total - before)), pages: Math.ceil(total / perPage) };
}

export const CURSOR: QueryParameter = {
  component: 'Cursor',
  name: 'cursor',
  description:
    'Empty for the first page, then meta.next_cursor of the page before, with the same filters and sort. Goes by created_at: every record that exists all the while comes once, whatever is written meanwhile. With sort=created_at or -created_at only, without page and total.',
  schema: { type: 'string' },
};

export const exportSchemas: json.Schemas = {
  CursorLinks: json.closedObject({ next: json.orNull(json.link) }),
  // One type each, as a program in a typed language reads meta.total of it.
  ListLinks: { ...json.closedObject(pageLinks), required: ['next'], description: 'With cursor there is next alone.' },
  ListMeta: {
    ...json.closedObject({ ...pageMeta, next_cursor: nextCursor }),
    required: ['per_page'],
    description: 'With cursor: per_page and next_cursor. Without: all others.',
  },
};

/** A table's list: by pages or by cursors. */
export const pageOrExport = (record: json.JsonSchema): json.JsonSchema =>
  json.closedObject({ data: json.listOf(record), links: json.ref('ListLinks'), meta: json.ref('ListMeta') });

const creationKey = z.tuple([z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/), z.uuid()]);

type ExportQuery = {
  readonly query: ListBehind;
  readonly mark: string;
};

/**
 * @param table with a position if the list is of an earlier moment
 * @throws HttpError 400 for a cursor of another list, or a sort order that is not stable
 */
export function parseExportQuery(
  table: { readonly tenant: string; readonly assetType: AssetType; readonly position?: Position | undefined },
  { perPage, query: { filters, sort } }: Pick<ListQuery, 'perPage' | 'query'>,
  parameters: URLSearchParams,
): ExportQuery {
  const text = parameters.get('cursor') ?? '';
  if (parameters.has('page')) throw badRequest('cursor and page exclude each other.');
  const [{ field, direction } = { field: 'created_at', direction: 'asc' as const }, ...others] = sort;
  if (field !== 'created_at' || others.length > 0) {
    throw badRequest(
      'With cursor a list can only be sorted by created_at or -created_at: in any other order a record that changes meanwhile could be missing, or come twice.',
    );
  }
  const mark = queryHash(
    'list',
    table.tenant,
    table.assetType.name,
    direction,
    inOneOrder(filters),
    ...(table.position === undefined ? [] : [table.position]),
  );
  const key = text === '' ? undefined : fromCursor('cursor', text, mark, creationKey);
  const behind = key === undefined ? undefined : { createdAt: key[0], id: key[1] };
  return { query: { filters, direction, behind, limit: perPage }, mark };
}

const inOneOrder = (filters: readonly Filter[]): readonly string[] =>
  filters.map((filter) => JSON.stringify(filter)).sort();

export function exportEnvelope(
  { records, next }: RecordsBehind,
  mark: string,
  { url, perPage, kept }: Pick<ListQuery, 'perPage' | 'kept'> & { readonly url: string },
): AnswerBody {
  const cursor = next === undefined ? null : toCursor(mark, [next.createdAt, next.id]);
  const linkTo = (to: string): string =>
    `${url}?${new URLSearchParams([['cursor', to], ['perPage', String(perPage)], ...kept])}`;
  const links = { next: cursor === null ? null : linkTo(cursor) };
  return envelope(records, links, { per_page: perPage, next_cursor: cursor });
}

/** Characters of the longest cursor that we issue. */
const LONGEST = 500;

/** @param of everything that identifies the query: tenant, table, filters */
export const queryHash = (...of: readonly unknown[]): string => tagOf(JSON.stringify(of));

export const toCursor = (mark: string, at: readonly unknown[]): string =>
  Buffer.from(JSON.stringify([mark, ...at])).toString('base64url');

/** @throws HttpError 400 for a text that is not a cursor, or the cursor of another query */
export function fromCursor<At extends readonly unknown[]>(
  name: string,
  text: string,
  mark: string,
  schema: z.ZodType<At>,
): At {
  const unknown = badRequest(`${name} was not made by this service.`);
  if (text.length > LONGEST || !/^[\w-]+$/.test(text)) throw unknown;
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw unknown;
  }
  if (!Array.isArray(values)) throw unknown;
  const [given, ...at] = values;
  if (given !== mark) {
    throw badRequest(`${name} is of another list: send it with the same table, filters and sort.`);
  }
  const parsed = schema.safeParse(at);
  if (!parsed.success) throw unknown;
  return parsed.data;
}
