/** The history of an order, page by page; and that of any other record, also of a deleted one, by cursor. */
import { z } from 'zod';
import { recordId, tenantOf, unknownRecord } from '../../commands/tables.js';
import { AnswerTooLargeError } from '../../domain/jsonSize.js';
import { MAX_ENTRIES, MAX_PAGE_BYTES } from '../../domain/limits.js';
import { orderStream } from '../../domain/streams.js';
import { cancellable } from '../../queries/asking.js';
import { type HistoryEntry, orderHistory } from '../../queries/orderHistory.js';
import { HISTORY_KINDS, type RecordHistoryEntry, recordHistory } from '../../queries/recordHistory.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { type Acted, acted, actorSchema } from '../actors.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type Call, READ, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { limitOf, PAGING_PARAMETERS, parsePaging, revisionCursor } from './listQuery.js';
import { collectionEnvelope, linkedReply } from './pages.js';

/** Without the changes. */
export const historyEntry = json.view<Acted<HistoryEntry>>({
  id: [json.uuid, ({ eventId }) => eventId],
  event: [json.text, ({ eventType }) => eventType],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  status_from: json.nullableText,
  status_to: json.text,
  reasons: json.listOf(json.text),
  revision: json.count,
  position: json.count,
  correlation_id: json.text,
  causation_id: json.text,
});

/** Documentation of the history of an order, for clients and users. */
export const historyList = {
  work: 'list',
  summary: 'The history of an order',
  query: PAGING_PARAMETERS,
  answer: json.answer('A page of events, oldest first.', json.ref('OrderHistory')),
} as const;

/** A page of the order's history. @param unknown is thrown if the tenant has no such order */
export async function historyReply(
  api: Api,
  call: Call,
  { id, unknown }: { readonly id: string; readonly unknown: Error },
  cancellation: Cancellation,
): Promise<Reply> {
  const { page, perPage } = parsePaging(call.query);
  const tenant = tenantOf(api.commands, call.tenant.name);
  const { eventStore } = api.commands;
  const last = await eventStore.lastAppend(orderStream(tenant.name, id));
  if (last === undefined) throw unknown;
  const records: string[] = [];
  let bytes = 0;
  for await (const entry of orderHistory(eventStore, tenant, id, (page - 1) * perPage, cancellation)) {
    if (records.length === perPage || entry.revision > last.revision) break;
    const shown = historyEntry.show(acted(api.commands, tenant, entry));
    const text = JSON.stringify({ ...shown, changes: entry.changes });
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_PAGE_BYTES)
      throw new AnswerTooLargeError(`A page has at most ${MAX_PAGE_BYTES} bytes: ask for fewer entries with perPage.`);
    records.push(text);
  }
  const list = { page, perPage, total: last.revision + 1 };
  return { body: collectionEnvelope(api, call, records.join(), list) };
}

type RecordEntry = RecordHistoryEntry & Omit<RecordHistoryEntry['event'], 'fields'>;

const recordEntry = json.view<Acted<RecordEntry>>({
  id: [json.uuid, ({ eventId }) => eventId],
  kind: json.oneOf(HISTORY_KINDS),
  change: json.oneOf(['create', 'update', 'delete']),
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  operation_id: [
    {
      ...json.nullableText,
      description: 'Of the batch, clean-up, deletion or undo that did it.',
    },
    ({ operation }) => operation?.toString() ?? null,
  ],
  fields: {
    type: 'object',
    description: 'What changed, `from` and `to` by field. A deletion has all values that the record had.',
    additionalProperties: json.ref('FieldDifference'),
  },
  revision: json.count,
  position: json.count,
  correlation_id: json.text,
  causation_id: json.text,
});

const recordQuery = z.object({ cursor: revisionCursor, limit: limitOf(MAX_ENTRIES) });

async function recordReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { req, assetType, path, query } = call;
  const { cursor, limit } = parseQuery(recordQuery, query);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  const id = recordId(assetType.name, path.id);
  const asked = { id, before: cursor === undefined ? undefined : Number(cursor), limit };
  const space = { tenant: tenant.name, space: assetType.name };
  const read = () => recordHistory(cancellable(api.rows, cancellation), space, asked);
  const page = await api.progress.found(tenant.name, read);
  if (page === undefined) throw unknownRecord(assetType, id);
  const data = page.entries.map((entry) => recordEntry.show(acted(api.commands, tenant, { ...entry.event, ...entry })));
  return linkedReply(api, call, data, page.next);
}

export const history: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: {
    Actor: actorSchema,
    OrderHistory: json.pageOf(json.ref('HistoryEntry')),
    HistoryEntry: json.closedObject({
      ...historyEntry.properties,
      changes: json.listOf(json.ref('FieldChange')),
    }),
    FieldChange: json.closedObject({ table: json.text, id: json.uuid, field: json.text, from: {}, to: {} }),
    FieldDifference: json.closedObject({ from: {}, to: {} }),
    RecordHistory: json.linkedEntries('RecordHistoryEntry', MAX_ENTRIES),
    RecordHistoryEntry: recordEntry.schema,
  },
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistory',
      work: 'list',
      summary: 'The history of a record, also of a deleted one',
      description:
        'Of an order: by page and perPage, the oldest event first. Of other records: by cursor and limit, the newest change of its fields first.',
      query: [...PAGING_PARAMETERS, ...parametersIn(recordQuery)],
      answer: json.answer('One page.', { anyOf: [json.ref('OrderHistory'), json.ref('RecordHistory')] }),
      allow: READ,
      tables: 'Table',
      handle(api, call, cancellation) {
        const { assetType, path, query } = call;
        const isOrder = assetType.role === 'order';
        const other = (isOrder ? ['cursor', 'limit'] : ['page', 'perPage']).find((name) => query.has(name));
        if (other !== undefined) throw badRequest(`Unknown parameter ${other} for ${assetType.name}.`);
        if (!isOrder) return recordReply(api, call, cancellation);
        const id = path.id.toLowerCase();
        return historyReply(api, call, { id, unknown: unknownRecord(assetType, id) }, cancellation);
      },
    },
  },
};
