/** The history of an order, page by page; and that of any other record, also of a deleted one, by cursor. */
import { z } from 'zod';
import { recordId, tenantOf } from '../../commands/tables.js';
import { MAX_ENTRIES, MAX_HISTORY_PAGE_BYTES } from '../../domain/limits.js';
import { warningText } from '../../domain/order/approval.js';
import type { ExportWarning } from '../../domain/order/events.js';
import { cancellable } from '../../queries/asking.js';
import { type HistoryEntry, orderHistoryPage } from '../../queries/orderHistory.js';
import { HISTORY_KINDS, type RecordHistoryEntry, recordHistory } from '../../queries/recordHistory.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { actorSchema, type ShownActor, shownActor } from '../actors.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type Call, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { limitOf, PAGING_PARAMETERS, parsePaging, revisionCursor } from './listQuery.js';
import { collectionEnvelope, linkedReply } from './pages.js';
import { unknownRecord } from './records.js';

type ShownEntry = Omit<HistoryEntry, 'actor' | 'changes'> & { readonly actor: ShownActor };

type ShownWarning = { readonly code: ExportWarning['code']; readonly webhookId?: string; readonly message: string };

const exportWarning = json.view<ShownWarning>({
  code: json.oneOf(['no_webhook', 'webhook_disabled']),
  webhook_id: json.orNull(json.uuid),
  message: json.text,
});
export const warnings: json.JsonSchema = json.listOf(json.ref('ExportWarning'));

/** Why an approved order is not sent. */
export const shownWarnings = (of: readonly ExportWarning[] = []): readonly object[] =>
  of.map((warning) => exportWarning.show({ ...warning, message: warningText(warning) }));

/** Without the changes. */
export const historyEntry = json.view<ShownEntry>({
  id: [json.uuid, ({ eventId }) => eventId],
  event: [json.text, ({ eventType }) => eventType],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  status_from: json.nullableText,
  status_to: json.text,
  reasons: json.listOf(json.text),
  warnings: [warnings, ({ warnings: of }) => shownWarnings(of)],
  revision: json.count,
  position: json.count,
  correlation_id: json.text,
  causation_id: json.text,
});

/** Documentation of the history of an order, for clients and users. */
export const historyList = {
  work: 'list',
  summary: 'The history of an order',
  description: `A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and so may have fewer than \`perPage\`; an entry that is larger comes alone. A page that has a next one never changes.`,
  query: PAGING_PARAMETERS,
  answer: json.answer('A page of events, oldest first.', json.ref('OrderHistory')),
} as const;

/** A page of the order's history. @param unknown is thrown if the tenant has no such order */
export async function historyReply(
  api: Api,
  { req, query }: Call,
  { id, unknown }: { readonly id: string; readonly unknown: Error },
  cancellation: Cancellation,
): Promise<Reply> {
  const { page, perPage } = parsePaging(query);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  const found = await orderHistoryPage(api.commands.eventStore, tenant, id, { page, perPage }, cancellation);
  const { entries, total, ...place } = found;
  if (total === 0) throw unknown;
  const records = entries.map((entry) => {
    const actor = shownActor(api.commands, tenant, entry.actor);
    return JSON.stringify({ ...historyEntry.show({ ...entry, actor }), changes: entry.changes });
  });
  const list = { page, perPage, kept: [], url: requestUrl(req, api.config), total };
  return { body: collectionEnvelope(records.join(), { ...list, place: { ...place, count: entries.length } }) };
}

const ofEvent = (schema: json.JsonSchema, name: 'at' | 'kind' | 'eventId' | 'revision' | 'position') =>
  [schema, ({ event }: ShownRecordEntry) => event[name]] as const;

type ShownRecordEntry = RecordHistoryEntry & { readonly actor: ShownActor };

const recordEntry = json.view<ShownRecordEntry>({
  id: ofEvent(json.uuid, 'eventId'),
  event: [json.text, ({ eventType }) => eventType],
  kind: ofEvent(json.oneOf(HISTORY_KINDS), 'kind'),
  change: json.oneOf(['create', 'update', 'delete']),
  occurred_at: ofEvent(json.timestamp, 'at'),
  actor: json.ref('Actor'),
  operation_id: [
    {
      ...json.nullableText,
      description: 'Of the batch, clean-up or undo that did it.',
    },
    ({ operation }) => operation?.toString() ?? null,
  ],
  fields: {
    type: 'object',
    description: 'What changed, `from` and `to` by field. A deletion has all values that the record had.',
    additionalProperties: json.ref('FieldDifference'),
  },
  revision: ofEvent(json.count, 'revision'),
  position: ofEvent(json.count, 'position'),
  correlation_id: [json.text, ({ event }) => event.correlationId],
  causation_id: [json.text, ({ event }) => event.causationId],
});

const recordQuery = z.object({ cursor: revisionCursor, limit: limitOf(MAX_ENTRIES) });

async function recordReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { req, assetType, path, query } = call;
  const { cursor, limit } = parseQuery(recordQuery, query);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  const id = recordId(assetType.name, path.id);
  const asked = { id, before: cursor === undefined ? undefined : Number(cursor), limit };
  const space = { tenant: tenant.name, space: assetType.name };
  const page = await recordHistory(cancellable(api.rows, cancellation), space, asked);
  if (page === undefined) throw unknownRecord(assetType, id);
  const data = page.entries.map((entry) =>
    recordEntry.show({ ...entry, actor: shownActor(api.commands, tenant, entry.event.actor) }),
  );
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
    ExportWarning: exportWarning.schema,
    FieldDifference: json.closedObject({ from: {}, to: {} }),
    RecordHistory: json.linkedEntries('RecordHistoryEntry', MAX_ENTRIES),
    RecordHistoryEntry: recordEntry.schema,
  },
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistory',
      work: 'list',
      summary: 'The history of a record, also of a deleted one',
      description: `Of an order: by page and perPage, the oldest event first. ${historyList.description} Of other records: by cursor and limit, the newest change first: each change of its fields by a single request, a batch, a clean-up or an undo, with its actor. A sync that leaves its fields as they are is no change.`,
      query: [...PAGING_PARAMETERS, ...parametersIn(recordQuery)],
      answer: json.answer('One page.', { anyOf: [json.ref('OrderHistory'), json.ref('RecordHistory')] }),
      allow: 'read',
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
