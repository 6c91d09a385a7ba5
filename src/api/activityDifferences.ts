/** What an entry of the activity did to records, field by field: from its events, and of a clean-up from what it deleted. */
import { z } from 'zod';
import { NotFoundError } from '../commands/context.js';
import { type StreamReads, streamPages } from '../commands/streamPages.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_DIFFERENCES, MAX_OPERATION_EVENTS } from '../domain/limits.js';
import { orderDifferences } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import { differencesIn, type RecordDifference } from '../domain/referenceTable/differences.js';
import type { ReferenceTableEvent } from '../domain/referenceTable/events.js';
import { orderStream, tableStream } from '../domain/streams.js';
import type { ActivityEntry } from '../ports/activity.js';
import type { DecisionReads } from '../ports/decisionReads.js';
import type { Revision } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityCall } from './activity.js';
import { isOperation, placeIn } from './activityGroups.js';
import type { Api } from './deps.js';
import * as json from './openapi/schema.js';
import type { PathParameter, Reply } from './routes/operation.js';
import { pathText } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';
import { requestUrl } from './tenantHost.js';

export const ENTRY_ID: PathParameter = {
  ...pathText('entry_id'),
  component: 'ActivityEntryId',
  example: '20261125224123456789.1042.17',
};

const fieldDifference = json.closedObject({ from: {}, to: {} });
const differenceSchema = json.closedObject({
  change: json.oneOf(['create', 'update', 'delete']),
  id: json.uuid,
  fields: {
    type: 'object',
    description: '`from` and `to` by field; null where the event does not say it, as of an undo.',
    additionalProperties: json.ref('FieldDifference'),
  },
});

export const differenceSchemas: json.Schemas = {
  RecordDifference: differenceSchema,
  FieldDifference: fieldDifference,
};

const query = z.strictObject({
  cursor: z
    .string()
    .regex(/^\d{1,15}\.[\da-f-]{1,36}$/, 'must be that of a link to the next page.')
    .optional()
    .describe('That of a link to the next page.'),
});

/** Documentation of the differences, for clients and users. */
export const activityDifferences = {
  work: 'events',
  summary: 'What an entry did to records, field by field',
  description: `Of changes of orders and their parts, and of reference tables: records, batches, clean-ups, undos. Of a clean-up as long as its deletions are known. A page has at most ${MAX_DIFFERENCES} records. An entry of another kind has none.`,
  query: parametersIn(query),
  answer: json.linkedPage('RecordDifference', MAX_DIFFERENCES),
} as const;

const ENTRY = /^\d{20}\.\d{1,16}\.\d{1,15}$/;

/** @throws NotFoundError */
export async function differencesReply(
  { commands, readModels, lists, config }: Api,
  { req, tenant, query: parameters, path }: ActivityCall & { readonly path: { readonly id: string } },
): Promise<Reply> {
  const { cursor } = parseQuery(query, parameters);
  const page = await lists.run({
    tenant: tenant.name,
    context: req.context,
    advice: () => 'Ask again.',
    find: async (cancellation) => {
      const entry = await entryOf(readModels, tenant.name, path.id, cancellation);
      const from = { eventStore: commands.eventStore, readModels: commands.readModels, tenant };
      return differencesOf(from, entry, cursor, cancellation);
    },
  });
  const next = page.next === undefined ? null : `${requestUrl(req, config)}?cursor=${page.next}`;
  return { body: JSON.stringify({ data: page.differences.map(shown), links: { next } }) };
}

const shown = ({ change, id, fields }: RecordDifference) => ({
  change,
  id,
  fields: Object.fromEntries(Object.entries(fields).map(([name, { from = null, to = null }]) => [name, { from, to }])),
});

/** The entry with this id. @throws NotFoundError */
async function entryOf(
  readModels: Api['readModels'],
  tenant: string,
  id: string,
  cancellation: Cancellation,
): Promise<ActivityEntry> {
  if (ENTRY.test(id)) {
    const place = placeIn(id);
    const before = { ...place, revision: place.revision + 1 };
    const { entries } = await readModels.activity(tenant, { filters: {}, before, limit: 1 }, cancellation);
    const [entry] = entries;
    const isIt = entry?.at === place.at && entry.position === place.position && entry.revision === place.revision;
    if (isIt) return entry;
  }
  throw new NotFoundError(`There is no entry ${id} of the activity.`);
}

type Source = {
  readonly eventStore: StreamReads;
  readonly readModels: Pick<DecisionReads, 'deletedRecords'>;
  readonly tenant: Tenant;
};
type Page = { readonly differences: readonly RecordDifference[]; readonly next?: string | undefined };

/** @param cursor revision of an event, and how many of its differences (of a clean-up: the id up to which they) are shown */
async function differencesOf(
  { eventStore, readModels, tenant: { name: tenant, orderModel } }: Source,
  entry: ActivityEntry,
  cursor: string | undefined,
  cancellation: Cancellation,
): Promise<Page> {
  const [revision = entry.revision, shownBefore = ''] = cursor?.split(/\.(.*)/) ?? [];
  const from: Revision = Math.max(entry.revision, Number(revision));
  const { orderId, table } = entry;
  const isOfTable = table !== undefined && (entry.kind.startsWith('record.') || isOperation(entry));
  if (orderId === undefined && !isOfTable) return { differences: [] };
  const stream = orderId === undefined ? tableStream(tenant, table ?? '') : orderStream(tenant, orderId);
  if (entry.kind === 'table.clean_up') return deleted(readModels, { tenant, table: table ?? '' }, entry, shownBefore);
  const differences: RecordDifference[] = [];
  let characters = 0;
  const pages = { from, to: from + MAX_OPERATION_EVENTS - 1, eventsAPage: 20, cancellation };
  for await (const events of streamPages(eventStore, stream, pages)) {
    for (const event of events) {
      const isOwn = event.metadata.correlationId === entry.correlationId;
      // Others write between the pieces of an undo; all else of a request is one append.
      if (!isOwn && entry.kind !== 'table.undo') return { differences };
      if (!isOwn) continue;
      const known = { type: event.type, data: event.data };
      const made =
        orderId === undefined
          ? differencesIn(known as ReferenceTableEvent)
          : orderDifferences(known as OrderEvent, orderModel, orderId);
      const skipped = event.revision === from ? Number(shownBefore) : 0;
      for (const [index, difference] of [...made].entries()) {
        if (index < skipped) continue;
        characters += JSON.stringify(difference).length;
        const isFull = differences.length === MAX_DIFFERENCES || characters > MAX_DIFFERENCE_CHARACTERS;
        if (isFull && differences.length > 0) return { differences, next: `${event.revision}.${index}` };
        differences.push(difference);
      }
    }
  }
  return { differences };
}

/** The records that a clean-up deleted, as they were. */
async function deleted(
  readModels: Source['readModels'],
  table: { readonly tenant: string; readonly table: string },
  { revision }: ActivityEntry,
  after: string,
): Promise<Page> {
  const page = { limit: MAX_DIFFERENCES, ...(after === '' ? {} : { after }) };
  const { records, next } = await readModels.deletedRecords(table, revision, page);
  const differences = records.map(({ id, fields }): RecordDifference => {
    const set = Object.entries(fields).filter(([, value]) => value !== null);
    return { change: 'delete', id, fields: Object.fromEntries(set.map(([name, from]) => [name, { from, to: null }])) };
  });
  return { differences, next: next === undefined ? undefined : `${revision}.${next}` };
}
