/**
 * Pages of a list, by number (spec §2.2) or by cursor, made around records that are JSON text already. Cursors go in the
 * order of creation and stay consistent at any depth while others write.
 */

import { dateTime } from '../../commands/body.js';
import type { RecordView } from '../../domain/assetTypes/assetType.js';
import type { RecordsBehind } from '../../queries/records.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import type { Paging } from './listQuery.js';

const pageLinks = { first: json.link, last: json.link, prev: json.orNull(json.link), next: json.orNull(json.link) };
const counts = ['current_page', 'from', 'to', 'per_page', 'last_page', 'total'];
const pageMeta = Object.fromEntries(counts.map((name) => [name, json.count]));
export const nextCursor = { ...json.nullableText, description: 'null: there are no more.' };

export const pageSchemas: json.Schemas = {
  DateTimeFilter: json.inputSchema(dateTime),
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

type ListRequest = Pick<Call, 'req' | 'query'>;

/** The URL of the request with these parameters in place of its own of the same names. */
function urlWith({ config }: Api, { req, query }: ListRequest, changed: { readonly [name: string]: unknown }): string {
  const others = [...query].filter(([name]) => !(name in changed));
  const set = Object.entries(changed).map(([name, value]): [string, string] => [name, String(value)]);
  return `${requestUrl(req, config)}?${new URLSearchParams([...set, ...others])}`;
}

/** A page of a list, by number. @param total number of records on all pages */
export function collectionEnvelope(
  api: Api,
  asked: ListRequest,
  records: string,
  { page, perPage, total }: Paging & { readonly total: number },
): string {
  const lastPage = Math.max(1, Math.ceil(total / perPage));
  const linkTo = (at: number): string => urlWith(api, asked, { page: at, perPage });
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

/** The link to the same list behind a cursor; null without one. */
export const nextLink = (api: Api, asked: ListRequest, cursor: string | number | undefined): string | null =>
  cursor === undefined ? null : urlWith(api, asked, { cursor });

/** A page of a list whose pages are linked one to the next. */
export const linkedReply = (
  api: Api,
  asked: ListRequest,
  data: readonly unknown[],
  cursor: string | number | undefined,
): Reply => ({ body: JSON.stringify({ data, links: { next: nextLink(api, asked, cursor) } }) });

/** A page of a list, by cursor. */
export const cursorEnvelope = (
  api: Api,
  asked: ListRequest,
  { records, next }: RecordsBehind,
  { perPage }: Paging,
): string =>
  envelope(
    records,
    { next: nextLink(api, asked, next) },
    { per_page: perPage, next_cursor: next === undefined ? null : String(next) },
  );
