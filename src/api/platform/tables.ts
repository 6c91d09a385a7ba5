/** Tables for users: `/api/v1/platform/tables`. All roles read them; validators change parts of orders. */
import { NotSupportedError } from '../../commands/context.js';
import { createRecord, removePart, updateRecord } from '../../commands/records.js';
import { assetTypeOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { TableFigures } from '../../queries/records.js';
import { compareReply, comparisonAnswer, comparisonPage } from '../assets/compare.js';
import { assetTypeThen, describeAsset } from '../assets/info.js';
import { ANY_LIST_PARAMETERS, LIST_ANSWERS, SEARCH } from '../assets/listQuery.js';
import { AT } from '../assets/moments.js';
import { operationsList, operationsReply } from '../assets/operations.js';
import { anyRecord, pageReply, recordReply, taggedReply } from '../assets/records.js';
import { recordsCsv, recordsCsvReply } from '../assets/recordsCsv.js';
import { idempotencyKeyOf } from '../changeOptions.js';
import { preconditionOf } from '../entityTags.js';
import * as json from '../openapi/schema.js';
import { recordHistoryList, recordHistoryReply } from '../recordHistory.js';
import {
  CHANGES,
  CREATES,
  dataReply,
  listReply,
  pathText,
  RECORD_ID,
  type Resource,
  type UserCall,
} from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

/** @throws NotFoundError */
export const tableOf = ({ tenant, path }: UserCall): AssetType => assetTypeOf(tenant, path.table);

/**
 * Orders have their own operations, and reference tables are written by batch. @throws HttpError 404;
 * NotSupportedError
 */
function partTableOf(call: UserCall): AssetType {
  const assetType = tableOf(call);
  if (assetType.role === 'part') return assetType;
  throw new NotSupportedError(
    `Records of ${assetType.name} are not written one by one here.`,
    assetType.role === 'order'
      ? 'Orders are changed at /orders here.'
      : 'Reference tables are written at /assets/batch here.',
  );
}

export const anyFields: json.JsonSchema = {
  type: 'object',
  description: 'Fields as the info of the table names them.',
};
const oneRecord = json.answer('The record.', json.dataOf(json.ref('AnyRecord')));

/** `figures` is undefined before the first write. */
type Summarized = { readonly table: AssetType; readonly figures: TableFigures | undefined };

const tableSummary = json.view<Summarized>({
  name: [json.text, ({ table }) => table.name],
  label: [json.text, ({ table }) => table.label],
  kind: [json.oneOf(['reference', 'master']), ({ table }) => (table.supportingData ? 'reference' : 'master')],
  records: [json.count, ({ figures }) => figures?.records ?? 0],
  last_written_at: [
    {
      ...json.orNull(json.timestamp),
      description:
        'Of the last batch, clean-up, undo or change of a record, also one that changed no value. null: none.',
    },
    ({ figures }) => figures?.lastEventAt || null,
  ],
});

export const tables: Resource = {
  tag: 'platform: tables',
  schemas: { AnyRecord: anyRecord, TableSummary: tableSummary.schema },
  pathParameters: { table: pathText('table'), id: RECORD_ID },
  operations: {
    'GET /tables': {
      id: 'platformListTables',
      summary: 'All tables, with their number of records and the time of the last write',
      allow: 'users',
      answer: json.all('TableSummary'),
      async handle({ queries }, { tenant }) {
        const refs = [...tenant.assetTypes.keys()].map((table) => ({ tenant: tenant.name, table }));
        const figures = new Map((await queries.records.tableFigures(refs)).map((each) => [each.table, each]));
        return listReply(tenant.assetTypes.values(), (table) =>
          tableSummary.show({ table, figures: figures.get(table.name) }),
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
        return dataReply(describeAsset(await assetTypeThen(api, call.req, tableOf(call), call.query)));
      },
    },
    'GET /tables/:table/assets': {
      id: 'platformListRecords',
      summary: 'Records of a table, page by page',
      allow: 'users',
      query: [SEARCH, ...ANY_LIST_PARAMETERS, AT],
      answer: json.answer('A page of records.', json.pageOf(json.ref('AnyRecord'))),
      answers: LIST_ANSWERS,
      handle: (api, call) => pageReply(api, call.req, call.tenant.name, tableOf(call), call.query),
    },
    'GET /tables/:table/assets.csv': {
      id: 'platformExportRecords',
      ...recordsCsv,
      allow: 'users',
      handle: (api, call) => recordsCsvReply(api, call.req, call.tenant.name, tableOf(call), call.query),
    },
    'GET /tables/:table/compare': {
      id: 'platformCompareMoments',
      ...comparisonPage,
      allow: 'users',
      answer: comparisonAnswer(json.ref('AnyRecord')),
      handle: (api, call) => compareReply(api, call.req, tableOf(call), call.query),
    },
    'GET /tables/:table/operations': {
      id: 'platformListOperations',
      ...operationsList,
      allow: 'users',
      handle: (api, call) =>
        operationsReply(api, requestUrl(call.req, api.config), call.caller, tableOf(call), call.query),
    },
    'POST /tables/:table/assets': {
      id: 'platformAddPart',
      grows: CREATES,
      summary: 'Add a line, consignment, goods or charge to an order',
      allow: 'validators',
      body: { limit: 'record', schema: anyFields, example: { quantity: 3 } },
      status: 201,
      answer: oneRecord,
      honours: ['idempotency-key'],
      errors: [409],
      async handle({ commands }, call) {
        const assetType = partTableOf(call);
        const { req, caller, body } = call;
        return taggedReply(assetType, await createRecord(commands, caller, assetType, body, idempotencyKeyOf(req)));
      },
    },
    'GET /tables/:table/assets/:id': {
      id: 'platformGetRecord',
      summary: 'One record of a table',
      allow: 'users',
      query: [AT],
      answer: oneRecord,
      handle: (api, call) => recordReply(api, call.req, tableOf(call), call.path.id, call.query),
    },
    'GET /tables/:table/assets/:id/history': {
      id: 'platformListRecordHistory',
      ...recordHistoryList,
      allow: 'users',
      handle: (api, call) =>
        recordHistoryReply(api, { req: call.req, assetType: tableOf(call), id: call.path.id, query: call.query }),
    },
    'PUT /tables/:table/assets/:id': {
      id: 'platformChangePart',
      grows: CHANGES,
      summary: 'Change a part of an order; fields that the body lacks stay',
      allow: 'validators',
      body: { limit: 'record', schema: anyFields, example: { quantity: 4 } },
      answer: oneRecord,
      honours: ['if-match'],
      errors: [409, 412],
      async handle({ commands }, call) {
        const assetType = partTableOf(call);
        const { req, caller, path, body } = call;
        const precondition = preconditionOf(req);
        return taggedReply(assetType, await updateRecord(commands, caller, assetType, path.id, body, precondition));
      },
    },
    'DELETE /tables/:table/assets/:id': {
      id: 'platformRemovePart',
      summary: 'Remove a part of an order, with the parts that belong to it',
      allow: 'validators',
      status: 204,
      answer: json.NO_CONTENT,
      errors: [409],
      async handle({ commands }, call) {
        return { written: await removePart(commands, call.caller, partTableOf(call), call.path.id) };
      },
    },
  },
};
