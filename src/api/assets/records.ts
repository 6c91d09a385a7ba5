/** Records of a table: list, get, create and update (spec §4.3 to §4.6, §4.9). */
import type { WrittenRecord } from '../../commands/context.js';
import { recordTag, tagOf } from '../../commands/preconditions.js';
import { createRecord, deleteRecord, updateRecord } from '../../commands/records.js';
import { assetTypeOf, unknownRecord } from '../../commands/tables.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { idempotencyKeyOf } from '../changeOptions.js';
import type { Api } from '../deps.js';
import { preconditionOf } from '../entityTags.js';
import { methodNotAllowed, notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  CHANGES,
  CREATES,
  dataReply,
  READ,
  RECORD_ID,
  type Reply,
  type Resource,
  WRITE,
} from '../routes/operation.js';
import { behindCursor, CURSOR, FILTERS_TEXT, LIST_PARAMETERS, parseTableQuery } from './listQuery.js';
import { AT, atPosition, readAt } from './moments.js';
import { collectionEnvelope, cursorEnvelope, pageOrExport, pageSchemas } from './pages.js';

/** An answer with one record, of any table. */
const recordAnswer = (description: string) => json.answer(description, json.dataOf(json.ref('AnyRecord')));

/** With the tag that a get would return. */
const taggedReply = (written: WrittenRecord): Reply => ({ ...writtenReply(written), tag: recordTag(written.record) });

export const writtenReply = ({ record, lists, position, isRepeated }: WrittenRecord): Reply =>
  dataReply(lists === undefined ? record : { ...record, ...lists }, { isRepeated, written: position });

/** A page of a table's records, by number or by cursor. @throws HttpError 400 */
async function pageReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { req, query: parameters } = call;
  const { tenant, reads, position } = await readAt(api, req, parameters);
  const assetType = assetTypeOf(tenant, call.path.table);
  const list = parseTableQuery(assetType, parameters);
  // All pages are of one moment.
  if (position !== undefined) parameters.set('at', String(position));
  const headers = atPosition(position);
  const table = { tenant: req.context.tenant.name, table: assetType.name };
  if (parameters.has('cursor')) {
    const found = await reads.listBehind(table, behindCursor(list, parameters), cancellation);
    return { headers, body: cursorEnvelope(api, call, found, list) };
  }
  const { records: found, total } = await reads.list(table, list.query, cancellation);
  return { headers, body: collectionEnvelope(api, call, found, { ...list, total }) };
}

/** One record. @throws HttpError 404; 503 while the rows are behind and may not show it */
async function recordReply(api: Api, { req, caller, path, query }: Call) {
  const { tenant, reads, position } = await readAt(api, req, query);
  const table = assetTypeOf(tenant, path.table);
  const { id } = path;
  const headers = atPosition(position);
  const get = () => reads.get({ tenant: caller.tenant, table: table.name }, id);
  const record = await (position === undefined ? api.progress.found(caller.tenant, get) : get());
  if (record !== undefined) return { body: `{"data":${record}}`, tag: tagOf(record), headers };
  if (position !== undefined) throw notFound(`There was no record ${id} in ${table.name} then.`);
  throw unknownRecord(table, id);
}

/** Of any table; its info names the fields. */
const anyRecord: json.JsonSchema = {
  type: 'object',
  description: 'A record of the table, with the fields of its schema: DynItem for dyn_item, and so on.',
  properties: { id: json.uuid, created_at: json.timestamp, updated_at: json.timestamp },
  required: ['id', 'created_at', 'updated_at'],
  additionalProperties: true,
};

export const records: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: { ...pageSchemas, AnyRecord: anyRecord },
  operations: {
    'GET /:table/assets': {
      id: 'listRecords',
      work: 'list',
      summary: 'Records, page by page',
      description: FILTERS_TEXT,
      allow: READ,
      tables: 'Table',
      query: [...LIST_PARAMETERS, CURSOR, AT],
      answer: json.answer('A page of records.', pageOrExport(json.ref('AnyRecord'))),
      handle: pageReply,
    },
    'POST /:table/assets': {
      id: 'createRecord',
      grows: CREATES,
      summary: 'Create a record',
      allow: WRITE,
      tables: 'Table',
      body: { limit: 'record', schema: json.ref('CreateInput'), example: { customer_reference: 'PO 4711' } },
      status: 201,
      answer: recordAnswer('The record as created; an order that was sent with its parts has them.'),
      headers: ['idempotency-key'],
      async handle(_api, { req, tableWrite, body }) {
        const written = await createRecord(tableWrite, body, idempotencyKeyOf(req));
        const list = `${req.baseUrl}${req.path}`.replace(/\/$/, '');
        return { ...taggedReply(written), headers: { Location: `${list}/${written.id}` } };
      },
    },
    'GET /:table/assets/:id': {
      id: 'getRecord',
      summary: 'One record',
      allow: READ,
      tables: 'Table',
      query: [AT],
      answer: recordAnswer('The record.'),
      handle: recordReply,
    },
    'PUT /:table/assets/:id': {
      id: 'updateRecord',
      grows: CHANGES,
      summary: 'Update a record, or report the status of an order',
      description:
        'Fields that the body lacks stay; null clears one. In an order a list of parts replaces the present ones: parts with a known id are changed, others added, missing ones removed.',
      allow: WRITE,
      tables: 'Table',
      body: { limit: 'record', schema: json.ref('UpdateInput'), example: { processing_status: 'completed' } },
      answer: recordAnswer('The record as updated.'),
      headers: ['if-match'],
      async handle(_api, { req, tableWrite, path: { id }, body }) {
        return taggedReply(await updateRecord(tableWrite, id, body, preconditionOf(req)));
      },
    },
    'DELETE /:table/assets/:id': {
      id: 'removePart',
      summary: 'Remove a part of an order, with the parts that belong to it',
      allow: WRITE,
      tables: 'PartTable',
      status: 204,
      answer: json.NO_CONTENT,
      async handle(_api, { req, tableWrite, path: { id }, user }) {
        if (tableWrite.assetType.role !== 'part' && user === undefined) throw methodNotAllowed(req, 'GET, HEAD, PUT');
        return { written: await deleteRecord(tableWrite, id, preconditionOf(req)) };
      },
    },
  },
};
