/** What an entry of the activity did to records, field by field: from its events, and of a clean-up from what it deleted. */
import { z } from 'zod';
import { NotFoundError } from '../commands/context.js';
import { type StreamReads, streamPages } from '../commands/streamPages.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_ENTRIES } from '../domain/limits.js';
import { orderDifferences } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import { orderStream } from '../domain/streams.js';
import type { Revision } from '../ports/eventStore.js';
import { type ActivityEntry, isOperation, newestEntry } from '../queries/activity.js';
import { cancellable, type Rows, roomFor, where } from '../queries/asking.js';
import { tableDifferences } from '../queries/recordHistory.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { cursorLike } from './assets/listQuery.js';
import { linkedReply } from './assets/pages.js';
import type { Api } from './deps.js';
import * as json from './openapi/schema.js';
import { type Call, pathText, type Reply } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';

export const ENTRY_ID: json.Parameter = {
  ...pathText('entry_id'),
  example: '20261125224123456789.1042.17',
};

/** The form of an entry's id. */
export const ENTRY = /^\d{20}\.\d{1,16}\.\d{1,15}$/;

type ActivityPlace = Pick<ActivityEntry, 'at' | 'position' | 'revision'>;

/** The id of an entry: digits of its time, position and revision. */
export const idOf = ({ at, position, revision }: ActivityPlace): string =>
  `${at.replaceAll(/\D/g, '')}.${position}.${revision}`;

/** @param id has the form of `idOf` */
export function placeIn(id: string): Omit<ActivityPlace, 'at'> {
  const [, position, revision] = id.split('.');
  return { position: Number(position), revision: Number(revision) };
}

const fieldDifference = json.closedObject({ from: {}, to: {} });
const differenceSchema = json.closedObject({
  change: json.oneOf(['create', 'update', 'delete']),
  id: json.uuid,
  fields: {
    type: 'object',
    description: '`from` and `to` by field.',
    additionalProperties: json.ref('FieldDifference'),
  },
});

export const differenceSchemas: json.Schemas = {
  RecordDifference: differenceSchema,
  FieldDifference: fieldDifference,
};

const query = z.strictObject({
  cursor: cursorLike(/^\d{1,15}\.[\da-f-]{1,36}$/),
});

/** Documentation of the differences, for clients and users. */
export const activityDifferences = {
  work: 'list',
  summary: 'What an entry did to records, field by field',
  description: `Of changes of orders and their parts, and of reference tables: records, batches, clean-ups, undos. A page has at most ${MAX_ENTRIES} records. An entry of another kind has none.`,
  query: parametersIn(query),
  answer: json.linkedPage('RecordDifference', MAX_ENTRIES),
} as const;

/** @throws NotFoundError */
export async function differencesReply(
  api: Api,
  { req, tenant, query: parameters, path }: Call,
  cancellation: Cancellation,
): Promise<Reply> {
  const { cursor } = parseQuery(query, parameters);
  const entry = await entryOf(cancellable(api.rows, cancellation), tenant.name, path.id);
  const page = await differencesOf(api, tenant, entry, cursor, cancellation);
  const data = page.differences.map(({ change, id, fields }) => ({ change, id, fields }));
  return linkedReply(api, { req, query: parameters }, data, page.next);
}

/** The entry with this id. @throws NotFoundError */
async function entryOf(rows: Rows, tenant: string, id: string): Promise<ActivityEntry> {
  const entry = ENTRY.test(id) ? await newestEntry(rows, tenant, where(placeIn(id))) : undefined;
  if (entry === undefined || idOf(entry) !== id) throw new NotFoundError(`There is no entry ${id} of the activity.`);
  return entry;
}

type Page = { readonly differences: readonly RecordDifference[]; readonly next?: string | undefined };

/** @param cursor of a table: a place; of an order: revision of an event, and how many of its differences are shown */
async function differencesOf(
  { rows, commands: { eventStore } }: Api,
  tenant: Tenant,
  entry: ActivityEntry,
  cursor: string | undefined,
  cancellation: Cancellation,
): Promise<Page> {
  const [first, second = '0'] = cursor?.split('.') ?? [];
  const { orderId, table } = entry;
  if (orderId !== undefined) {
    const from = { revision: Math.max(entry.revision, Number(first ?? 0)), shown: Number(second) };
    return ofOrder(eventStore, tenant, { ...entry, orderId }, from, cancellation);
  }
  if (table === undefined || !(entry.kind.startsWith('record.') || isOperation(entry))) return { differences: [] };
  const behind = first === undefined ? undefined : ([Number(first), Number(second)] as const);
  const ofTable = { ...entry, table };
  const { differences, next } = await tableDifferences(cancellable(rows, cancellation), tenant.name, ofTable, behind);
  return { differences, next: next?.join('.') };
}

/** Of the entry's event, and of others that its request appended with it. */
async function ofOrder(
  eventStore: StreamReads,
  { name: tenant, orderModel }: Tenant,
  { orderId, correlationId }: ActivityEntry & { readonly orderId: string },
  from: { readonly revision: Revision; readonly shown: number },
  cancellation: Cancellation,
): Promise<Page> {
  const differences: RecordDifference[] = [];
  const fits = roomFor(MAX_ENTRIES, MAX_DIFFERENCE_CHARACTERS);
  const pages = { from: from.revision, eventsAPage: 20, cancellation };
  for await (const events of streamPages(eventStore, orderStream(tenant, orderId), pages)) {
    for (const { type, data, revision, metadata } of events) {
      if (metadata.correlationId !== correlationId) return { differences };
      const made = orderDifferences({ type, data } as OrderEvent, orderModel, orderId);
      for (const [index, difference] of made.entries()) {
        if (revision === from.revision && index < from.shown) continue;
        if (!fits(JSON.stringify(difference).length)) return { differences, next: `${revision}.${index}` };
        differences.push(difference);
      }
    }
  }
  return { differences };
}
