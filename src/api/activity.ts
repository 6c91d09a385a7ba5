/** The activity of a tenant, for auditors: users of the platform, and API clients with the scope `read:audit`. */
import { z } from 'zod';
import { SUBJECT_KINDS } from '../domain/activity.js';
import { ERASED, type Fields } from '../domain/assetTypes/fieldTypes.js';
import { ACTIVITY_KINDS, type ActivityKind } from '../domain/eventTypes.js';
import type { Tenant } from '../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../domain/identity/scopes.js';
import { MAX_ACTIVITY_ROWS, MAX_ENTRIES } from '../domain/limits.js';
import { nameIn } from '../domain/order/document.js';
import type { Condition } from '../ports/rowStore.js';
import { type ActivityEntry, activityPage, isTableOperation, newestEntry } from '../queries/activity.js';
import { cancellable, where } from '../queries/asking.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type Acted, acted, namedActor } from './actors.js';
import { cursorLike, exactText, limitOf, period } from './assets/listQuery.js';
import { untilShown } from './assets/moments.js';
import { nextLink, recordsIn } from './assets/pages.js';
import { csvLine, textCell } from './csv.js';
import type { Api } from './deps.js';
import { badRequest } from './errors.js';
import * as json from './openapi/schema.js';
import { withCustomers } from './platform/orderList.js';
import type { Call, Operation, Reply, Resource } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';

/** Digits of its time, position and revision. */
const idOf = ({ at, position, revision }: Pick<ActivityEntry, 'at' | 'position' | 'revision'>): string =>
  `${at.replaceAll(/\D/g, '')}.${position}.${revision}`;

type ShownEntry = Acted<ActivityEntry> & { readonly name?: string | undefined; readonly customer?: unknown };

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

const operationIdOf = (entry: ShownEntry): string | null => (isTableOperation(entry) ? String(entry.revision) : null);

const activityView = json.view<ShownEntry>({
  id: [{ ...json.text, description: 'Also the cursor behind this entry.' }, idOf],
  kind: json.oneOf(ACTIVITY_KINDS),
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: json.ref('Actor'),
  table: json.nullableText,
  record_id: [json.nullableText, idOfKind('record')],
  order_id: json.nullableText,
  webhook_id: [json.nullableText, idOfKind('webhook')],
  client_id: [json.nullableText, idOfKind('client')],
  user_id: [json.nullableText, idOfKind('user')],
  name: { ...json.nullableText, description: 'What the order, record, webhook, client or user is or was called.' },
  customer: { ...json.nullableText, description: 'Name of the customer of the order.' },
  operation_id: [
    { ...json.nullableText, description: 'Of a batch, a clean-up, a deletion or an undo.' },
    operationIdOf,
  ],
  counts: json.orNull(json.ref('ActivityCounts')),
  fields: [{ ...json.listOf(json.text), description: 'Names of changed fields.' }, ({ fields }) => fields ?? []],
  details: [
    { type: 'object', additionalProperties: true, description: 'More, by kind: names, roles, statuses, reasons.' },
    ({ details }) => details ?? {},
  ],
  request: [
    json.orNull(json.ref('ActivityRequest')),
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
  record_id: exactText('On this record, or part of an order. A batch names no single records.'),
  order_id: exactText('On this order or its parts.'),
  webhook_id: exactText('On this webhook.'),
  client_id: exactText('On this API client.'),
  user_id: exactText('On this user.'),
  correlation_id: exactText('Caused by this request, such as the X-Request-Id of an answer.'),
  cursor: cursorLike(/^\d{20}\.\d{1,16}\.\d{1,15}$/),
};

const activityQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ENTRIES) });
const csvQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ACTIVITY_ROWS, MAX_ACTIVITY_ROWS) });
type ActivityQuery = z.output<typeof activityQuery>;

