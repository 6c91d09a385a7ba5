/**
 * The activity of a tenant, for auditors: users of the platform, and API clients with the scope `read:audit`; and what an entry
 * did to records, field by field: from its events, and of a clean-up from what it deleted.
 */
import { z } from 'zod';
import { NotFoundError } from '../commands/context.js';
import { eventAt, type StreamReads, streamPages } from '../commands/streamPages.js';
import { SUBJECT_KINDS } from '../domain/activity.js';
import { ERASED } from '../domain/assetTypes/fieldTypes.js';
import { ACTIVITY_KINDS } from '../domain/eventTypes.js';
import type { Tenant } from '../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../domain/identity/scopes.js';
import { MAX_ACTIVITY_CSV, MAX_DIFFERENCE_CHARACTERS, MAX_ENTRIES } from '../domain/limits.js';
import { orderDifferences } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import { orderStream, tableStream } from '../domain/streams.js';
import type { Revision } from '../ports/eventStore.js';
import type { Condition } from '../ports/rowStore.js';
import { type ActivityEntry, type ActivityPage, activityPage, isOperation, newestEntry } from '../queries/activity.js';
import { cancellable, type Rows, roomFor, where } from '../queries/asking.js';
import { tableDifferences } from '../queries/recordHistory.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { namedActor, type ShownActor, shownActor } from './actors.js';
import { cursorLike, exactText, limitOf, period } from './assets/listQuery.js';
import { untilShown } from './assets/moments.js';
import { csvAnswer, csvReply, linkedReply, nextLink } from './assets/pages.js';
import { csvLine, csvPage, textCell } from './csv.js';
import type { Api } from './deps.js';
import { badRequest } from './errors.js';
import * as json from './openapi/schema.js';
import { type Call, type Operation, pathText, type Reply, type Resource } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';

/** The form of an entry's id. */
const ENTRY = /^\d{20}\.\d{1,16}\.\d{1,15}$/;

type ActivityPlace = Pick<ActivityEntry, 'at' | 'position' | 'revision'>;

/** The id of an entry: digits of its time, position and revision. */
const idOf = ({ at, position, revision }: ActivityPlace): string =>
  `${at.replaceAll(/\D/g, '')}.${position}.${revision}`;

/** @param id has the form of `idOf` */
function placeIn(id: string): Omit<ActivityPlace, 'at'> {
  const [, position, revision] = id.split('.');
  return { position: Number(position), revision: Number(revision) };
}

type ShownEntry = Omit<ActivityEntry, 'actor'> & { readonly actor: ShownActor };

const countsSchema = json.closedObject({
  created: json.count,
  updated: json.count,
  seen: { ...json.count, description: 'Unchanged records, sent again with another batch_id.' },
  deleted: json.count,
});

const idOfKind =
  (kind: (typeof SUBJECT_KINDS)[number]) =>
  ({ subject }: ShownEntry): string | null =>
    subject?.kind === kind ? subject.id : null;

const operationIdOf = (entry: ShownEntry): string | null => (isOperation(entry) ? String(entry.revision) : null);

const activityView = json.view<ShownEntry>({
  id: [{ ...json.text, description: 'Also the cursor behind this entry.' }, idOf],
  kind: json.oneOf(ACTIVITY_KINDS),
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  table: json.nullableText,
  record_id: [
    { ...json.nullableText, description: 'Of a record, or of a part of the order `order_id`.' },
    idOfKind('record'),
  ],
  order_id: json.nullableText,
  webhook_id: [json.nullableText, idOfKind('webhook')],
  client_id: [json.nullableText, idOfKind('client')],
  user_id: [json.nullableText, idOfKind('user')],
  operation_id: [{ ...json.nullableText, description: 'Of a batch, a clean-up or an undo.' }, operationIdOf],
  counts: {
    ...json.orNull(json.ref('ActivityCounts')),
    description: 'Of an operation, and of changes of several parts.',
  },
  fields: [{ ...json.listOf(json.text), description: 'Names of changed fields.' }, ({ fields }) => fields ?? []],
  details: [
    { type: 'object', additionalProperties: true, description: 'More, by kind: names, roles, statuses, reasons.' },
    ({ details }) => details ?? {},
  ],
  request: [
    {
      ...json.orNull(json.ref('ActivityRequest')),
      description: 'null: the command line or the service itself, or an earlier release wrote the event.',
    },
    ({ request, causationId }) => (request === undefined ? null : { ...request, request_id: causationId }),
  ],
  correlation_id: json.text,
  causation_id: json.text,
  event_id: { ...json.uuid, description: 'Of its event.' },
  position: json.count,
});

