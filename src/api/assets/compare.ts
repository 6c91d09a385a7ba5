/** What was created, changed and deleted in a table between two moments. */
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_COMPARED, MAX_PAGE_BYTES } from '../../domain/limits.js';
import type { RowReads } from '../../ports/rowStore.js';
import { type Comparison, comparisonOf, DIFFERENCE_KINDS, type DifferenceKind } from '../../queries/past.js';
import type { RecordJson } from '../../queries/rowText.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { momentIn, type Past, pastOf, pastTypeOf, recordsAt } from './moments.js';
import { envelope, fromCursor, queryHash, toCursor } from './pages.js';

const moment = (which: string) =>
  z.string().min(1, 'must not be empty.').describe(`The ${which} moment: a time (ISO 8601), or a position of the log.`);

const compareQuery = z.strictObject({
  from: moment('earlier'),
  to: moment('later'),
  cursor: z.string().default('').describe('meta.next_cursor of the page before, with the positions of its link.'),
});

const place = z.tuple([z.int().min(0)]);

type Entry = {
  readonly id: string;
  readonly kind: DifferenceKind;
  readonly before: RecordJson;
  readonly after: RecordJson;
};

/** Documentation of a comparison, for clients and users. */
export const comparisonPage = {
  work: 'costly',
  summary: 'What differs between two moments',
  description: `Records that were created, changed or deleted, with their values at both moments, in the order of their ids, at most ${MAX_COMPARED} on a page. Records are compared by the values of their fields: one that was changed and changed back is the same.`,
  query: parametersIn(compareQuery).map((parameter) =>
    parameter.name === 'cursor' ? parameter : { ...parameter, required: true as const },
  ),
} as const;

/** @param record of the table */
export const comparisonAnswer = (record: json.JsonSchema): json.ResponseObject =>
  json.answer(
    'A page of differences.',
    json.closedObject({
      data: {
        ...json.listOf(
          json.closedObject({
            id: json.uuid,
            change: json.oneOf(DIFFERENCE_KINDS),
            before: { ...json.orNull(record), description: 'null: it was created since.' },
            after: { ...json.orNull(record), description: 'null: it was deleted since.' },
          }),
        ),
        maxItems: MAX_COMPARED,
      },
      links: json.ref('CursorLinks'),
      meta: json.ref('ComparisonMeta'),
    }),
  );

async function pastAt(api: Api, req: Request, name: string, query: URLSearchParams): Promise<Past> {
  const moment = momentIn(query, name);
  if (moment === undefined) throw badRequest(`${name} is missing: a time, or a position of the log.`);
  return pastOf(api, req, moment, name);
}

/** @throws HttpError 400, 404 */
export async function compareReply(
  api: Api,
  req: Request,
  { name }: AssetType,
  query: URLSearchParams,
): Promise<Reply> {
  const { cursor } = parseQuery(compareQuery, query);
  const from = await pastAt(api, req, 'from', query);
  const to = await pastAt(api, req, 'to', query);
  pastTypeOf(to, name);
  if (from.position > to.position) throw badRequest('from must not be after to.');
  const tenant = to.tenant.name;
  const mark = queryHash('compare', tenant, name, from.position, to.position);
  const [behind] = cursor === '' ? [0] : fromCursor('cursor', cursor, mark, place);
  return api.lists.run({
    context: req.context,
    advice: () => 'Compare two moments with less between them.',
    find: async (cancellation) => {
      const { counts, differences } = await comparison(api.rows, name, [from, to], cancellation);
      const entries = await entriesOf(api, name, [from, to], differences.slice(behind, behind + MAX_COMPARED));
      const end = behind + entries.length;
      const next = end < differences.length ? toCursor(mark, [end]) : null;
      const url = `${requestUrl(req, api.config)}?from=${from.position}&to=${to.position}`;
      const links = { next: next === null ? null : `${url}&cursor=${next}` };
      const meta = { from_position: from.position, to_position: to.position, ...counts, next_cursor: next };
      return { body: envelope(entryTexts(entries), links, meta) };
    },
  });
}

/** Rows of the comparisons that are kept for their next pages. */
const MAX_KEPT = 1_000_000;
const comparisons = new WeakMap<RowReads, LRUCache<string, Comparison>>();

/** Two moments differ by the same for ever. */
async function comparison(
  rows: RowReads,
  table: string,
  [from, to]: readonly [Past, Past],
  cancellation: Cancellation,
): Promise<Comparison> {
  const sizeCalculation = ({ differences }: Comparison) => differences.length + 1;
  const kept = comparisons.get(rows) ?? new LRUCache<string, Comparison>({ maxSize: MAX_KEPT, sizeCalculation });
  comparisons.set(rows, kept);
  const space = { tenant: to.tenant.name, space: table };
  const key = JSON.stringify([space, from.position, to.position]);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const compared = await comparisonOf(rows, space, [from.position, to.position], cancellation);
  kept.set(key, compared);
  return compared;
}

/** As many as fit into a page, at least one. */
async function entriesOf(
  api: Api,
  table: string,
  [from, to]: readonly [Past, Past],
  differences: Comparison['differences'],
): Promise<readonly Entry[]> {
  if (differences.length === 0) return [];
  const ids = differences.map(([id]) => id);
  const named = { tenant: to.tenant.name, table };
  const [old, now] = await Promise.all([from, to].map((past) => recordsAt(api, past).byIds(named, ids)));
  const entries: Entry[] = [];
  let size = 0;
  for (const [at, [id, kind]] of differences.entries()) {
    const [one, other] = [old?.[at], now?.[at]];
    // Beyond what fits into the answer of one moment.
    if (one === undefined || other === undefined) break;
    const entry = { id, kind, before: one ?? 'null', after: other ?? 'null' };
    size += entry.before.length + entry.after.length;
    if (entries.length > 0 && size > MAX_PAGE_BYTES) break;
    entries.push(entry);
  }
  return entries;
}

/** Records are JSON text already. */
const entryTexts = (entries: readonly Entry[]): string =>
  entries
    .map(({ id, kind, before, after }) => `{"id":"${id}","change":"${kind}","before":${before},"after":${after}}`)
    .join();

export const compare: Resource = {
  tag: 'assets',
  schemas: {
    ComparisonMeta: json.closedObject({
      from_position: json.count,
      to_position: json.count,
      created: json.count,
      changed: json.count,
      deleted: json.count,
      next_cursor: { ...json.nullableText, description: 'null: there are no more.' },
    }),
  },
  operations: {
    'GET /:table/compare': {
      id: 'compareMoments',
      ...comparisonPage,
      allow: 'read',
      answer: comparisonAnswer(json.ref('AnyRecord')),
      handle: (api, { req, assetType, query }) => compareReply(api, req, assetType, query),
    },
  },
};
