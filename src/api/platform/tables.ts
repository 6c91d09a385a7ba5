/**
 * Tables for people: `/api/v1/platform/tables`. All roles read them, validators change parts of orders, and admins do what
 * integrators do with reference tables. What API clients do as well has their handlers.
 */
import { NotSupportedError } from '../../commands/context.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { SpaceState } from '../../ports/rowStore.js';
import { compare } from '../assets/compare.js';
import { history } from '../assets/history.js';
import { describeAsset } from '../assets/info.js';
import { ANY_LIST_PARAMETERS, parseTableQuery, SEARCH } from '../assets/listQuery.js';
import { AT, readAt } from '../assets/moments.js';
import { operations } from '../assets/operations.js';
import { behindPage, CURSOR, csvAnswer, csvReply, parseCursor, recordsIn } from '../assets/pages.js';
import { records } from '../assets/records.js';
import { batchOf, synchronization } from '../assets/synchronize.js';
import { syncs } from '../assets/syncs.js';
import { cellOf, csvLine, csvPage } from '../csv.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  dataReply,
  isTableOperation,
  listReply,
  type Operation,
  pathText,
  type Resource,
} from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

const TAG = 'platform: tables';

/**
 * Orders have their own operations, and reference tables are written by batch. @throws NotFoundError, NotSupportedError
 */
function requirePart({ assetType }: Call): void {
  if (assetType.role === 'part') return;
  throw new NotSupportedError(
    `Records of ${assetType.name} are not written one by one here.`,
    assetType.role === 'order'
      ? 'Orders are changed at /orders here.'
      : 'Reference tables are written at /assets/batch here.',
  );
}

/** Who may call an operation of API clients, and what is documented otherwise for people. */
type ForPeople = Pick<Operation, 'id' | 'allow'> &
  Partial<Pick<Operation, 'summary' | 'description' | 'query' | 'body' | 'answer' | 'answers'>>;

/** Operations of API clients on tables, by their routes, for people: below `/tables`. */
function forPeople(
  { operations, pathParameters }: Resource,
  named: { readonly [route: string]: ForPeople },
  check: (call: Call) => void = () => {},
): Resource {
  const shared = Object.entries(operations).flatMap(([route, operation]) => {
    const own = named[route];
    if (own === undefined || !isTableOperation(operation)) return [];
    const { tables: _, handle, ...described } = operation;
    const forUser: Operation = {
      ...described,
      ...own,
      handle(...asked) {
        check(asked[1]);
        return handle(...asked);
      },
    };
    return [[route.replace(' /', ' /tables/'), forUser]];
  });
  const parameters = { table: pathText('table'), ...pathParameters };
  return { tag: TAG, pathParameters: parameters, operations: Object.fromEntries(shared) };
}

const anyFields: json.JsonSchema = { type: 'object' };

/** `state` is undefined before the first write. */
type Summarized = { readonly table: AssetType; readonly state: SpaceState | undefined };

const tableSummary = json.view<Summarized>({
  name: [json.text, ({ table }) => table.name],
  label: [json.text, ({ table }) => table.label],
  kind: [json.oneOf(['reference', 'master']), ({ table }) => (table.supportingData ? 'reference' : 'master')],
  records: [json.count, ({ state }) => state?.rows ?? 0],
  last_written_at: [json.orNull(json.timestamp), ({ state }) => state?.lastEventAt || null],
});

const TIMES = ['created_at', 'updated_at'].map((name) => ({ name, type: 'DateTime' }));