const filters = {
  actor: exactText(
    'By this client, user, operator or part of the service: the id, or the whole name of one who is there.',
  ),
  ...period,
  kind: z.enum(ACTIVITY_KINDS, 'must be a kind of activity.').optional().describe('Of this kind.'),
  table: exactText('On this table.'),
  record_id: exactText('On this record, or part of an order. A batch names no single records: see its differences.'),
  order_id: exactText('On this order or its parts.'),
  webhook_id: exactText('On this webhook.'),
  client_id: exactText('On this API client.'),
  user_id: exactText('On this user.'),
  operation_id: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a number.')
    .optional()
    .describe('This batch, clean-up or undo of `table`.'),
  correlation_id: exactText('Caused by this request, such as the X-Request-Id of an answer.'),
  cursor: cursorLike(ENTRY),
};

const activityQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ENTRIES) });
const csvQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ACTIVITY_CSV, MAX_ACTIVITY_CSV) });
type ActivityQuery = z.output<typeof activityQuery>;
const differencesQuery = z.strictObject({ cursor: cursorLike(/^\d{1,15}\.[\da-f-]{1,36}$/) });

const SUMMARY = 'Who did what, when, on what: the newest first';
/** The operations of an area's principals. */
const activityFor = (
  tag: string,
  [list, csv, differences]: readonly [list: string, csv: string, differences: string],
  allowed: Pick<Operation, 'allow' | 'isOnTable'>,
): Resource => ({
  tag,
  pathParameters: { id: { ...pathText('entry_id'), example: '20261125224123456789.1042.17' } },
  schemas: {
    ActivityEntry: activityView.schema,
    ActivityCounts: countsSchema,
    ActivityRequest: json.closedObject({ method: json.text, path: json.text, request_id: json.text }),
    RecordDifference: json.closedObject({
      change: json.oneOf(['create', 'update', 'delete']),
      id: json.uuid,
      fields: {
        type: 'object',
        description: '`from` and `to` by field.',
        additionalProperties: json.ref('FieldDifference'),
      },
    }),
    FieldDifference: json.closedObject({ from: {}, to: {} }),
  },
  operations: {
    'GET /activity': {
      id: list,
      ...allowed,
      work: 'list',
      summary: SUMMARY,
      description: `One entry for each request that changed something or was refused to a person, for what was done at the command line, and for what the service did by itself. Entries stay when their actor is removed.`,
      query: parametersIn(activityQuery),
      answer: json.linkedPage('ActivityEntry', MAX_ENTRIES),
      handle: activityReply,
    },
    'GET /activity.csv': {
      id: csv,
      ...allowed,
      work: 'list',
      summary: `${SUMMARY}, as CSV`,
      description: `The same entries as CSV (RFC 4180), ${MAX_ACTIVITY_CSV} at most; a Link (RFC 8288) leads to the next.`,
      query: parametersIn(csvQuery),
      answer: csvAnswer('The entries, one in each line.', 'The next entries, with rel="next".'),
      handle: activityCsvReply,
    },
    'GET /activity/:id/differences': {
      id: differences,
      ...allowed,
      work: 'list',
      summary: 'What an entry did to records, field by field',
      description: `Of changes of orders and their parts, and of reference tables: records, batches, clean-ups, undos. A page has at most ${MAX_ENTRIES} records. An entry of another kind has none.`,
      query: parametersIn(differencesQuery),
      answer: json.linkedPage('RecordDifference', MAX_ENTRIES),
      handle: differencesReply,
    },
  },
});

const CLIENT_IDS = ['listActivity', 'exportActivity', 'listActivityDifferences'] as const;
const PLATFORM_IDS = ['platformListActivity', 'platformExportActivity', 'platformListActivityDifferences'] as const;
/** For API clients that audit. */
export const clientActivity = activityFor('activity', CLIENT_IDS, { allow: AUDIT_SCOPE, isOnTable: false });
export const activity = activityFor('platform: activity', PLATFORM_IDS, { allow: 'adminsAndAuditors' });

/** A page as JSON. */
async function activityReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { entries, next } = await entriesFor(api, call, parseQuery(activityQuery, call.query), cancellation);
  return { body: JSON.stringify({ data: entries.map(activityView.show), links: { next } }) };
}

/** A page as CSV. */
async function activityCsvReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const asked = parseQuery(csvQuery, call.query);
  const { entries, next } = await entriesFor(api, call, asked, cancellation);
  const lines = entries.map((entry) => csvLine(CSV.map(([, of]) => activityCell(of(entry)))));
  const names = CSV.map(([name]) => name);
  return csvReply('activity', csvPage(asked.cursor, names, lines), next);
}

