/** What was created, changed and deleted in a table between two moments. */
import type { Request } from 'express';
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_COMPARED, MAX_PAGE_BYTES } from '../../domain/limits.js';
import type { Position } from '../../ports/eventStore.js';
import { type Compared, DIFFERENCE_KINDS, type PastTable, type TableDifference } from '../../ports/pastTables.js';
import type { RecordJson } from '../../ports/readModels.js';
import { encodeWithPauses } from '../../supervision/waiting.js';
import type { Api } from '../deps.js';
import { badRequest, notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { type Moment, momentIn, PAST_ANSWERS, pastOf, pastTableOf, unlessBuilding } from './moments.js';
import { envelope, fromCursor, queryHash, toCursor } from './pages.js';

const moment = (which: string) =>
  z.string().min(1, 'must not be empty.').describe(`The ${which} moment: a time (ISO 8601), or a position of the log.`);

const compareQuery = z.strictObject({
  from: moment('earlier'),
  to: moment('later'),
  cursor: z.string().default('').describe('meta.next_cursor of the page before, with the positions of its link.'),
});

const place = z.tuple([z.int().min(0)]);

type Entry = TableDifference & { readonly before: RecordJson; readonly after: RecordJson };

/** Documentation of a comparison, for clients and users. */
export const comparison = {
  work: 'events',
  summary: 'What differs between two moments',
  description: `Records that were created, changed or deleted, with their values at both moments, in the order of their ids, at most ${MAX_COMPARED} on a page. Records are compared by the values of their fields: one that was changed and changed back is the same. While the two states of the table are made, the answer is 202.`,
  query: parametersIn(compareQuery).map((parameter) =>
    parameter.name === 'cursor' ? parameter : { ...parameter, required: true as const },
  ),
  answers: PAST_ANSWERS,
  errors: [507],
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

async function tableAt(api: Api, req: Request, name: string, moment: Moment | undefined, table: AssetType) {
  if (moment === undefined) throw badRequest(`${name} is missing: a time, or a position of the log.`);
  const past = await pastOf(api, req, moment, name);
  return { table: await pastTableOf(api, req, past, table), type: past.tenant.assetTypes.get(table.name) };
}

/** @throws HttpError 400, 404 */
export async function compareReply(
  api: Api,
  req: Request,
  assetType: AssetType,
  query: URLSearchParams,
): Promise<Reply> {
  const { cursor } = parseQuery(compareQuery, query);
  const { table: from } = await tableAt(api, req, 'from', momentIn(query, 'from'), assetType);
  const { table: to, type } = await tableAt(api, req, 'to', momentIn(query, 'to'), assetType);
  if (type === undefined) throw notFound(`There was no asset ${assetType.name} then.`);
  if (from.position > to.position) throw badRequest('from must not be after to.');
  const mark = queryHash('compare', to.tenant, to.table, from.position, to.position);
  const [behind] = cursor === '' ? [0] : fromCursor('cursor', cursor, mark, place);
  const positions = { from: from.position, to: to.position };
  return unlessBuilding(api, req, query, positions, () =>
    api.pastTables.compare(
      from,
      to,
      async (compared) => {
        const entries = await entriesOf(compared, [from, to], behind);
        const url = `${requestUrl(req, api.config)}?from=${from.position}&to=${to.position}`;
        return pageOf(entries, compared, { url, mark, behind, positions });
      },
      req.context.deadline,
    ),
  );
}

/** As many as fit into a page, at least one. */
async function entriesOf(
  { before, after, comparison }: Compared,
  [from, to]: readonly [PastTable, PastTable],
  behind: number,
): Promise<readonly Entry[]> {
  const found = comparison.page(behind, MAX_COMPARED);
  if (found.length === 0) return [];
  const ids = found.map(({ id }) => id);
  const [old, now] = await Promise.all([before.byIds(from, ids), after.byIds(to, ids)]);
  const entries: Entry[] = [];
  let size = 0;
  for (const [at, { id, kind }] of found.entries()) {
    const [one, other] = [old.records[at], now.records[at]];
    // Beyond what fits into the answer of one copy.
    if (one === undefined || other === undefined) break;
    const entry = { id, kind, before: one ?? 'null', after: other ?? 'null' };
    size += entry.before.length + entry.after.length;
    if (entries.length > 0 && size > MAX_PAGE_BYTES) break;
    entries.push(entry);
  }
  return entries;
}

type Page = {
  readonly url: string;
  readonly mark: string;
  readonly behind: number;
  readonly positions: { readonly from: Position; readonly to: Position };
};

async function pageOf(
  entries: readonly Entry[],
  { comparison: { counts } }: Compared,
  { url, mark, behind, positions }: Page,
): Promise<Reply> {
  const total = counts.created + counts.changed + counts.deleted;
  const end = behind + entries.length;
  const next = end < total ? toCursor(mark, [end]) : null;
  const links = { next: next === null ? null : `${url}&cursor=${next}` };
  const meta = { from_position: positions.from, to_position: positions.to, ...counts, next_cursor: next };
  return { body: envelope(await encodeWithPauses(entryTexts(entries)), links, meta) };
}

/** Records are JSON text already. */
function* entryTexts(entries: readonly Entry[]): Generator<string> {
  for (const [at, { id, kind, before, after }] of entries.entries()) {
    yield `${at === 0 ? '' : ','}{"id":"${id}","change":"${kind}","before":${before},"after":${after}}`;
  }
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
      next_cursor: { ...json.nullableText, description: 'null: there are no more.' },
    }),
  },
  operations: {
    'GET /:table/compare': {
      id: 'compareMoments',
      ...comparison,
      allow: 'read',
      answer: comparisonAnswer(json.ref('AnyRecord')),
      handle: (api, { req, assetType, query }) => compareReply(api, req, assetType, query),
    },
  },
};
