/** The event log, the latest events first: `/api/v1/operator/log`. A page reads a bounded number of events. */
import { z } from 'zod';
import { NotFoundError } from '../../commands/context.js';
import { eventAt, streamPagesBackwards } from '../../commands/streamPages.js';
import { eventTypes } from '../../domain/eventTypes.js';
import { charactersOf } from '../../domain/jsonSize.js';
import { MAX_READ_CHARACTERS, MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { isProvable, parseStream } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';
import { nextLink } from '../assets/pages.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import type { OperatorParts } from './parts.js';

/** Events that one page of the log looks at. */
const MAX_LOG_PAGE_EVENTS = 2_000;

const text = z.string().max(MAX_STRING_LENGTH, 'is too long.');
const moment = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-26T09:00:00Z.' })
  .transform((time) => new Date(time).toISOString().replace('Z', '000Z'));
const number = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number.')
  .transform(Number);

const logQuery = z.strictObject({
  stream: text.optional(),
  tenant: text.optional(),
  kind: z.enum(Object.keys(eventTypes), 'must be the type of an event.').optional(),
  since: moment.optional(),
  until: moment.optional(),
  after: number.optional(),
});
type LogQuery = z.output<typeof logQuery>;

const placeQuery = z.strictObject({
  stream: text,
  revision: number,
});

const eventFields = {
  position: json.count,
  id: json.uuid,
  stream: json.text,
  revision: json.count,
  type: json.text,
  tenant: [json.nullableText, ({ metadata }: RecordedEvent) => metadata.tenant || null],
  occurred_at: [json.timestamp, ({ metadata }: RecordedEvent) => metadata.occurredAt],
  actor: [
    json.closedObject({ kind: json.text, id: json.text, name: json.nullableText }),
    ({ metadata: { actor } }: RecordedEvent) => ({
      kind: actor.kind,
      id: actor.id,
      name: ('name' in actor && actor.name) || null,
    }),
  ],
} as const;

const entryView = json.view<RecordedEvent>(eventFields);
const eventView = json.view<RecordedEvent>({
  ...eventFields,
  metadata: { type: 'object', additionalProperties: true },
  data: [
    {},
    // Without what was erased, and without hashes of passwords and sealed secrets.
    ({ stream, data }) => (isProvable(stream) ? data : withoutSecrets(data)),
  ],
});

/** Members of events of users, API clients, webhooks and keys. */
const SECRET_MEMBER = /hash|secret|sealed/i;
const LEFT_OUT = 'left out';

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_MEMBER.test(name) && typeof member === 'string' ? LEFT_OUT : withoutSecrets(member),
    ]),
  );
}

/** Events in descending order, and where the reading goes on behind them; undefined at the end. */
type Piece = { readonly events: readonly RecordedEvent[]; readonly next: number | undefined };

/** Events that are read at once, without others in between: some milliseconds. */
const READ_COUNT = 100;

/** @param before the cursor: a revision of the stream, or a position of the log */
async function* pieces(
  { eventStore }: OperatorParts,
  { stream }: LogQuery,
  before: number | undefined,
): AsyncGenerator<Piece> {
  if (stream === undefined) {
    for (let cursor = before; ; ) {
      const { events, next } = await eventStore.readBackwards(READ_COUNT, cursor);
      yield { events, next };
      if (next === undefined) return;
      cursor = next;
    }
  }
  const to = before === undefined ? ((await eventStore.lastAppend(stream))?.revision ?? -1) : before - 1;
  for await (const page of streamPagesBackwards(eventStore, stream, { to, eventsAPage: READ_COUNT })) {
    const events = page.toReversed();
    yield { events, next: events.at(-1)?.revision || undefined };
  }
}

async function logPage(api: Api, call: Call): Promise<Reply> {
  const query = parseQuery(logQuery, call.query);
  const { tenant, kind, since = '', until = '9' } = query;
  const fits = ({ stream, type, metadata: { occurredAt } }: RecordedEvent): boolean =>
    (tenant === undefined || (parseStream(stream).tenant === tenant && !stream.startsWith('log-'))) &&
    (kind === undefined || type === kind) &&
    occurredAt < until;
  const found: RecordedEvent[] = [];
  let [looked, characters] = [0, 0];
  const placeOf = ({ position, revision }: RecordedEvent): number => (query.stream === undefined ? position : revision);
  for await (const { events, next } of pieces(api.operator, query, query.after)) {
    call.req.context.deadline.throwIfCancelled();
    for (const event of events) {
      looked += 1;
      characters += charactersOf(event.data);
      if (event.metadata.occurredAt < since) return reply(undefined);
      if (fits(event)) found.push(event);
      if (found.length >= MAX_SHORT_PAGE)
        return reply(next === undefined && event === events.at(-1) ? undefined : placeOf(event));
    }
    if (next === undefined) break;
    if (looked >= MAX_LOG_PAGE_EVENTS || characters >= MAX_READ_CHARACTERS) return reply(next);
  }
  return reply(undefined);

  function reply(next: number | undefined): Reply {
    const links = { next: nextLink(api, call, next, 'after') };
    return {
      body: JSON.stringify({
        data: found.map(entryView.show),
        links,
        meta: { looked_at: looked, is_complete: next === undefined },
      }),
    };
  }
}

export const operatorLog: Resource = {
  tag: 'operator: log',
  schemas: { LogEntry: entryView.schema, LogEvent: eventView.schema },
  operations: {
    'GET /log': {
      id: 'operatorListLog',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(logQuery),
      answer: json.answer(
        'One page.',
        json.closedObject({
          data: { ...json.listOf(json.ref('LogEntry')), maxItems: MAX_SHORT_PAGE },
          links: json.closedObject({ next: json.nullableText }),
          meta: json.closedObject({ looked_at: json.count, is_complete: json.truth }),
        }),
      ),
      handle: logPage,
    },
    'GET /log/event': {
      id: 'operatorGetLogEvent',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(placeQuery).map((parameter) => ({ ...parameter, required: true })),
      answer: json.one('LogEvent'),
      async handle({ operator }, { query }) {
        const { stream, revision } = parseQuery(placeQuery, query);
        const event = await eventAt(operator.eventStore, stream, revision);
        if (event === undefined) throw new NotFoundError(`There is no event ${revision} of ${stream}.`);
        return dataReply(eventView.show(event));
      },
    },
  },
};
