/** The activity of a tenant, for auditors: users of the platform, and API clients with the scope `read:audit`. */
import type { Request } from 'express';
import { z } from 'zod';
import { eventAt } from '../commands/streamPages.js';
import { ACTIVITY_KINDS, SUBJECT_KINDS } from '../domain/activity.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_ACTIVITY, MAX_ACTIVITY_CSV, MAX_ACTIVITY_SEARCHED, MAX_FILTER_VALUE_LENGTH } from '../domain/limits.js';
import { tableStream } from '../domain/streams.js';
import type { ActivityFilters } from '../queries/activity.js';
import { type Activities, type ActivityGroup, activityGroups, idOf, isOperation, placeIn } from './activityGroups.js';
import { actorsShown, namedActor, type ShownActor } from './actors.js';
import { csvLine, csvPage, textCell } from './csv.js';
import type { Api } from './deps.js';
import { badRequest } from './errors.js';
import * as json from './openapi/schema.js';
import type { Reply } from './routes/operation.js';
import { parametersIn, parseQuery } from './routes/query.js';
import { untilShown } from './shownSoon.js';
import { requestUrl } from './tenantHost.js';
import { period } from './timeQuery.js';

type ShownGroup = ActivityGroup & { readonly shownActor: ShownActor };

const countsSchema = json.closedObject({
  created: json.count,
  updated: json.count,
  seen: { ...json.count, description: 'Unchanged records, sent again with another batch_id.' },
  deleted: json.count,
});

const idOfKind =
  (kind: (typeof SUBJECT_KINDS)[number]) =>
  ({ subject }: ActivityGroup): string | null =>
    subject?.kind === kind ? subject.id : null;

const operationIdOf = (group: ActivityGroup): string | null => (isOperation(group) ? String(group.revision) : null);

const activityView = json.view<ShownGroup>({
  id: [{ ...json.text, description: 'Also the cursor behind this entry.' }, idOf],
  kind: [json.oneOf(ACTIVITY_KINDS), ({ kind }) => kind],
  occurred_at: [json.timestamp, ({ at }) => at],
  actor: [json.ref('Actor'), ({ shownActor }) => shownActor],
  table: [json.nullableText, ({ table }) => table ?? null],
  record_id: [
    { ...json.nullableText, description: 'Of a record, or of a part of the order `order_id`.' },
    idOfKind('record'),
  ],
  order_id: [json.nullableText, ({ orderId }) => orderId ?? null],
  webhook_id: [json.nullableText, idOfKind('webhook')],
  client_id: [json.nullableText, idOfKind('client')],
  user_id: [json.nullableText, idOfKind('user')],
  operation_id: [{ ...json.nullableText, description: 'Of a batch, a clean-up or an undo.' }, operationIdOf],
  counts: [
    { ...json.orNull(json.ref('ActivityCounts')), description: 'Of an operation, and of changes of several parts.' },
    ({ counts }) => counts ?? null,
  ],
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
  correlation_id: [json.text, ({ correlationId }) => correlationId],
  causation_id: [json.text, ({ causationId }) => causationId],
  event_id: [{ ...json.uuid, description: 'Of the first of its events.' }, ({ eventId }) => eventId],
  position: [json.count, ({ position }) => position],
});

/** Schemas of the answers. */
export const activitySchemas: json.Schemas = {
  ActivityEntry: activityView.schema,
  ActivityCounts: countsSchema,
  ActivityRequest: json.closedObject({ method: json.text, path: json.text, request_id: json.text }),
};

const named = (description: string) =>
  z
    .string()
    .min(1, 'must not be empty.')
    .max(MAX_FILTER_VALUE_LENGTH, `must have at most ${MAX_FILTER_VALUE_LENGTH} characters.`)
    .optional()
    .describe(description);

const DEFAULT_LIMIT = 25;

/** @throws HttpError 400 when it is parsed */
export const limitOf = (most: number, byDefault: number) =>
  z
    .preprocess((text) => (/^\d{1,6}$/.test(String(text)) ? Number(text) : text), z.int().min(1).max(most))
    .catch(() => {
      throw badRequest(`limit must be 1 to ${most}.`);
    })
    .default(byDefault)
    .meta({ type: 'integer', minimum: 1, maximum: most, default: byDefault, description: 'Entries on a page.' });

const filters = {
  actor: named('By this client, user, operator or part of the service: the id, or the whole name of one who is there.'),
  ...period,
  kind: z.enum(ACTIVITY_KINDS, 'must be a kind of activity.').optional().describe('Of this kind.'),
  table: named('On this table.'),
  record_id: named('On this record, or part of an order. A batch names no single records: see its differences.'),
  order_id: named('On this order or its parts.'),
  webhook_id: named('On this webhook.'),
  client_id: named('On this API client.'),
  user_id: named('On this user.'),
  operation_id: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a number.')
    .optional()
    .describe('This batch, clean-up or undo of `table`.'),
  correlation_id: named('Caused by this request, such as the X-Request-Id of an answer.'),
  cursor: z
    .string()
    .regex(/^\d{20}\.\d{1,16}\.\d{1,15}$/, 'must be that of a link to the next page.')
    .optional()
    .describe('That of a link to the next page.'),
};

const activityQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ACTIVITY, DEFAULT_LIMIT) });
const csvQuery = z.strictObject({ ...filters, limit: limitOf(MAX_ACTIVITY_CSV, MAX_ACTIVITY_CSV) });
type Asked = Omit<z.output<typeof activityQuery>, 'limit'>;

const SUMMARY = 'Who did what, when, on what: the newest first';
const SEARCH = `A page about one record looks at ${MAX_ACTIVITY_SEARCHED} of its changes: with other filters it may have fewer entries, or none, and still a link to the next.`;

