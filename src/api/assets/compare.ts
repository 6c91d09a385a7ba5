/** What was created, changed and deleted in a table between two moments. */
import { z } from 'zod';
import { assetTypeOf } from '../../commands/tables.js';
import { MAX_PAGE_BYTES, MAX_RECORDS } from '../../domain/limits.js';
import { cancellable, roomFor } from '../../queries/asking.js';
import { changedBetween } from '../../queries/past.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type Call, READ, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { cursorLike } from './listQuery.js';
import { pastIn, recordsAt } from './moments.js';
import { envelope, nextCursor, nextLink } from './pages.js';

const moment = (which: string) =>
  z.string('is missing.').describe(`The ${which} moment: a time (ISO 8601), or a position of the log.`);

const compareQuery = z.strictObject({
  from: moment('earlier'),
  to: moment('later'),
  cursor: cursorLike(/^\d{1,15}\.\d{1,15}$/),
});

const recordOrNull = json.orNull(json.ref('AnyRecord'));
const difference = json.closedObject({
  id: json.uuid,
  change: json.oneOf(['created', 'changed', 'deleted']),
  before: { ...recordOrNull, description: 'null: it was created since.' },
  after: { ...recordOrNull, description: 'null: it was deleted since.' },
});

/** @throws HttpError 400 */
async function compareReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { req, query } = call;
  const [tenant, table] = [call.tenant.name, call.assetType.name];
  const { cursor } = parseQuery(compareQuery, query);
  const [position = 0, n = 0] = cursor?.split('.').map(Number) ?? [];
  const behind = cursor === undefined ? undefined : ([position, n] as const);
  const [old, now] = [await pastIn(api, req, query, 'from'), await pastIn(api, req, query, 'to')];
  if (old === undefined || now === undefined || old.position > now.position)
    throw badRequest('from must not be after to.');
  assetTypeOf(now.tenant, table);
  const [from, to] = [old.position, now.position];
  const rows = cancellable(api.rows, cancellation);
  const found = [];
  for await (const changed of changedBetween(rows, { tenant, space: table }, [from, to], behind)) {
    found.push(changed);
    if (found.length > MAX_RECORDS) break;
  }
  const ids = found.slice(0, MAX_RECORDS).map(({ id }) => id);
  const [was = [], is = []] = await Promise.all(
    [old, now].map((past) => recordsAt(api, past).byIds({ tenant, table }, ids)),
  );
  const fits = roomFor(MAX_RECORDS, MAX_PAGE_BYTES);
  const entries: string[] = [];
  let read = 0;
  for (const { id, isThere } of found.slice(0, Math.min(was.length, is.length))) {
    const [before = null, after = null] = [was[read], is[read]];
    // What was deleted and is there again comes as it is.
    const isShown = (isThere || after === null) && valuesOf(before) !== valuesOf(after);
    const change = before === null ? 'created' : after === null ? 'deleted' : 'changed';
    const entry = isShown ? `{"id":"${id}","change":"${change}","before":${before},"after":${after}}` : '';
    if (!fits(entry.length)) break;
    if (isShown) entries.push(entry);
    read += 1;
  }
  const next = read < found.length ? found[read - 1]?.place.join('.') : undefined;
  // All pages are of the same moments.
  query.set('from', String(from));
  query.set('to', String(to));
  const meta = { from_position: from, to_position: to, next_cursor: next ?? null };
  return { body: envelope(entries.join(), { next: nextLink(api, call, next) }, meta) };
}

/** A record's text without its times. */
const valuesOf = (record: string | null): string | undefined =>
  record === null ? undefined : JSON.stringify({ ...JSON.parse(record), created_at: null, updated_at: null });

export const compare: Resource = {
  tag: 'assets',
  operations: {
    'GET /:table/compare': {
      id: 'compareMoments',
      allow: READ,
      tables: 'Table',
      work: 'list',
      summary: 'What differs between two moments',
      description: `Records that were created, changed or deleted, with their values at both moments. A page may have none, and still a next one. One that was changed and changed back is the same.`,
      query: parametersIn(compareQuery),
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
