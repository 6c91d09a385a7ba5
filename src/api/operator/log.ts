/** The event log or one of its streams, the latest events first: `/api/v1/operator/log`. */
import { z } from 'zod';
import { shortText } from '../../commands/body.js';
import { streamPages } from '../../commands/logReads.js';
import { eventTypes } from '../../domain/eventTypes.js';
import { MAX_SHORT_PAGE } from '../../domain/limits.js';
import { isProvable } from '../../domain/streams.js';
import type { EventStore, ReadSlice, RecordedEvent } from '../../ports/eventStore.js';
import { nextTurn } from '../../supervision/waiting.js';
import { revisionCursor } from '../assets/listQuery.js';
import { linkedReply } from '../assets/pages.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';

/** A search for a type ends after this time in milliseconds, also with nothing found; the next page goes on from there. */
const MAX_SEARCH_MS = 1_000;

/** `cursor`: where the page before has ended, by position in the log or revision in the stream. */
const logQuery = z.strictObject({
  stream: shortText.optional(),
  type: z.enum(Object.keys(eventTypes), 'is no type of event.').optional(),
  cursor: revisionCursor,
});

const eventView = json.view<RecordedEvent>({
  position: json.count,
  id: json.uuid,
  stream: json.text,
  revision: json.count,
  type: json.text,
  occurred_at: [json.timestamp, ({ metadata }) => metadata.occurredAt],
  metadata: { type: 'object', additionalProperties: true },
  // Without what was erased, and without hashes of passwords and sealed secrets.
  data: [{}, ({ stream, data }) => (isProvable(stream) ? data : withoutSecrets(data))],
});

/** Members of events of users, API clients, webhooks and keys. */
const SECRET_MEMBER = /hash|secret|sealed/i;

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const isSecret = (name: string, member: unknown) => SECRET_MEMBER.test(name) && typeof member === 'string';
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSecret(name, member) ? 'left out' : withoutSecrets(member)]),
  );
}

/** A page ends early where events are large. */
async function logPage(api: Api, call: Call): Promise<Reply> {
  const { stream, type, cursor } = parseQuery(logQuery, call.query);
  const until = performance.now() + MAX_SEARCH_MS;
  const found: RecordedEvent[] = [];
  for (let before = cursor === undefined ? undefined : Number(cursor); ; await nextTurn()) {
    const { events, next } = await eventsBefore(api.operator.eventStore, stream, before);
    found.push(...events.filter((event) => type === undefined || event.type === type));
    const data = found.slice(0, MAX_SHORT_PAGE);
    before = data.length < found.length ? data.at(-1)?.[stream === undefined ? 'position' : 'revision'] : next;
    const isFull = data.length === MAX_SHORT_PAGE || (data.length > 0 && events.length < MAX_SHORT_PAGE);
    if (isFull || next === undefined || performance.now() > until)
      return linkedReply(api, call, data.map(eventView.show), before);
  }
}

/** The last one first. */
async function eventsBefore(log: EventStore, stream: string | undefined, before?: number): Promise<ReadSlice> {
  if (stream === undefined) return log.readBackwards(MAX_SHORT_PAGE, before);
  const to = before === undefined ? ((await log.lastAppend(stream))?.revision ?? -1) : before - 1;
  const pages = streamPages(log, stream, { to, eventsAPage: MAX_SHORT_PAGE, backwards: true });
  const events = ((await pages.next()).value ?? []).toReversed();
  return { events, next: events.at(-1)?.revision || undefined };
}

export const operatorLog: Resource = {
  tag: 'log',
  schemas: { LogEvent: eventView.schema },
  operations: {
    'GET /log': {
      id: 'listLog',
      allow: 'operators',
      work: 'costly',
      query: parametersIn(logQuery),
      answer: json.linkedPage('LogEvent', MAX_SHORT_PAGE),
      handle: logPage,
    },
  },
};
