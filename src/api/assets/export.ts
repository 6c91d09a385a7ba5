/**
 * Lists in the order of creation, page by page from a cursor. Pages stay consistent at any depth while others write.
 */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Filter, ListBehind, RecordsBehind } from '../../ports/readModels.js';
import { badRequest } from '../errors.js';
import type { JsonText } from '../jsonAnswer.js';
import * as json from '../openapi/schema.js';
import type { QueryParameter } from '../routes/operation.js';
import { fromCursor, queryHash, toCursor } from './cursors.js';
import type { ListQuery } from './listQuery.js';

export const CURSOR: QueryParameter = {
  component: 'Cursor',
  name: 'cursor',
  description:
    'Empty for the first page, then meta.next_cursor of the page before, with the same filters and sort. Goes by created_at: every record that is there all the while comes once, whatever is written meanwhile. With sort=created_at or -created_at only, without page and total.',
  schema: { type: 'string' },
};

export const exportSchemas: json.Schemas = {
  CursorLinks: json.closedObject({ next: json.orNull(json.link) }),
  CursorMeta: json.closedObject({
    per_page: json.count,
    next_cursor: { ...json.nullableText, description: 'null: there are no more.' },
  }),
};

/** A table's list: by pages or by cursors. */
export const pageOrExport = (record: json.JsonSchema): json.JsonSchema =>
  json.closedObject({
    data: json.listOf(record),
    links: { anyOf: [json.ref('PageLinks'), json.ref('CursorLinks')] },
    meta: { anyOf: [json.ref('PageMeta'), json.ref('CursorMeta')] },
  });

const creationKey = z.tuple([z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/), z.uuid()]);

export type ExportQuery = {
  readonly query: ListBehind;
  readonly mark: string;
};

/** @throws HttpError 400 for a cursor of another list, or a sort order that is not stable */
export function parseExportQuery(
  table: { readonly tenant: string; readonly assetType: AssetType },
  { perPage, query: { filters, sort } }: Pick<ListQuery, 'perPage' | 'query'>,
  parameters: URLSearchParams,
): ExportQuery {
  const text = parameters.get('cursor') ?? '';
  if (parameters.has('page')) throw badRequest('cursor and page exclude each other.');
  const [{ field, direction } = { field: 'created_at', direction: 'asc' as const }, ...others] = sort;
  if (field !== 'created_at' || others.length > 0) {
    throw badRequest(
      'With cursor the list goes by created_at or -created_at alone: in any other order a record that changes meanwhile could be left out, or come twice.',
    );
  }
  const mark = queryHash('list', table.tenant, table.assetType.name, direction, inOneOrder(filters));
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
): JsonText {
  const cursor = next === undefined ? null : toCursor(mark, [next.createdAt, next.id]);
  const linkTo = (to: string): string =>
    `${url}?${new URLSearchParams([['cursor', to], ['perPage', String(perPage)], ...kept])}`;
  const links = { next: cursor === null ? null : linkTo(cursor) };
  const rest = `],"links":${JSON.stringify(links)},"meta":${JSON.stringify({ per_page: perPage, next_cursor: cursor })}}`;
  return typeof records === 'string' ? `{"data":[${records}${rest}` : ['{"data":[', records, rest];
}
