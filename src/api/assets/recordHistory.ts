/** The history of a record of a reference table or of a part of an order, also of a deleted one. That of orders is in history.ts. */
import { z } from 'zod';
import { recordId, tenantOf } from '../../commands/tables.js';
import { MAX_ENTRIES, MAX_HISTORY_PAGE_BYTES } from '../../domain/limits.js';
import { during } from '../../queries/asking.js';
import { HISTORY_KINDS, type RecordHistoryEntry, recordHistory } from '../../queries/recordHistory.js';
import { actorsShown, type ShownActor } from '../actors.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { RECORD_ID, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { limitOf, revisionCursor } from './listQuery.js';
import { inListTurn, linkedReply } from './pages.js';
import { unknownRecord } from './records.js';

const ofEvent = (schema: json.JsonSchema, name: 'at' | 'kind' | 'eventId' | 'revision' | 'position') =>
  [schema, ({ event }: ShownEntry) => event[name]] as const;

type ShownEntry = RecordHistoryEntry & { readonly shownActor: ShownActor };

const entryView = json.view<ShownEntry>({
  id: ofEvent(json.uuid, 'eventId'),
  event: [json.text, ({ eventType }) => eventType],
  kind: ofEvent(json.oneOf(HISTORY_KINDS), 'kind'),
  change: json.oneOf(['create', 'update', 'delete']),
  occurred_at: ofEvent(json.timestamp, 'at'),
  actor: [json.ref('Actor'), ({ shownActor }) => shownActor],
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
  is_complete: [{ ...json.truth, description: 'Always true: all earlier values are kept.' }, () => true],
  revision: ofEvent(json.count, 'revision'),
  position: ofEvent(json.count, 'position'),
  correlation_id: [json.text, ({ event }) => event.correlationId],
  causation_id: [json.text, ({ event }) => event.causationId],
});

const query = z.strictObject({ cursor: revisionCursor, limit: limitOf(MAX_ENTRIES) });

export const recordHistories: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: {
    RecordHistory: json.linkedEntries('RecordHistoryEntry', MAX_ENTRIES),
    RecordHistoryEntry: entryView.schema,
  },
  operations: {
    'GET /:table/assets/:id/history': {
      id: 'listHistory',
      work: 'costly',
      summary: 'The history of a record, also of a deleted one: the newest first',
      description: `Each change of its fields, by a single request, a batch, a clean-up or an undo, with its actor. A sync that leaves its fields as they are is no change. A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and so may have fewer entries than \`limit\`.`,
      query: parametersIn(query),
      answer: json.answer('One page.', json.ref('RecordHistory')),
      allow: 'read',
      isOffered: ({ role }) => role !== 'order',
      async handle(api, { req, assetType, path, query: parameters }) {
        const { commands, rows } = api;
        const { name, role } = assetType;
        if (role === 'order') throw notFound('The history of an order is that of /orders here.');
        const { cursor, limit } = parseQuery(query, parameters);
        const { tenant, deadline } = req.context;
        const id = recordId(name, path.id);
        const asked = { id, before: cursor === undefined ? undefined : Number(cursor), limit };
        const page = await inListTurn(api, req, 'Ask for fewer entries with limit.', (cancellation) =>
          recordHistory(during(rows, cancellation), { tenant: tenant.name, space: name }, asked),
        );
        if (page === undefined) throw unknownRecord(assetType, id);
        const actors = page.entries.map(({ event }) => event.actor);
        const show = await actorsShown(commands, tenantOf(commands, tenant.name), actors, deadline);
        const data = page.entries.map((entry) => entryView.show({ ...entry, shownActor: show(entry.event.actor) }));
        return linkedReply(api, { req, query: parameters }, data, page.next);
      },
    },
  },
};
