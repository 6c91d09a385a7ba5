/** The event log or one of its streams, the latest events first: `/api/v1/operator/log`. */
import { z } from 'zod';
import { shortText } from '../../commands/body.js';
import { streamPages } from '../../commands/logReads.js';
import { MAX_SHORT_PAGE } from '../../domain/limits.js';
import { isProvable } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';
import { revisionCursor } from '../assets/listQuery.js';
import { linkedReply } from '../assets/pages.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';

/** `cursor`: the last entry of the page before, by its position in the log or its revision in the stream. */
const logQuery = z.strictObject({ stream: shortText.optional(), cursor: revisionCursor });

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
  const { stream, cursor } = parseQuery(logQuery, call.query);
  const after = cursor === undefined ? undefined : Number(cursor);
  const { eventStore } = api.operator;
  if (stream === undefined) {
    const { events, next } = await eventStore.readBackwards(MAX_SHORT_PAGE, after);
    return linkedReply(api, call, events.map(eventView.show), next);
  }
  const to = after === undefined ? ((await eventStore.lastAppend(stream))?.revision ?? -1) : after - 1;
  const pages = streamPages(eventStore, stream, { to, eventsAPage: MAX_SHORT_PAGE, backwards: true });
  const events = ((await pages.next()).value ?? []).toReversed();
  return linkedReply(api, call, events.map(eventView.show), events.at(-1)?.revision || undefined);
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