const SUMMARY = 'Who did what, when, on what: the newest first';
/** The operations of an area's principals. */
const activityFor = (allow: Operation['allow']): Resource => ({
  tag: 'activity',
  schemas: {
    ActivityEntry: activityView.schema,
    ActivityCounts: countsSchema,
    ActivityRequest: json.closedObject({ method: json.text, path: json.text, request_id: json.text }),
  },
  operations: {
    'GET /activity': {
      id: 'listActivity',
      allow,
      work: 'list',
      summary: SUMMARY,
      description:
        'What requests changed, what was refused to a person, and what was done at the command line or by the service itself.',
      query: parametersIn(activityQuery),
      answer: json.linkedPage('ActivityEntry', MAX_ENTRIES),
      handle: activityReply,
    },
    'GET /activity.csv': {
      id: 'exportActivity',
      allow,
      work: 'list',
      summary: `${SUMMARY}, as CSV`,
      description: `RFC 4180, ${MAX_ACTIVITY_ROWS} entries at most; a Link (RFC 8288) leads to the next.`,
      query: parametersIn(csvQuery),
      answer: {
        description: 'The entries, one in each line.',
        content: { 'text/csv': { schema: json.text } },
      },
      handle: activityCsvReply,
    },
  },
});

/** For API clients that audit. */
export const clientActivity = activityFor(AUDIT_SCOPE);
export const activity = activityFor('adminsAndAuditors');

/** A page as JSON. */
async function activityReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const { entries, next } = await entriesFor(api, call, parseQuery(activityQuery, call.query), cancellation);
  const data = (await named(api, call.tenant, entries)).map(activityView.show);
  return { body: JSON.stringify({ data, links: { next } }) };
}

/** The first of them that an order or a record has is its name. */
const NAMES = ['customer_reference', 'sales_order_id', 'transport_reference', 'name', 'external_id', 'code'] as const;

/** The first name of what is no record. */
const MADE: readonly ActivityKind[] = ['webhook.created', 'client.created', 'user.added'];

/** Adds what people call that of which an entry is, or called it while it was there. */
async function named({ queries, rows, commands }: Api, tenant: Tenant, entries: readonly ShownEntry[]) {
  const tableOf = ({ orderId, table }: ShownEntry) => (orderId === undefined ? table : tenant.orderModel);
  const subjectOf = ({ orderId, subject }: ShownEntry) => (orderId ?? subject?.id ?? '').toLowerCase();
  const found = new Map<string, Fields>();
  for (const table of new Set(entries.map(tableOf))) {
    if (table === undefined || !tenant.assetTypes.has(table)) continue;
    const ids = new Set(entries.filter((entry) => tableOf(entry) === table).map(subjectOf));
    const texts = await queries.records.byIds({ tenant: tenant.name, table }, [...ids]);
    const records = recordsIn(texts.filter((text) => text !== null).join());
    const all = table === tenant.orderModel ? await withCustomers(queries.records, tenant, records) : records;
    for (const record of all) found.set(record.id, record);
    // What was deleted is called as it was.
    for (const id of ids) {
      if (id === '' || found.has(id)) continue;
      const { versions } = await rows.versions({ tenant: tenant.name, space: table }, { id, limit: 1 });
      found.set(id, JSON.parse(versions[0]?.data ?? '{}'));
    }
  }
  const nameNow = (id: string): string | undefined => {
    const user = tenant.users.get(Number(id));
    return (tenant.webhooks.get(id) ?? tenant.clients.get(id))?.name ?? (user && `${user.firstName} ${user.lastName}`);
  };
  for (const { subject } of entries) {
    const { kind = 'record', id = '' } = subject ?? {};
    if (kind === 'record' || found.has(id) || nameNow(id) !== undefined) continue;
    const isErased = kind === 'user' && commands.eventStore.erasures?.isErasedUser(tenant.name, id);
    const made = await newestEntry(rows, tenant.name, where({ subject_kind: kind, subject_id: id, kind: MADE }));
    found.set(id, { name: isErased ? ERASED : String(made?.details?.name ?? '') });
  }
  return entries.map((entry) => {
    const id = subjectOf(entry);
    const record = found.get(id) ?? {};
    const name = NAMES.map((each) => nameIn(record, each)).find(Boolean) ?? nameNow(id);
    return { ...entry, name, customer: record.customer };
  });
}

