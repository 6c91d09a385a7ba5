/** The event log or one of its streams, the latest events first: `/api/v1/operator/log`. */
import { z } from 'zod';
import { NotFoundError } from '../../commands/context.js';
import { eventAt, streamPagesBackwards } from '../../commands/streamPages.js';
import { MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { isProvable } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { pageReply } from './tenants.js';

const text = z.string().max(MAX_STRING_LENGTH, 'is too long.');
const number = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number.')
  .transform(Number);

/** `after`: the last entry of the page before, by its position in the log or its revision in the stream. */
const logQuery = z.strictObject({ stream: text.optional(), after: number.optional() });
const placeQuery = z.strictObject({ stream: text, revision: number });

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

async function logPage(api: Api, call: Call): Promise<Reply> {
  const { stream, after } = parseQuery(logQuery, call.query);
  const { eventStore } = api.operator;
  if (stream === undefined) {
    const { events, next } = await eventStore.readBackwards(MAX_SHORT_PAGE, after);
    return pageReply(api, call, events.map(entryView.show), next);
  }
  const to = after === undefined ? ((await eventStore.lastAppend(stream))?.revision ?? -1) : after - 1;
  const pages = streamPagesBackwards(eventStore, stream, { to, eventsAPage: MAX_SHORT_PAGE });
  const events = ((await pages.next()).value ?? []).toReversed();
  return pageReply(api, call, events.map(entryView.show), events.at(-1)?.revision || undefined);
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
      answer: json.linkedPage('LogEntry', MAX_SHORT_PAGE),
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