async function entriesFor(api: Api, call: Call, asked: ActivityQuery, cancellation: Cancellation) {
  const { tenant } = call;
  const { eventStore } = api.commands;
  await untilShown(api, tenant.name);
  const conditions = await conditionsFor(api, tenant, asked);
  const before = asked.cursor === undefined ? undefined : placeIn(asked.cursor);
  const read = (found: readonly Condition[]): Promise<ActivityPage> =>
    activityPage(cancellable(api.rows, cancellation), tenant.name, { conditions: found, before, limit: asked.limit });
  const page = conditions === undefined ? { entries: [] } : await read(conditions);
  const entries = page.entries.map((entry): ShownEntry => {
    const isErased =
      entry.kind === 'user.added' && eventStore.erasures?.isErasedUser(tenant.name, entry.subject?.id ?? '');
    const details = isErased === true ? { details: { ...entry.details, name: ERASED } } : {};
    return { ...entry, ...details, actor: shownActor(api.commands, tenant, entry.actor) };
  });
  return { entries, next: nextLink(api, call, page.next && idOf(page.next)) };
}

/** Ids are found whatever their case: they are stored as the event has them. */
const inAnyCase = (id: string | undefined): readonly string[] | undefined =>
  id === undefined ? undefined : [...new Set([id, id.toLowerCase(), id.toUpperCase()])];

/** Undefined if nothing can pass the filters. @throws HttpError 400 */
async function conditionsFor(
  api: Api,
  tenant: Tenant,
  asked: ActivityQuery,
): Promise<readonly Condition[] | undefined> {
  const { kind, table, order_id, operation_id: operation, from, to } = asked;
  const subjects = SUBJECT_KINDS.filter((each) => asked[`${each}_id`] !== undefined);
  if (subjects.length > 1) throw badRequest('record_id, webhook_id, client_id and user_id exclude each other.');
  const [subject] = subjects;
  let correlationId = asked.correlation_id;
  if (operation !== undefined) {
    if (table === undefined) throw badRequest('operation_id needs table: each table numbers its operations.');
    // All events of an operation have the correlation id of its request.
    const stream = tableStream(tenant.name, table);
    const found = (await eventAt(api.commands.eventStore, stream, Number(operation)))?.metadata.correlationId;
    if (found === undefined || (correlationId ?? found) !== found) return undefined;
    correlationId = found;
  }
  return where({
    kind,
    table,
    created_at: { gte: from, lte: to },
    subject_kind: subject,
    subject_id: subject && inAnyCase(asked[`${subject}_id`]),
    order_id: inAnyCase(order_id),
    actor_id: inAnyCase(asked.actor === undefined ? undefined : namedActor(tenant, asked.actor)),
    correlation_id: inAnyCase(correlationId),
  });
}

const text = (value: string | number | null | undefined): string => String(value ?? '');

/** Nothing is null and nothing an empty text here. */
const activityCell = (text: string): string => (text === '' ? '' : textCell(text));

const CSV: readonly (readonly [name: string, of: (entry: ShownEntry) => string])[] = [
  ['occurred_at', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_id', ({ actor }) => actor.id],
  ['actor_name', ({ actor }) => text(actor.name)],
  ['table', ({ table }) => text(table)],
  ...SUBJECT_KINDS.map((kind) => [`${kind}_id`, (entry: ShownEntry) => text(idOfKind(kind)(entry))] as const),
  ['order_id', ({ orderId }) => text(orderId)],
  ['operation_id', (entry) => text(operationIdOf(entry))],
  ...(['created', 'updated', 'seen', 'deleted'] as const).map(
    (name) => [name, ({ counts }: ShownEntry) => text(counts?.[name])] as const,
  ),
  ['fields', ({ fields = [] }) => fields.join(' ')],
  ['details', ({ details }) => (details === undefined ? '' : JSON.stringify(details))],
  ['method', ({ request }) => text(request?.method)],
  ['path', ({ request }) => text(request?.path)],
  ['correlation_id', ({ correlationId }) => correlationId],
  ['id', idOf],
];

/** @throws NotFoundError */
async function differencesReply(
  api: Api,
  { req, tenant, query: parameters, path }: Call,
  cancellation: Cancellation,
): Promise<Reply> {
  const { cursor } = parseQuery(differencesQuery, parameters);
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

type DifferencePage = { readonly differences: readonly RecordDifference[]; readonly next?: string | undefined };

/** @param cursor of a table: a place; of an order: revision of an event, and how many of its differences are shown */
async function differencesOf(
  { rows, commands: { eventStore } }: Api,
  tenant: Tenant,
  entry: ActivityEntry,
  cursor: string | undefined,
  cancellation: Cancellation,
): Promise<DifferencePage> {
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
): Promise<DifferencePage> {
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