/** A page as CSV. */
async function activityCsvReply(api: Api, call: Call, cancellation: Cancellation): Promise<Reply> {
  const asked = parseQuery(csvQuery, call.query);
  const { entries, next } = await entriesFor(api, call, asked, cancellation);
  const lines = [COLUMNS, ...entries.map(cellsOf)].map((cells) => csvLine(cells));
  return {
    // Spreadsheets take a file without a byte order mark for Windows-1252. Only the first has it, so that pages can be joined.
    body: `${asked.cursor === undefined ? '\uFEFF' : ''}${lines.join('')}`,
    headers: {
      'Content-Type': 'text/csv; charset=utf-8; header=present',
      'Content-Disposition': 'attachment; filename="activity.csv"',
      ...(next !== null && { Link: `<${next}>; rel="next"` }),
    },
  };
}

async function entriesFor(api: Api, call: Call, asked: ActivityQuery, cancellation: Cancellation) {
  const { tenant } = call;
  await untilShown(api, tenant.name);
  const [, position, revision] = asked.cursor?.split('.').map(Number) ?? [];
  const before = position === undefined || revision === undefined ? undefined : { position, revision };
  const wanted = { conditions: conditionsFor(tenant, asked), before, limit: asked.limit };
  const page = await activityPage(cancellable(api.rows, cancellation), tenant.name, wanted);
  const entries = page.entries.map((entry): ShownEntry => {
    const isErased =
      entry.kind === 'user.added' &&
      api.commands.eventStore.erasures?.isErasedUser(tenant.name, entry.subject?.id ?? '');
    return acted(api.commands, tenant, isErased ? { ...entry, details: { ...entry.details, name: ERASED } } : entry);
  });
  return { entries, next: nextLink(api, call, page.next && idOf(page.next)) };
}

/** Ids are found whatever their case: they are stored as the event has them. */
const inAnyCase = (id: string | undefined): readonly string[] | undefined =>
  id === undefined ? undefined : [id, id.toLowerCase(), id.toUpperCase()];

/** @throws HttpError 400 */
function conditionsFor(tenant: Tenant, asked: ActivityQuery): readonly Condition[] {
  const { kind, table, order_id, from, to } = asked;
  const [subject, other] = SUBJECT_KINDS.filter((each) => asked[`${each}_id`] !== undefined);
  if (other !== undefined) throw badRequest('record_id, webhook_id, client_id and user_id exclude each other.');
  return where({
    kind,
    table,
    created_at: { gte: from, lte: to },
    subject_kind: subject,
    subject_id: subject && inAnyCase(asked[`${subject}_id`]),
    order_id: inAnyCase(order_id),
    actor_id: inAnyCase(asked.actor && namedActor(tenant, asked.actor)),
    correlation_id: inAnyCase(asked.correlation_id),
  });
}

const COLUMNS =
  'occurred_at kind actor_kind actor_id actor_name table record_id webhook_id client_id user_id order_id operation_id created updated seen deleted fields details method path correlation_id id'.split(
    ' ',
  );

function cellsOf(entry: ShownEntry): readonly string[] {
  const { actor, fields = [], details } = entry;
  const row: { readonly [column: string]: unknown } = {
    ...activityView.show(entry),
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    ...entry.counts,
    ...entry.request,
    fields: fields.join(' '),
    details: details && JSON.stringify(details),
  };
  // Nothing is null and nothing an empty text here.
  return COLUMNS.map((name) => String(row[name] ?? '')).map((text) => (text === '' ? '' : textCell(text)));
}