/** Documentation of the list, for clients and users. */
export const activityList = {
  summary: SUMMARY,
  description: `One entry for each request that changed something or was refused to a person, for what was done at the command line, and for what the service did by itself. Entries stay when their actor is removed. ${SEARCH}`,
  query: parametersIn(activityQuery),
  answer: json.linkedPage('ActivityEntry', MAX_ACTIVITY),
} as const;

/** The same as CSV. */
export const activityCsv = {
  work: 'costly',
  summary: `${SUMMARY}, as CSV`,
  description: `The same entries as CSV (RFC 4180), ${MAX_ACTIVITY_CSV} at most; a Link (RFC 8288) leads to the next. ${SEARCH}`,
  query: parametersIn(csvQuery),
  answer: {
    description: 'The entries, one in each line.',
    headers: { Link: { description: 'The next entries, with rel="next".', schema: json.text } },
    content: { 'text/csv': { schema: json.text } },
  },
} as const;

export type ActivityCall = { readonly req: Request; readonly tenant: Tenant; readonly query: URLSearchParams };

/** A page as JSON. */
export async function activityReply(api: Api, call: ActivityCall): Promise<Reply> {
  const { limit, ...asked } = parseQuery(activityQuery, call.query);
  const { groups, next } = await groupsFor(api, call, asked, limit);
  return { body: JSON.stringify({ data: groups.map(activityView.show), links: { next } }) };
}

/** A page as CSV. */
export async function activityCsvReply(api: Api, call: ActivityCall): Promise<Reply> {
  const { limit, ...asked } = parseQuery(csvQuery, call.query);
  const { groups, next } = await groupsFor(api, call, asked, limit);
  const lines = groups.map((group) => csvLine(CSV.map(([, of]) => activityCell(of(group)))));
  const headers = {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': 'attachment; filename="activity.csv"',
    ...(next === null ? {} : { Link: `<${next}>; rel="next"` }),
  };
  const names = CSV.map(([name]) => name);
  return { body: csvPage(asked.cursor, names, lines), headers };
}

async function groupsFor(api: Api, { req, tenant, query }: ActivityCall, asked: Asked, limit: number) {
  const { commands, config, queries } = api;
  const { deadline } = req.context;
  await untilShown(api, tenant.name);
  const wanted = await filtersOf(api, tenant, asked);
  const read: Activities = (more) =>
    api.lists.run({
      context: req.context,
      advice: () => 'Narrow the time with from and to.',
      find: (cancellation) =>
        queries.activity.page(
          tenant.name,
          { ...more, from: asked.from, to: asked.to, filters: wanted ?? {} },
          cancellation,
        ),
    });
  const before = asked.cursor === undefined ? undefined : placeIn(asked.cursor);
  const page = wanted === undefined ? { groups: [] } : await activityGroups(read, { before, limit });
  const shown = await actorsShown(
    commands,
    tenant,
    page.groups.map(({ actor }) => actor),
    deadline,
  );
  const groups = page.groups.map((group): ShownGroup => ({ ...group, shownActor: shown(group.actor) }));
  if (page.next === undefined) return { groups, next: null };
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', idOf(page.next));
  return { groups, next: `${requestUrl(req, config)}?${parameters}` };
}

/** Undefined if nothing can pass them. @throws HttpError 400 */
async function filtersOf(api: Api, tenant: Tenant, asked: Asked): Promise<ActivityFilters | undefined> {
  const { kind, table, order_id: orderId, operation_id: operation, correlation_id: correlationId } = asked;
  const subjects = SUBJECT_KINDS.flatMap((each) => {
    const id = asked[`${each}_id`];
    return id === undefined ? [] : [{ kind: each, id }];
  });
  if (subjects.length > 1) throw badRequest('record_id, webhook_id, client_id and user_id exclude each other.');
  const actor = asked.actor === undefined ? undefined : namedActor(tenant, asked.actor);
  const given = { kind, table, orderId, correlationId, actor, subject: subjects[0] };
  if (operation === undefined) return given;
  if (table === undefined) throw badRequest('operation_id needs table: each table numbers its operations.');
  // All events of an operation have the correlation id of its request.
  const stream = tableStream(tenant.name, table);
  const event = await eventAt(api.commands.eventStore, stream, Number(operation));
  const found = event?.metadata.correlationId;
  if (found === undefined || (correlationId ?? found) !== found) return undefined;
  return { ...given, correlationId: found };
}

const text = (value: string | number | null | undefined): string => String(value ?? '');

/** Nothing is null and nothing an empty text here. */
const activityCell = (text: string): string => (text === '' ? '' : textCell(text));

const CSV: readonly (readonly [name: string, of: (group: ShownGroup) => string])[] = [
  ['occurred_at', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['actor_kind', ({ shownActor }) => shownActor.kind],
  ['actor_id', ({ shownActor }) => shownActor.id],
  ['actor_name', ({ shownActor }) => text(shownActor.name)],
  ['table', ({ table }) => text(table)],
  ...SUBJECT_KINDS.map((kind) => [`${kind}_id`, (group: ShownGroup) => text(idOfKind(kind)(group))] as const),
  ['order_id', ({ orderId }) => text(orderId)],
  ['operation_id', (group) => text(operationIdOf(group))],
  ...(['created', 'updated', 'seen', 'deleted'] as const).map(
    (name) => [name, ({ counts }: ShownGroup) => text(counts?.[name])] as const,
  ),
  ['fields', ({ fields = [] }) => fields.join(' ')],
  ['details', ({ details }) => (details === undefined ? '' : JSON.stringify(details))],
  ['method', ({ request }) => text(request?.method)],
  ['path', ({ request }) => text(request?.path)],
  ['correlation_id', ({ correlationId }) => correlationId],
  ['id', idOf],
];
