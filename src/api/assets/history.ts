/** The history of an order, for clients and for users. */
import type { Request } from 'express';
import { tenantOf } from '../../commands/tables.js';
import { MAX_HISTORY_PAGE_BYTES } from '../../domain/limits.js';
import type { StoredHistoryEntry } from '../../queries/orderHistory.js';
import { actorSchema, actorsShown, type ShownActor } from '../actors.js';
import type { Api } from '../deps.js';
import type { AnswerBody } from '../jsonAnswer.js';
import * as json from '../openapi/schema.js';
import { exportWarning, shownWarnings, warnings } from '../orderWarnings.js';
import type { Resource } from '../routes/operation.js';
import { RECORD_ID } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { PAGING_PARAMETERS, parsePaging } from './listQuery.js';
import { collectionEnvelope } from './pages.js';
import { unknownRecord } from './records.js';

type ShownEntry = Omit<StoredHistoryEntry, 'actor'> & { readonly actor: ShownActor };

const fieldChange = json.closedObject({ table: json.text, id: json.uuid, field: json.text, from: {}, to: {} });

/** Without the changes, which are JSON text already. */
export const historyEntry = json.view<ShownEntry>({
  id: [json.uuid, ({ eventId }) => eventId],
  event: [json.text, ({ eventType }) => eventType],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: [json.ref('Actor'), ({ actor }) => actor],
  status_from: [json.nullableText, ({ statusFrom }) => statusFrom],
  status_to: [json.text, ({ statusTo }) => statusTo],
  reasons: [json.listOf(json.text), ({ reasons }) => reasons],
  warnings: [warnings, shownWarnings],
  revision: [json.count, ({ revision }) => revision],
  position: [json.count, ({ position }) => position],
  correlation_id: [json.text, ({ correlationId }) => correlationId],
  causation_id: [json.text, ({ causationId }) => causationId],
});

const entryText = (entry: ShownEntry): string =>
  `${JSON.stringify(historyEntry.show(entry)).slice(0, -1)},"changes":${entry.changes}}`;

/** Documentation of a history, for clients and users. */
export const historyList = {
  work: 'costly',
  summary: 'The history of an order',
  description: `A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and so may have fewer than \`perPage\`; an entry that is larger comes alone. A page that has a next one never changes.`,
  query: PAGING_PARAMETERS,
  answer: json.answer('A page of events, oldest first.', json.ref('OrderHistory')),
} as const;

/** A page of the history as JSON text; undefined if the tenant has no such order. */
export async function historyPage(
  { commands, queries, lists, config }: Api,
  req: Request,
  order: { readonly tenant: string; readonly id: string },
  query: URLSearchParams,
): Promise<AnswerBody | undefined> {
  const { page, perPage } = parsePaging(query);
  const { entries, total, ...place } = await lists.run({
    context: req.context,
    advice: () => 'Ask for fewer entries with perPage.',
    find: (cancellation) => queries.orderHistory.page(order.tenant, order.id, { page, perPage }, cancellation),
  });
  if (total === 0) return undefined;
  const actors = entries.map(({ actor }) => actor);
  const { deadline } = req.context;
  const shown = await actorsShown(commands, tenantOf(commands, order.tenant), actors, deadline);
  const records = entries.map((entry) => entryText({ ...entry, actor: shown(entry.actor) })).join();
  const list = { page, perPage, kept: [], url: requestUrl(req, config), total };
  return collectionEnvelope(records, { ...list, place: { ...place, count: entries.length } });
}

export const orderHistory: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: {
    Actor: actorSchema,
    OrderHistory: json.pageOf(json.ref('HistoryEntry')),
    HistoryEntry: json.closedObject({
      ...historyEntry.properties,
      changes: json.listOf(json.ref('FieldChange')),
    }),
    FieldChange: fieldChange,
    ExportWarning: exportWarning.schema,
  },
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistory',
      ...historyList,
      summary: 'The history of a record, also of a deleted one',
      description: `Of an order: page by page, the oldest event first. ${historyList.description} Of other records: by cursor and limit, the newest change first.`,
      allow: 'read',
      isOffered: ({ role }) => role === 'order',
      // Other records have one of another form (recordHistory.ts).
      elsewhere: 405,
      async handle(api, { req, caller, assetType, path, query }) {
        const order = { tenant: caller.tenant, id: path.id.toLowerCase() };
        const body = await historyPage(api, req, order, query);
        if (body === undefined) throw unknownRecord(assetType, order.id);
        return { body };
      },
    },
  },
};
