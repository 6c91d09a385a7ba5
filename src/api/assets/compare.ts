/** What was created, changed and deleted in a table between two moments. */
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { MAX_PAGE_BYTES, MAX_RECORDS } from '../../domain/limits.js';
import type { RowReads } from '../../ports/rowStore.js';
import { cancellable, fitting } from '../../queries/asking.js';
import { type Comparison, comparisonOf, DIFFERENCE_KINDS } from '../../queries/past.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { momentIn, type Past, pastOf, pastTypeOf, recordsAt } from './moments.js';
import { envelope, fromCursor, nextCursor, queryHash, toCursor } from './pages.js';

const moment = (which: string) =>
  z.string().min(1, 'must not be empty.').describe(`The ${which} moment: a time (ISO 8601), or a position of the log.`);

const compareQuery = z.strictObject({
  from: moment('earlier'),
  to: moment('later'),
  cursor: z.string().default('').describe('meta.next_cursor of the page before, with the positions of its link.'),
});

const place = z.tuple([z.int().min(0)]);

const recordOrNull = json.orNull(json.ref('AnyRecord'));
const difference = json.closedObject({
  id: json.uuid,
  change: json.oneOf(DIFFERENCE_KINDS),
  before: { ...recordOrNull, description: 'null: it was created since.' },
  after: { ...recordOrNull, description: 'null: it was deleted since.' },
});
const comparisonPage = json.closedObject({
  data: { ...json.listOf(difference), maxItems: MAX_RECORDS },
  links: json.ref('CursorLinks'),
  meta: json.ref('ComparisonMeta'),
});

async function pastAt(api: Api, req: Request, name: string, query: URLSearchParams): Promise<Past> {
  const moment = momentIn(query, name);
  if (moment === undefined) throw badRequest(`${name} is missing: a time, or a position of the log.`);
  return pastOf(api, req, moment, name);
}

/** @throws HttpError 400, 404 */
async function compareReply(
  api: Api,
  { req, assetType: { name }, query }: Call,
  cancellation: Cancellation,
): Promise<Reply> {
  const { cursor } = parseQuery(compareQuery, query);
  const from = await pastAt(api, req, 'from', query);
  const to = await pastAt(api, req, 'to', query);
  pastTypeOf(to, name);
  if (from.position > to.position) throw badRequest('from must not be after to.');
  const tenant = to.tenant.name;
  const mark = queryHash('compare', tenant, name, from.position, to.position);
  const [behind] = cursor === '' ? [0] : fromCursor('cursor', cursor, mark, place);
  const { counts, differences } = await comparison(api.rows, name, [from, to], cancellation);
  const entries = await entriesOf(api, name, [from, to], differences.slice(behind, behind + MAX_RECORDS));
  const end = behind + entries.length;
  const next = end < differences.length ? toCursor(mark, [end]) : null;
  const url = `${requestUrl(req, api.config)}?from=${from.position}&to=${to.position}`;
  const links = { next: next === null ? null : `${url}&cursor=${next}` };
  const meta = { from_position: from.position, to_position: to.position, ...counts, next_cursor: next };
  return { body: envelope(entries.join(), links, meta) };
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
  const compared = await comparisonOf(cancellable(rows, cancellation), space, [from.position, to.position]);
  kept.set(key, compared);
  return compared;
}

/** JSON texts of as many as fit into a page, at least one. */
async function entriesOf(
  api: Api,
  table: string,
  [from, to]: readonly [Past, Past],
  differences: Comparison['differences'],
): Promise<readonly string[]> {
  if (differences.length === 0) return [];
  const ids = differences.map(([id]) => id);
  const named = { tenant: to.tenant.name, table };
  const [old, now] = await Promise.all([from, to].map((past) => recordsAt(api, past).byIds(named, ids)));
  const entries = differences.flatMap(([id, kind], at) => {
    const [one, other] = [old?.[at], now?.[at]];
    // Beyond what fits into the answer of one moment.
    if (one === undefined || other === undefined) return [];
    return [`{"id":"${id}","change":"${kind}","before":${one},"after":${other}}`];
  });
  return fitting(entries, ({ length }) => length, { size: MAX_PAGE_BYTES });
}

export const compare: Resource = {
  tag: 'assets',
  schemas: {
    ComparisonMeta: json.closedObject({
      from_position: json.count,
      to_position: json.count,
      created: json.count,
      changed: json.count,
      deleted: json.count,
      next_cursor: nextCursor,
    }),
  },
  operations: {
    'GET /:table/compare': {
      id: 'compareMoments',
      allow: 'read',
      work: 'list',
      summary: 'What differs between two moments',
      description: `Records that were created, changed or deleted, with their values at both moments, in the order of their ids, at most ${MAX_RECORDS} on a page. Records are compared by the values of their fields: one that was changed and changed back is the same.`,
      query: parametersIn(compareQuery).map((parameter) =>
        parameter.name === 'cursor' ? parameter : { ...parameter, required: true as const },
      ),
      answer: json.answer('A page of differences.', comparisonPage),
      handle: compareReply,
    },
  },
};
