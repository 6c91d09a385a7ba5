/**
 * A request with an Idempotency-Key is carried out once, however often it is sent. Each key has a stream of its own: its
 * first event binds the key to a request body, the second one holds the answer (decision 0027). If the process died before
 * the answer was stored, the events of the request itself say what it has done.
 */

import { createHash } from 'node:crypto';
import { evolve, type KeyedRequest, type KeyedRequestEvent } from '../domain/keyedRequest.js';
import { IDEMPOTENCY_KEY_HOURS } from '../domain/limits.js';
import { requestStream } from '../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../ports/eventStore.js';
import { Pauses } from '../supervision/waiting.js';
import type { Application } from './application.js';
import { type Caller, ValidationError } from './context.js';
import { type StreamReads, streamPages } from './streamPages.js';
import { tenantEnd } from './tenantEnd.js';
import {
  appendIfUnchanged,
  type LogAccess,
  loadStream,
  type StreamEnd,
  withDeadline,
  writeStream,
} from './writeStream.js';

/** A request with a key. A key belongs to its client and table. */
type Named = {
  readonly table: string;
  readonly key: string;
  readonly body: unknown;
};

/** How a request is carried out. `Answer` is JSON. */
export type Work<Answer extends object> = {
  /** Revision after which the request's events stand in their stream; omitted when `find` does not need it. */
  readonly after?: () => Promise<Revision>;
  /** What an earlier, unanswered run of the request did; undefined when it did nothing. */
  readonly find: (request: KeyedRequest) => Promise<Done<Answer> | undefined>;
  readonly run: (request: KeyedRequest, isNew: boolean) => Promise<Done<Answer>>;
  /** Whether the error may be a refusal because a concurrent send of this very request was first. */
  readonly mayBeSecond?: (error: unknown) => boolean;
};

type Accepted = { readonly request: KeyedRequest; readonly end: StreamEnd; readonly isNew: boolean };

type Done<Answer> = Answer & { readonly position: Position; readonly isReplayed?: boolean };

/** @throws ValidationError when the key was used for another body; what the work throws */
export async function carryOutOnce<Answer extends object>(
  log: Application,
  caller: Caller,
  named: Named,
  work: Work<Answer>,
): Promise<Done<Answer>> {
  const stream = streamOf(caller, named);
  const body = await hashOf(named.body);
  const { keyedRequests: runs } = log;
  for (;;) {
    const accepted = await accept(log, caller, stream, body, work.after);
    const { request } = accepted;
    if (request.answer !== undefined) return answerOf(log, caller, request);
    const first = runs.get(request.id);
    if (first === undefined) {
      const done = carryOut(log, caller, stream, accepted, work);
      const ended = done.then(noop, noop).finally(() => runs.delete(request.id));
      runs.set(request.id, ended);
      return await done;
    }
    await withDeadline(caller, first);
  }
}

/** Whether a request with this key was accepted, so that a repetition has an answer. */
export async function isAccepted(
  { eventStore, now }: Pick<LogAccess, 'eventStore' | 'now'>,
  caller: Caller,
  named: Pick<Named, 'table' | 'key'>,
): Promise<boolean> {
  return isKept((await loadRequest(eventStore, streamOf(caller, named))).state, now());
}

const noop = (): void => undefined;

async function carryOut<Answer extends object>(
  log: Application,
  caller: Caller,
  stream: string,
  { request, end, isNew }: Accepted,
  { find, run, mayBeSecond = () => false }: Work<Answer>,
): Promise<Done<Answer>> {
  const findReplayed = async (): Promise<Done<Answer> | undefined> => {
    const { deadline, tenant, actor } = caller;
    const found = await log.searches.run(tenant, () => find(request), deadline, actor.id);
    return found === undefined ? undefined : { ...found, isReplayed: true };
  };
  const runOrFind = (): Promise<Done<Answer>> =>
    run(request, isNew).catch(async (error: unknown) => {
      const byAnother = mayBeSecond(error) ? await findReplayed() : undefined;
      if (byAnother === undefined) throw error;
      return byAnother;
    });
  const done = (isNew ? undefined : await findReplayed()) ?? (await runOrFind());
  const { position: _, isReplayed = false, ...answer } = done;
  const events: KeyedRequestEvent[] = [{ type: 'RequestAnswered', data: answer as Record<string, unknown> }];
  try {
    if ((await appendIfUnchanged(log, caller, stream, end, events)) !== undefined) return done;
    // A concurrent send of the same request answered first: both give that answer.
    const { state } = await loadRequest(log.eventStore, stream);
    return state?.answer === undefined ? done : { ...(await answerOf<Answer>(log, caller, state)), isReplayed };
  } catch {
    // The change stands in any case: without a stored answer, the next repetition finds it in the log.
    return done;
  }
}

