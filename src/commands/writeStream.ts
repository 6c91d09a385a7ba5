/**
 * The one way into the log: load a stream's state, decide, append at the loaded revision, and start again when another
 * writer was first.
 */
import { currentVersion, eventTypes } from '../domain/eventTypes.js';
import {
  type AppendResult,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type RecordedEvent,
  type Revision,
  WrongExpectedRevisionError,
} from '../ports/eventStore.js';
import { type Caller, type Commands, TryAgainError } from './context.js';
import { streamPages } from './streamPages.js';

/** What writing needs. */
export type LogAccess = Pick<Commands, 'eventStore' | 'now' | 'newId'>;

export type DomainEvent = Pick<EventToAppend, 'type' | 'data'>;

/** A domain event with its id and metadata. */
export type Identified<Event extends DomainEvent> = Event & Pick<EventToAppend, 'id' | 'metadata'>;

/** The last event of a stream. */
export type StreamEnd = {
  /** -1 when the stream has no event. */
  readonly revision: Revision;
  /** Its occurredAt; '' when the stream has no event. */
  readonly lastEventAt: string;
};

export const NO_STREAM: StreamEnd = { revision: -1, lastEventAt: '' };

/** A stream's state, and the end of the stream when it was read. */
export type Loaded<State> = StreamEnd & { readonly state: State };

export type Appended<Event extends DomainEvent> = AppendResult & {
  /** occurredAt of the events. */
  readonly at: string;
  readonly events: readonly Identified<Event>[];
};

export type Written<State, Event extends DomainEvent> = Appended<Event> & {
  /** The state that the decision was made on, before the events. */
  readonly state: State;
};

/** How often a command decides while others write to the same stream, before it gives up. */
export const MAX_ATTEMPTS = 20;

/** Reads a stream page by page. @param evolve the state after one more event; undefined before the first */
export async function loadStream<State>(
  eventStore: Pick<EventStore, 'readStream'>,
  stream: string,
  evolve: (state: State | undefined, event: EventToAppend) => State | undefined,
  before?: State,
): Promise<Loaded<State | undefined>> {
  let state = before;
  let last: RecordedEvent | undefined;
  for await (const recorded of streamPages(eventStore, stream)) {
    state = recorded.reduce(evolve, state);
    last = recorded.at(-1);
  }
  return {
    state,
    revision: last?.revision ?? NO_STREAM.revision,
    lastEventAt: last?.metadata.occurredAt ?? NO_STREAM.lastEventAt,
  };
}

/**
 * @param write.name of the thing that is written, for messages: begins a sentence
 * @param write.load `attempt` counts from 0; from 1 on, the attempt before lost against another writer
 * @param write.decide pure or read-only, may run several times; throws to refuse; returns no events when nothing changes.
 *   `at` is the time that its events will have.
 * @returns position 0 and no events when nothing changed
 * @throws TryAgainError when others were first each time; DeadlineError; what `load` and `decide` throw
 */
export async function writeStream<State, Event extends DomainEvent>(
  log: LogAccess,
  caller: Caller,
  write: {
    readonly stream: string;
    readonly name: string;
    readonly load: (attempt: number) => Promise<Loaded<State>>;
    readonly decide: (state: State, at: string) => readonly Event[] | Promise<readonly Event[]>;
  },
): Promise<Written<State, Event>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const loaded = await withDeadline(caller, write.load(attempt));
    const { state, revision } = loaded;
    const at = notBefore(log.now(), loaded.lastEventAt);
    const events = await withDeadline(caller, write.decide(state, at));
    if (events.length === 0) return { state, at, events: [], revision, position: 0 };
    const appended = await appendIfUnchanged(log, caller, write.stream, loaded, events, at);
    if (appended !== undefined) return { state, ...appended };
  }
  throw manyWriters(write.name);
}

export const manyWriters = (name: string): TryAgainError =>
  new TryAgainError(`${name} is being written by many at once.`);

/** @throws DeadlineError when the caller's time is over before the work is done */
export const withDeadline = <T>({ deadline }: Caller, work: T | Promise<T>): T | Promise<T> =>
  deadline !== undefined && work instanceof Promise ? deadline.within(work) : work;

/**
 * Appends to a stream that still ends there; returns undefined when another writer was first.
 * @param at time of the events
 * @throws DeadlineError; what the log throws
 */
export async function appendIfUnchanged<Event extends DomainEvent>(
  log: LogAccess,
  caller: Caller,
  stream: string,
  { revision, lastEventAt }: StreamEnd,
  events: readonly Event[],
  at: string = notBefore(log.now(), lastEventAt),
): Promise<Appended<Event> | undefined> {
  const toStore = toAppend(log, caller, at, events);
  try {
    const expected = revision === NO_STREAM.revision ? 'no-stream' : revision;
    return { ...(await append(log, caller, stream, toStore, expected)), at, events: toStore };
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}

/** Starts no append after the caller's deadline: what was not written by then never will be. */
function append(
  { eventStore }: LogAccess,
  { deadline }: Caller,
  ...args: [stream: string, events: readonly EventToAppend[], expected: ExpectedRevision]
): Promise<AppendResult> {
  if (deadline === undefined) return eventStore.append(...args);
  return deadline.append(() => eventStore.append(...args, { until: Date.now() + deadline.leftMs }));
}

/** Domain events as the log stores them. */
export function toAppend<Event extends DomainEvent>(
  { newId }: Pick<LogAccess, 'newId'>,
  { tenant, actor, correlationId, causationId, traceparent }: Caller,
  occurredAt: string,
  events: readonly Event[],
): readonly Identified<Event>[] {
  const always = { tenant, actor, correlationId, causationId, occurredAt };
  const metadata = traceparent === undefined ? always : { ...always, traceparent };
  return events.map((event) => {
    const schemaVersion = currentVersion(eventTypes, event.type);
    if (schemaVersion === undefined) throw new Error(`${event.type} is missing in domain/eventTypes.ts.`);
    return { ...event, id: newId(), metadata: { ...metadata, schemaVersion } };
  });
}

/** `now`, but not before `last`: timestamps never go backwards within a stream. */
export const notBefore = (now: string, last: string): string => (now > last ? now : last);
