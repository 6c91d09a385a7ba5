/** The history of an order, for clients and for users. */
import { tenantOf } from '../../commands/tables.js';
import { MAX_HISTORY_PAGE_BYTES } from '../../domain/limits.js';
import { type HistoryEntry, orderHistoryPage } from '../../queries/orderHistory.js';
import { actorSchema, actorsShown, type ShownActor } from '../actors.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { exportWarning, shownWarnings, warnings } from '../orderWarnings.js';
import { type Call, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { PAGING_PARAMETERS, parsePaging } from './listQuery.js';
import { collectionEnvelope, inListTurn } from './pages.js';
import { unknownRecord } from './records.js';

type ShownEntry = Omit<HistoryEntry, 'actor' | 'changes'> & { readonly actor: ShownActor };

/** Without the changes. */
export const historyEntry = json.view<ShownEntry>({
  id: [json.uuid, ({ eventId }) => eventId],
  event: [json.text, ({ eventType }) => eventType],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  status_from: json.nullableText,
  status_to: json.text,
  reasons: json.listOf(json.text),
  warnings: [warnings, shownWarnings],
  revision: json.count,
  position: json.count,
  correlation_id: json.text,
  causation_id: json.text,
});

/** Documentation of a history, for clients and users. */
export const historyList = {
  work: 'costly',
  summary: 'The history of an order',
  description: `A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and so may have fewer than \`perPage\`; an entry that is larger comes alone. A page that has a next one never changes.`,
  query: PAGING_PARAMETERS,
  answer: json.answer('A page of events, oldest first.', json.ref('OrderHistory')),
} as const;

/** A page of the order's history. @param unknown is thrown if the tenant has no such order */
export async function historyReply(
  api: Api,
  { req, query }: Pick<Call, 'req' | 'query'>,
  id: string,
  unknown: Error,
): Promise<Reply> {
  const { page, perPage } = parsePaging(query);
  const { deadline } = req.context;
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  const found = await inListTurn(api, req, 'Ask for fewer entries with perPage.', (cancellation) =>
    orderHistoryPage(api.commands.eventStore, tenant, id, { page, perPage }, cancellation),
  );
  const { entries, total, ...place } = found;
  if (total === 0) throw unknown;
  const actors = entries.map(({ actor }) => actor);
  const shown = await actorsShown(api.commands, tenant, actors, deadline);
  const records = entries.map((entry) =>
    JSON.stringify({ ...historyEntry.show({ ...entry, actor: shown(entry.actor) }), changes: entry.changes }),
  );
  const list = { page, perPage, kept: [], url: requestUrl(req, api.config), total };
  return { body: collectionEnvelope(records.join(), { ...list, place: { ...place, count: entries.length } }) };
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
    FieldChange: json.closedObject({ table: json.text, id: json.uuid, field: json.text, from: {}, to: {} }),
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
      handle: (api, call) => {
        const id = call.path.id.toLowerCase();
        return historyReply(api, call, id, unknownRecord(call.assetType, id));
      },
    },
  },
};
