/** The history of a record of a reference table or of a part of an order, also of a deleted one, for clients and for users. */
import type { Request } from 'express';
import { z } from 'zod';
import { recordId, tenantOf } from '../commands/tables.js';
import type { ActivityKind } from '../domain/activity.js';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_RECORD_HISTORY, MAX_RECORD_HISTORY_EVENTS } from '../domain/limits.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { encodeWithPauses } from '../supervision/waiting.js';
import { limitOf } from './activity.js';
import { actorsShown, type ShownActor } from './actors.js';
import { revisionCursor } from './assets/operations.js';
import { unknownRecord } from './assets/records.js';
import type { Api } from './deps.js';
import { notFound } from './errors.js';
import * as json from './openapi/schema.js';
import { partHistory } from './partChanges.js';
import { type AskedHistory, type RecordHistoryEntry, type RecordHistoryPage, recordHistory } from './recordChanges.js';
import type { Reply } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';
import { requestUrl } from './tenantHost.js';

type ShownEntry = { readonly entry: RecordHistoryEntry; readonly actor: ShownActor };

const KINDS: readonly ActivityKind[] = [
  'record.created',
  'record.changed',
  'table.batch',
  'table.clean_up',
  'table.undo',
  'order.created',
  'order.part_added',
  'order.part_changed',
  'order.parts_changed',
];

const entryView = json.view<ShownEntry>({
  id: [json.uuid, ({ entry }) => entry.event.id],
  event: [json.text, ({ entry }) => entry.event.type],
  kind: [json.oneOf(KINDS), ({ entry }) => entry.kind],
  change: [json.oneOf(['create', 'update', 'delete']), ({ entry }) => entry.change],
  occurred_at: [json.timestamp, ({ entry }) => entry.event.metadata.occurredAt],
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
    ({ entry }) => Object.fromEntries(entry.fields),
  ],
  is_complete: [
    {
      ...json.truth,
      description:
        'false: some earlier values lie further back than a page looks, and are null or, of a deletion, missing.',
    },
    ({ entry }) => entry.isComplete,
  ],
  revision: [json.count, ({ entry }) => entry.event.revision],
  position: [json.count, ({ entry }) => entry.event.position],
  correlation_id: [json.text, ({ entry }) => entry.event.metadata.correlationId],
  causation_id: [json.text, ({ entry }) => entry.event.metadata.causationId],
});

export const recordHistorySchemas: json.Schemas = {
  RecordHistory: json.linkedEntries('RecordHistoryEntry', MAX_RECORD_HISTORY),
  RecordHistoryEntry: entryView.schema,
};

const DEFAULT_LIMIT = 25;
const query = z.strictObject({ cursor: revisionCursor, limit: limitOf(MAX_RECORD_HISTORY, DEFAULT_LIMIT) });

/** Documentation of a record's history, for clients and users. */
export const recordHistoryList = {
  work: 'events',
  summary: 'The history of a record, also of a deleted one: the newest first',
  description: `Each change of its fields, by a single request, a batch, a clean-up or an undo, with its actor. A sync that leaves its fields as they are is no change. A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes of entries, and reads ${MAX_RECORD_HISTORY_EVENTS} events at most: so it may have fewer entries than \`limit\`.`,
  query: parametersIn(query),
  answer: json.answer('One page.', json.ref('RecordHistory')),
} as const;

type Call = { readonly req: Request; readonly assetType: AssetType; readonly id: string };

/** @throws HttpError 404 if there never was such a record, or the table is that of orders */
export async function recordHistoryReply(
  api: Api,
  { req, assetType, id: named, query: parameters }: Call & { readonly query: URLSearchParams },
): Promise<Reply> {
  const { commands, lists, config } = api;
  const { name, role } = assetType;
  if (role === 'order') throw notFound('The history of an order is that of /orders here.');
  const { cursor, limit } = parseQuery(query, parameters);
  const { context } = req;
  const tenant = context.tenant.name;
  const id = recordId(name, named);
  const asked = { id, before: cursor === undefined ? undefined : Number(cursor), limit };
  const page = await lists.run({
    tenant,
    context,
    advice: () => 'Ask for fewer entries with limit.',
    find: (cancellation) => pageOf(api, context.tenant, assetType, asked, cancellation),
  });
  if (page === undefined) throw unknownRecord(assetType, id);
  const actors = page.entries.map(({ event }) => event.metadata.actor);
  const shown = await actorsShown(commands, tenantOf(commands, tenant), actors, context.deadline);
  const texts = function* (): Generator<string> {
    for (const [index, entry] of page.entries.entries()) {
      const text = JSON.stringify(entryView.show({ entry, actor: shown(entry.event.metadata.actor) }));
      yield `${index === 0 ? '' : ','}${text}`;
    }
  };
  const next = page.next === undefined ? null : `${requestUrl(req, config)}?cursor=${page.next}&limit=${limit}`;
  const entries = await encodeWithPauses(texts(), context.deadline);
  return { body: ['{"data":[', ...entries, `],"links":${JSON.stringify({ next })}}`] };
}

/** Undefined if there never was such a record. */
async function pageOf(
  { commands: { eventStore }, readModels }: Api,
  { name: tenant, orderModel }: Tenant,
  { name, role }: AssetType,
  asked: AskedHistory,
  cancellation: Cancellation,
): Promise<RecordHistoryPage | undefined> {
  const table = { tenant, table: name };
  if (role === 'reference') return recordHistory({ eventStore, readModels }, table, asked, cancellation);
  const orderId = await readModels.orderOfPart(table, asked.id);
  return orderId === undefined
    ? undefined
    : partHistory(eventStore, { tenant, orderModel, orderId }, asked, cancellation);
}