/** The stored answer, with a position from which reads show the change. */
async function answerOf<Answer>(commands: Application, caller: Caller, request: KeyedRequest): Promise<Done<Answer>> {
  return {
    ...(request.answer as Answer),
    position: await withDeadline(caller, tenantEnd(commands, caller.tenant)),
    isReplayed: true,
  };
}

function streamOf({ tenant, actor }: Caller, { table, key }: Pick<Named, 'table' | 'key'>): string {
  const name = createHash('sha256').update(JSON.stringify([actor.kind, actor.id, table, key]));
  return requestStream(tenant, name.digest('hex'));
}

/** Bodies that differ only in the order of members have one hash. Yields to other requests while it works. */
async function hashOf(body: unknown): Promise<string> {
  const sorted = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const hash = createHash('sha256');
  const pauses = new Pauses();
  for (const part of Array.isArray(body) ? body : [body]) {
    hash.update(JSON.stringify(part, sorted) ?? 'null');
    if (pauses.isDue()) await pauses.take();
  }
  return hash.digest('base64url');
}

const loadRequest = (eventStore: StreamReads, stream: string) =>
  loadStream<KeyedRequest>(eventStore, stream, (before, { type, data, metadata }) =>
    evolve(before, { type, data } as KeyedRequestEvent, metadata.occurredAt),
  );

/** @throws ValidationError when the key was used for another body */
async function accept(
  log: LogAccess,
  caller: Caller,
  stream: string,
  body: string,
  after: Work<object>['after'],
): Promise<Accepted> {
  const written = await writeStream<KeyedRequest | undefined, KeyedRequestEvent>(log, caller, {
    stream,
    name: 'The Idempotency-Key',
    load: () => loadRequest(log.eventStore, stream),
    decide: async (request, at) => {
      if (isKept(request, at)) return [];
      const accepted = { body, id: log.newId() };
      return [
        { type: 'RequestAccepted', data: after === undefined ? accepted : { ...accepted, after: await after() } },
      ];
    },
  });
  const { state, revision, at, events } = written;
  const request = events.reduce<KeyedRequest | undefined>((before, event) => evolve(before, event, at), state);
  if (request === undefined) throw new Error(`${stream} has no first event.`);
  if (request.body !== body) {
    throw new ValidationError({
      'Idempotency-Key': ['The key was sent with another body; a new request needs a new key.'],
    });
  }
  return { request, end: { revision, lastEventAt: at }, isNew: events.length > 0 };
}

const HOUR_MS = 3_600_000;

const isKept = (request: KeyedRequest | undefined, now: string): boolean =>
  request !== undefined && Date.parse(now) - Date.parse(request.at) < IDEMPOTENCY_KEY_HOURS * HOUR_MS;

/** Few, as what is searched is found among the first. */
const eventsAPage = 50;

/** Where the events of a request are searched. */
export type Search = {
  readonly stream: string;
  /** They stand after this revision; -1 for a whole stream. */
  readonly after: Revision;
  /** By the request that caused them, or by the session that they end. */
  readonly isOwn: (event: RecordedEvent) => boolean;
  /** Thrown when this many events were searched and the stream goes on. */
  readonly limit?: { readonly events: number; readonly error: () => Error };
};

export const causedBy =
  (requestId: string): Search['isOwn'] =>
  ({ metadata }) =>
    metadata.causationId === requestId;

/** All events that the request has appended, in pages. @throws the error of the limit; the reason of the deadline */
export async function* ownEvents(
  { eventStore }: { readonly eventStore: StreamReads },
  { deadline: cancellation }: Caller,
  { stream, after, isOwn, limit }: Search,
): AsyncGenerator<{ readonly own: readonly RecordedEvent[]; readonly isEndOfAppend: boolean }> {
  const to = limit === undefined ? undefined : after + limit.events;
  let last: Revision | undefined;
  for await (const events of streamPages(eventStore, stream, { from: after + 1, to, eventsAPage, cancellation })) {
    const own = events.filter(isOwn);
    yield { own, isEndOfAppend: events.at(-1) !== own.at(-1) };
    last = events.at(-1)?.revision;
  }
  if (limit !== undefined && last === to) throw limit.error();
}

/** The events that the request has appended in one call; empty when it has not. @throws the error of the limit */
export async function ownAppend(...args: Parameters<typeof ownEvents>): Promise<readonly RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const { own, isEndOfAppend } of ownEvents(...args)) {
    found.push(...own);
    if (found.length > 0 && isEndOfAppend) break;
  }
  return found;
}
