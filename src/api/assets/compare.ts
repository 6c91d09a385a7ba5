/** What was created, changed and deleted in a table between two moments. */
import type { Request } from 'express';
import { z } from 'zod';
import { MAX_PAGE_BYTES, MAX_RECORDS } from '../../domain/limits.js';
import { cancellable, roomFor } from '../../queries/asking.js';
import { changedBetween } from '../../queries/past.js';
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

const place = z.tuple([z.int().min(0), z.int().min(0)]);

const recordOrNull = json.orNull(json.ref('AnyRecord'));
const difference = json.closedObject({
  id: json.uuid,
  change: json.oneOf(['created', 'changed', 'deleted']),
  before: { ...recordOrNull, description: 'null: it was created since.' },
  after: { ...recordOrNull, description: 'null: it was deleted since.' },
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
  const range = [from.position, to.position] as const;
  const mark = queryHash('compare', tenant, name, ...range);
  const behind = cursor === '' ? undefined : fromCursor('cursor', cursor, mark, place);
  const rows = cancellable(api.rows, cancellation);
  const found = [];
  for await (const changed of changedBetween(rows, { tenant, space: name }, range, behind)) {
    found.push(changed);
    if (found.length > MAX_RECORDS) break;
  }
  const compared = found.slice(0, MAX_RECORDS);
  const ids = compared.map(({ id }) => id);
  const [old = [], now = []] = await Promise.all(
    [from, to].map((past) => recordsAt(api, past).byIds({ tenant, table: name }, ids)),
  );
  const fits = roomFor(MAX_RECORDS, MAX_PAGE_BYTES);
  const read = compared.slice(0, Math.min(old.length, now.length));
  const all = read.map(({ id, isThere }, at) => {
    const [before = null, after = null] = [old[at], now[at]];
    // What was deleted and is there again comes as it is.
    const isShown = (isThere || after === null) && valuesOf(before) !== valuesOf(after);
    const change = before === null ? 'created' : after === null ? 'deleted' : 'changed';
    return isShown ? `{"id":"${id}","change":"${change}","before":${before},"after":${after}}` : '';
  });
  const end = all.findIndex((entry) => !fits(entry.length));
  const entries = end < 0 ? all : all.slice(0, end);
  const last = entries.length < found.length ? found[entries.length - 1] : undefined;
  const next = last === undefined ? null : toCursor(mark, last.place);
  const url = `${requestUrl(req, api.config)}?from=${from.position}&to=${to.position}`;
  const links = { next: next === null ? null : `${url}&cursor=${next}` };
  const meta = { from_position: from.position, to_position: to.position, next_cursor: next };
  return { body: envelope(entries.filter((entry) => entry !== '').join(), links, meta) };
}

/** A record's text without its times. */
const valuesOf = (record: string | null): string | undefined =>
  record === null ? undefined : JSON.stringify({ ...JSON.parse(record), created_at: null, updated_at: null });

export const compare: Resource = {
  tag: 'assets',
  operations: {
    'GET /:table/compare': {
      id: 'compareMoments',
      allow: 'read',
      work: 'list',
      summary: 'What differs between two moments',
      description: `Records that were created, changed or deleted, with their values at both moments, at most ${MAX_RECORDS} on a page, which may have fewer, or none, and still a next one. One that was changed and changed back is the same.`,
      query: parametersIn(compareQuery).map((parameter) =>
        parameter.name === 'cursor' ? parameter : { ...parameter, required: true as const },
      ),
      answer: json.answer(
        'A page of differences.',
        json.closedObject({
          data: { ...json.listOf(difference), maxItems: MAX_RECORDS },
          links: json.ref('CursorLinks'),
          meta: json.closedObject({ from_position: json.count, to_position: json.count, next_cursor: nextCursor }),
        }),
      ),
      handle: compareReply,
    },
  },
};