const ofPeople: Resource = {
  tag: TAG,
  schemas: { TableSummary: tableSummary.schema },
  pathParameters: { table: pathText('table') },
  operations: {
    'GET /tables': {
      id: 'platformListTables',
      summary: 'All tables, with their number of records and the time of the last write',
      allow: 'users',
      answer: json.all('TableSummary'),
      async handle({ rows }, { tenant }) {
        const spaces = await rows.spaces(tenant.name);
        return listReply(tenant.assetTypes.values(), (table) =>
          tableSummary.show({ table, state: spaces?.get(table.name)?.state }),
        );
      },
    },
    'GET /tables/:table/info': {
      id: 'platformGetTableInfo',
      summary: 'Fields and relationships of a table',
      allow: 'users',
      query: [AT],
      answer: json.one('AssetType'),
      async handle(api, call) {
        const { table } = await readAt(api, call.req, call.assetType, call.query);
        return dataReply(describeAsset(table));
      },
    },
    'GET /tables/:table/assets.csv': {
      id: 'platformExportRecords',
      work: 'list',
      summary: 'Records of a table as CSV',
      description:
        'RFC 4180, in the order of creation, `perPage` records; a Link (RFC 8288) leads to the next ones. The first line of each page names the fields, and the first page begins with a byte order mark (UTF-8). An empty cell is null. A text has an apostrophe in front that is not part of it if a spreadsheet would run it (`=1+1`, `-x`, `@x`) or change it (`00123`, `1-2`, `MAR1`, `true`, 12 digits or more), and if it is empty, with any apostrophes of its own behind it.',
      query: [SEARCH, ...ANY_LIST_PARAMETERS.filter(({ name }) => name !== 'page'), CURSOR],
      answer: csvAnswer('The records, one in each line.', 'The next records, with rel="next".'),
      allow: 'users',
      async handle(api, call, cancellation) {
        const { req, query, assetType } = call;
        const list = parseTableQuery(assetType, query);
        const table = { tenant: call.tenant.name, table: assetType.name };
        const { behind, mark } = parseCursor(table, list, query);
        const found = await api.queries.records.listBehind(table, behind, cancellation);
        const columns = [...assetType.fields, ...TIMES];
        const lines = recordsIn(found.records).map((record) =>
          csvLine(columns.map(({ name, type }) => cellOf(record[name], type))),
        );
        const { link } = behindPage(found, mark, { ...list, url: requestUrl(req, api.config) });
        const names = columns.map(({ name }) => name);
        return csvReply(assetType.name, csvPage(query.get('cursor'), names, lines), link);
      },
    },
  },
};

/** A batch comes before `assets/:id`, which would match it. */
export const tables: readonly Resource[] = [
  ofPeople,
  forPeople(synchronization, {
    'POST /:table/assets/batch': {
      id: 'platformWriteBatch',
      allow: 'admins',
      body: {
        limit: 'batch',
        schema: batchOf({ ...anyFields, additionalProperties: true }),
        example: { items: [{ external_id: 'I1', name: 'Tea' }] },
      },
    },
  }),
  forPeople(syncs, {
    'GET /:table/syncs': { id: 'platformListSyncs', allow: 'users' },
    'POST /:table/syncs': { id: 'platformStartSync', allow: 'admins' },
    'POST /:table/syncs/:id/commit': { id: 'platformCommitSync', allow: 'admins' },
    'POST /:table/syncs/:id/undo': { id: 'platformUndoSync', allow: 'admins' },
  }),
  forPeople(operations, {
    'GET /:table/operations': { id: 'platformListOperations', allow: 'users' },
    'POST /:table/operations/:id/undo': { id: 'platformUndoOperation', allow: 'admins' },
  }),
  forPeople(compare, { 'GET /:table/compare': { id: 'platformCompareMoments', allow: 'users' } }),
  forPeople(history, {
    'GET /:table/assets/:id/history': {
      id: 'platformListRecordHistory',
      allow: 'users',
      description: 'By cursor and limit, the newest change first; of an order see /orders.',
      answer: json.answer('One page.', json.ref('RecordHistory')),
    },
  }),
  forPeople(records, {
    'GET /:table/assets': {
      id: 'platformListRecords',
      summary: 'Records of a table, page by page',
      allow: 'users',
      description: 'As for API clients, by the fields of the table.',
      query: [SEARCH, ...ANY_LIST_PARAMETERS, AT],
      answer: json.answer('A page of records.', json.pageOf(json.ref('AnyRecord'))),
    },
    'GET /:table/assets/:id': { id: 'platformGetRecord', summary: 'One record of a table', allow: 'users' },
  }),
  forPeople(
    records,
    {
      'POST /:table/assets': {
        id: 'platformAddPart',
        summary: 'Add a line, consignment, goods or charge to an order',
        allow: 'validators',
        body: { limit: 'record', schema: anyFields, example: { quantity: 3 } },
      },
      'PUT /:table/assets/:id': {
        id: 'platformChangePart',
        summary: 'Change a part of an order; fields that the body lacks stay',
        description: 'null clears one.',
        allow: 'validators',
        body: { limit: 'record', schema: anyFields, example: { quantity: 4 } },
      },
      'DELETE /:table/assets/:id': { id: 'platformRemovePart', allow: 'validators' },
    },
    requirePart,
  ),
];
