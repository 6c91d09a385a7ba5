/** The history of a record of a reference table or of a part of an order, also of a deleted one, for clients and for users. */
import type { Request } from 'express';
import { z } from 'zod';
import { recordId, tenantOf } from '../commands/tables.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_RECORD_HISTORY } from '../domain/limits.js';
import { HISTORY_KINDS, type RecordHistoryEntry, recordHistory } from '../queries/recordHistory.js';
import { limitOf } from './activity.js';
import { actorsShown, type ShownActor } from './actors.js';
import { revisionCursor } from './assets/operations.js';
import { unknownRecord } from './assets/records.js';
import type { Api } from './deps.js';
import { notFound } from './errors.js';
import * as json from './openapi/schema.js';
import type { Reply } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';
import { requestUrl } from './tenantHost.js';

type ShownEntry = { readonly entry: RecordHistoryEntry; readonly actor: ShownActor };

const entryView = json.view<ShownEntry>({
  id: [json.uuid, ({ entry }) => entry.event.eventId],
  event: [json.text, ({ entry }) => entry.eventType],
  kind: [json.oneOf(HISTORY_KINDS), ({ entry }) => entry.event.kind],
  change: [json.oneOf(['create', 'update', 'delete']), ({ entry }) => entry.change],
  occurred_at: [json.timestamp, ({ entry }) => entry.event.at],
  actor: [json.ref('Actor'), ({ actor }) => actor],
  operation_id: [
    {
      ...json.nullableText,
      description: 'Of the batch, clean-up or undo that did it; of an undo in pieces its piece.',
    },
    ({ entry: { operation } }) => (operation === undefined ? null : String(operation)),
  ],
  fields: [
    {
      type: 'object',
      description: 'What changed, `from` and `to` by field. A deletion has all values that the record had.',
      additionalProperties: json.ref('FieldDifference'),
    },
    ({ entry }) => entry.fields,
  ],
  is_complete: [{ ...json.truth, description: 'Always true: all earlier values are kept.' }, () => true],
  revision: [json.count, ({ entry }) => entry.event.revision],
  position: [json.count, ({ entry }) => entry.event.position],
  correlation_id: [json.text, ({ entry }) => entry.event.correlationId],
  causation_id: [json.text, ({ entry }) => entry.event.causationId],
});

export const recordHistorySchemas: json.Schemas = {
  RecordHistory: json.linkedEntries('RecordHistoryEntry', MAX_RECORD_HISTORY),
  RecordHistoryEntry: entryView.schema,
};

const DEFAULT_LIMIT = 25;
const query = z.strictObject({ cursor: revisionCursor, limit: limitOf(MAX_RECORD_HISTORY, DEFAULT_LIMIT) });

/** Documentation of a record's history, for clients and users. */
export const recordHistoryList = {
  work: 'costly',
  summary: 'The history of a record, also of a deleted one: the newest first',
  description: `Each change of its fields, by a single request, a batch, a clean-up or an undo, with its actor. A sync that leaves its fields as they are is no change. A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and so may have fewer entries than \`limit\`.`,
  query: parametersIn(query),
  answer: json.answer('One page.', json.ref('RecordHistory')),
} as const;

type Call = { readonly req: Request; readonly assetType: AssetType; readonly id: string };

/** @throws HttpError 404 if there never was such a record, or the table is that of orders */
export async function recordHistoryReply(
  api: Api,
  { req, assetType, id: named, query: parameters }: Call & { readonly query: URLSearchParams },
): Promise<Reply> {
  const { commands, lists, config, rows } = api;
  const { name, role } = assetType;
  if (role === 'order') throw notFound('The history of an order is that of /orders here.');
  const { cursor, limit } = parseQuery(query, parameters);
  const { context } = req;
  const tenant = context.tenant.name;
  const id = recordId(name, named);
  const asked = { id, before: cursor === undefined ? undefined : Number(cursor), limit };
  const page = await lists.run({
    context,
    advice: () => 'Ask for fewer entries with limit.',
    find: (cancellation) => recordHistory(rows, { tenant, space: name }, asked, cancellation),
  });
  if (page === undefined) throw unknownRecord(assetType, id);
  const actors = page.entries.map(({ event }) => event.actor);
  const shown = await actorsShown(commands, tenantOf(commands, tenant), actors, context.deadline);
  const data = page.entries.map((entry) => entryView.show({ entry, actor: shown(entry.event.actor) }));
  const next = page.next === undefined ? null : `${requestUrl(req, config)}?cursor=${page.next}&limit=${limit}`;
  return { body: JSON.stringify({ data, links: { next } }) };
}
