/**
 * Pages of a list, by number (spec §2.2) or by cursor, made around records that are JSON text already. Cursors go in the
 * order of creation and stay consistent at any depth while others write. They hold their whole state, so no process stores
 * them, and begin with a hash of the query they belong to, so that they cannot be used with another one.
 */
import { z } from 'zod';
import { tagOf } from '../../commands/preconditions.js';
import type { RecordView } from '../../domain/assetTypes/assetType.js';
import type { Position } from '../../ports/eventStore.js';
import type { ListBehind, RecordsBehind, TableRef } from '../../queries/records.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Call, QueryParameter, Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import type { ListQuery, Paging } from './listQuery.js';

const pageLinks = { first: json.link, last: json.link, prev: json.orNull(json.link), next: json.orNull(json.link) };
const counts = ['current_page', 'from', 'to', 'per_page', 'last_page', 'total'];
const pageMeta = Object.fromEntries(counts.map((name) => [name, json.count]));
export const nextCursor = { ...json.nullableText, description: 'null: there are no more.' };

export const pageSchemas: json.Schemas = {
  PageLinks: json.closedObject(pageLinks),
  PageMeta: json.closedObject(pageMeta),
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

/** The records of a page that a query has made as one text. */
export const recordsIn = (page: string): readonly RecordView[] => JSON.parse(`[${page}]`);

/** @param records JSON texts joined by commas */
export const envelope = (records: string, links: object, meta: object): string =>
  `{"data":[${records}],"links":${JSON.stringify(links)},"meta":${JSON.stringify(meta)}}`;

type PageOf = Paging & {
  /** The list's URL without its query, as the client used it. */
  readonly url: string;
  /** Parameters that links repeat. */
  readonly kept: ListQuery['kept'];
  /** Number of records on all pages. */
  readonly total: number;
};

/** A page of a list, by number. */
export function collectionEnvelope(records: string, list: PageOf): string {
  const { page, perPage, total } = list;
  const lastPage = Math.max(1, Math.ceil(total / perPage));
  const repeated = new URLSearchParams([['perPage', String(perPage)], ...list.kept]);
  const linkTo = (at: number): string => `${list.url}?page=${at}&${repeated}`;
  const links = {
    first: linkTo(1),
    last: linkTo(lastPage),
    prev: page > 1 ? linkTo(Math.min(page - 1, lastPage)) : null,
    next: page < lastPage ? linkTo(page + 1) : null,
  };
  const before = (page - 1) * perPage;
  const [from, to] = before >= total ? [0, 0] : [before + 1, Math.min(before + perPage, total)];
  return envelope(records, links, { current_page: page, from, to, per_page: perPage, last_page: lastPage, total });
}

type ListRequest = Pick<Call, 'req' | 'query'>;

/** The link to the same list behind a cursor; null without one. */
export function nextLink(
  api: Api,
  { req, query }: ListRequest,
  cursor: string | number | undefined,
  parameter = 'cursor',
): string | null {
  if (cursor === undefined) return null;
  const next = new URLSearchParams(query);
  next.set(parameter, String(cursor));
  return `${requestUrl(req, api.config)}?${next}`;
}

/** A page of a list whose pages are linked one to the next. */
export const linkedReply = (
  api: Api,
  asked: ListRequest,
  data: readonly unknown[],
  cursor: string | number | undefined,
): Reply => ({ body: JSON.stringify({ data, links: { next: nextLink(api, asked, cursor) } }) });

/** The answer to a CSV page, with the Link (RFC 8288) to the next one. */
export const csvAnswer = (description: string, next: string): json.ResponseObject => ({
  description,
  headers: { Link: { description: next, schema: json.text } },
  content: { 'text/csv': { schema: json.text } },
});

export const csvReply = (name: string, body: string, next: string | null): Reply => ({
  body,
  headers: {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${name}.csv"`,
    ...(next !== null && { Link: `<${next}>; rel="next"` }),
  },
});

export const CURSOR: QueryParameter = {
  name: 'cursor',
  description:
    'Empty for the first page, then meta.next_cursor of the page before, with the same filters and sort. Goes by created_at: every record that exists all the while comes once, whatever is written meanwhile. With sort=created_at or -created_at only, without page and total.',
  schema: { type: 'string' },
};

/** Of the last record, its number in the order of creation. */
const place = z.tuple([z.int().min(0)]);

/**
 * @param table with a position if the list is of an earlier moment
 * @throws HttpError 400 for a cursor of another list, or a sort order that is not stable
 */
export function parseCursor(
  { tenant, table, position }: TableRef & { readonly position?: Position | undefined },
  { perPage, query: { filters, sort } }: Pick<ListQuery, 'perPage' | 'query'>,
  parameters: URLSearchParams,
): { readonly behind: ListBehind; readonly mark: string } {
  const text = parameters.get('cursor') ?? '';
  if (parameters.has('page')) throw badRequest('cursor and page exclude each other.');
  const [{ field, direction } = { field: 'created_at', direction: 'asc' as const }, ...others] = sort;
  if (field !== 'created_at' || others.length > 0) {
    throw badRequest(
      'With cursor a list can only be sorted by created_at or -created_at: in any other order a record that changes meanwhile could be missing, or come twice.',
    );
  }
  const inOneOrder = filters.map((filter) => JSON.stringify(filter)).sort();
  const at = position === undefined ? [] : [position];
  const mark = queryHash('list', tenant, table, direction, inOneOrder, ...at);
  const [behind] = text === '' ? [] : fromCursor('cursor', text, mark, place);
  return { behind: { filters, direction, behind, limit: perPage }, mark };
}

/** The cursor behind a page, and the link with it; null on the last. */
export function behindPage(
  { next }: RecordsBehind,
  mark: string,
  { url, perPage, kept }: Pick<ListQuery, 'perPage' | 'kept'> & { readonly url: string },
) {
  if (next === undefined) return { cursor: null, link: null };
  const cursor = toCursor(mark, [next]);
  const query = new URLSearchParams([['cursor', cursor], ['perPage', String(perPage)], ...kept]);
  return { cursor, link: `${url}?${query}` };
}

/** A page of a list, by cursor. */
export function cursorReply(found: RecordsBehind, mark: string, list: Parameters<typeof behindPage>[2]): string {
  const { cursor, link } = behindPage(found, mark, list);
  return envelope(found.records, { next: link }, { per_page: list.perPage, next_cursor: cursor });
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
