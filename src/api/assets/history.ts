/** The history of an order, for integrators and for the people of the platform. */
import type { HistoryEntry, RecordQueries } from '../../ports/readModels.js';
import { notFound } from '../errors.js';
import {
  closedObject,
  count,
  jsonResponse,
  listOf,
  nullableText,
  oneOf,
  pageOf,
  type ResponseObject,
  type Schemas,
  schemaRef,
  text,
  timestamp,
  uuid,
} from '../openapi/schema.js';
import type { Resource } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { collectionEnvelope } from './envelope.js';
import { PAGING_PARAMETERS, parsePaging } from './listQuery.js';
import { RECORD_ID, unknownRecord } from './table.js';

const historyView = (entry: HistoryEntry) => ({
  id: entry.eventId,
  event: entry.eventType,
  occurred_at: entry.at,
  actor: entry.actor,
  status_from: entry.statusFrom,
  status_to: entry.statusTo,
  reasons: entry.reasons,
  changes: entry.changes,
  revision: entry.revision,
  position: entry.position,
  correlation_id: entry.correlationId,
  causation_id: entry.causationId,
});

const schemas: Schemas = {
  HistoryEntry: closedObject({
    id: uuid,
    event: text,
    occurred_at: timestamp,
    actor: {
      type: 'object',
      properties: { kind: oneOf(['client', 'user', 'operator', 'system']), id: text, name: text },
      required: ['kind', 'id'],
    },
    status_from: nullableText,
    status_to: text,
    reasons: listOf(text),
    changes: listOf(closedObject({ table: text, id: uuid, field: text, from: {}, to: {} })),
    revision: count,
    position: count,
    correlation_id: text,
    causation_id: text,
  }),
};

export const HISTORY_PAGE: ResponseObject = jsonResponse(
  'A page of events, oldest first.',
  pageOf(schemaRef('HistoryEntry')),
);

/** A page of the history as JSON text; undefined when the tenant has no such order. */
export async function historyPage(
  readModels: Pick<RecordQueries, 'history'>,
  order: { readonly tenant: string; readonly id: string },
  list: { readonly query: URLSearchParams; readonly url: string },
): Promise<string | undefined> {
  const { page, perPage } = parsePaging(list.query);
  const slice = { offset: (page - 1) * perPage, limit: perPage };
  const { entries, total } = await readModels.history(order.tenant, order.id, slice);
  if (total === 0) return undefined;
  const records = entries.map((entry) => JSON.stringify(historyView(entry))).join(',');
  return collectionEnvelope(records, { page, perPage, kept: [], url: list.url, total });
}

export const orderHistory: Resource = {
  tag: '',
  pathParameters: { id: RECORD_ID },
  schemas,
  operations: [
    {
      method: 'get',
      path: '/:table/assets/:id/history',
      id: 'history',
      summary: 'What happened to an order',
      allow: 'read',
      isOffered: ({ role }) => role === 'order',
      query: PAGING_PARAMETERS,
      answer: HISTORY_PAGE,
      async handle({ readModels, config }, { req, caller, assetType, path, query }) {
        if (assetType.role !== 'order') throw notFound(`Only orders have a history; ${assetType.name} has none.`);
        const order = { tenant: caller.tenant, id: path.id.toLowerCase() };
        const body = await historyPage(readModels, order, { query, url: requestUrl(req, config) });
        if (body === undefined) throw unknownRecord(assetType, order.id);
        return { body };
      },
    },
  ],
};
