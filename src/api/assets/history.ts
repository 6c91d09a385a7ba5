/** The history of an order, for clients and for users. */
import type { Request } from 'express';
import { tenantOf } from '../../commands/tables.js';
import type { HistoryEntry } from '../../ports/orderHistory.js';
import { ORDERS } from '../../reading/pendingWrites.js';
import { mapWithPauses } from '../../supervision/waiting.js';
import { actorSchema, actorsShown, type ShownActor } from '../actors.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import type { JsonText } from '../jsonAnswer.js';
import * as json from '../openapi/schema.js';
import { exportWarning, shownWarnings, warnings } from '../orderWarnings.js';
import type { Resource } from '../routes/operation.js';
import { RECORD_ID } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { LIST_ANSWERS, PAGING_PARAMETERS, parsePaging } from './listQuery.js';
import { collectionEnvelope } from './pages.js';
import { unknownRecord } from './records.js';

type ShownEntry = Omit<HistoryEntry, 'actor'> & { readonly actor: ShownActor };

const fieldChange = json.closedObject({ table: json.text, id: json.uuid, field: json.text, from: {}, to: {} });

const historyEntry = json.view<ShownEntry>({
  id: [json.uuid, ({ eventId }) => eventId],
  event: [json.text, ({ eventType }) => eventType],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: [json.ref('Actor'), ({ actor }) => actor],
  status_from: [json.nullableText, ({ statusFrom }) => statusFrom],
  status_to: [json.text, ({ statusTo }) => statusTo],
  reasons: [json.listOf(json.text), ({ reasons }) => reasons],
  warnings: [warnings, shownWarnings],
  changes: [json.listOf(json.ref('FieldChange')), ({ changes }) => changes],
  revision: [json.count, ({ revision }) => revision],
  position: [json.count, ({ position }) => position],
  correlation_id: [json.text, ({ correlationId }) => correlationId],
  causation_id: [json.text, ({ causationId }) => causationId],
});

export const HISTORY_PAGE: json.ResponseObject = json.answer(
  'A page of events, oldest first.',
  json.pageOf(json.ref('HistoryEntry')),
);

/**
 * A page of the history as JSON text; undefined if the tenant has no such order. @throws ReadModelsWithheldError if it
 * may not be shown yet
 */
export async function historyPage(
  { commands, readModels, lists, config, pendingWrites }: Api,
  req: Request,
  order: { readonly tenant: string; readonly id: string },
  query: URLSearchParams,
): Promise<JsonText | undefined> {
  const { page, perPage } = parsePaging(query);
  const slice = { offset: (page - 1) * perPage, limit: perPage };
  const { entries, total } = await lists.run({
    tenant: order.tenant,
    until: pendingWrites?.untilShown(order.tenant, ORDERS),
    context: req.context,
    advice: () => 'Ask for fewer entries with perPage.',
    find: (cancellation) => readModels.history(order.tenant, order.id, slice, cancellation),
  });
  if (total === 0) {
    pendingWrites?.requireShown(order.tenant);
    return undefined;
  }
  const actors = entries.map(({ actor }) => actor);
  const shown = await actorsShown(commands, tenantOf(commands, order.tenant), actors);
  const records = await mapWithPauses(entries, (entry) =>
    JSON.stringify(historyEntry.show({ ...entry, actor: shown(entry.actor) })),
  );
  return collectionEnvelope(records.join(), { page, perPage, kept: [], url: requestUrl(req, config), total });
}

export const orderHistory: Resource = {
  tag: '',
  pathParameters: { id: RECORD_ID },
  schemas: {
    Actor: actorSchema,
    HistoryEntry: historyEntry.schema,
    FieldChange: fieldChange,
    ExportWarning: exportWarning.schema,
  },
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistoryOf',
      summary: 'The history of an order',
      allow: 'read',
      isOffered: ({ role }) => role === 'order',
      query: PAGING_PARAMETERS,
      answer: HISTORY_PAGE,
      answers: LIST_ANSWERS,
      async handle(api, { req, caller, assetType, path, query }) {
        if (assetType.role !== 'order') throw notFound(`Only orders have a history; ${assetType.name} has none.`);
        const order = { tenant: caller.tenant, id: path.id.toLowerCase() };
        const body = await historyPage(api, req, order, query);
        if (body === undefined) throw unknownRecord(assetType, order.id);
        return { body };
      },
    },
  },
};
