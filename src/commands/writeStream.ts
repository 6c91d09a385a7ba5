/**
 * The one way into the log: load a stream's state, decide, append at the loaded revision, and start again when another
 * writer was first. Several changes of a stream may share the loading and the append.
 */

import type { EventKey } from '../domain/eventTypes.js';
import { eventTypes, SCHEMA_VERSION } from '../domain/eventTypes.js';
import {
  type AppendResult,
  type EventToAppend,
  type Position,
  type RecordedEvent,
  type Revision,
  WrongExpectedRevisionError,
} from '../ports/eventStore.js';
import type { FairQueue } from '../supervision/fairQueue.js';
import { type Caller, type Commands, patience, TryAgainError } from './context.js';
import { requireUnused } from './idempotency.js';
import { type PagesOf, type StreamReads, streamPages } from './streamPages.js';

/** What writing needs. */
export type LogAccess = Pick<Commands, 'eventStore' | 'now' | 'newId'> & {
  /** For requests with an Idempotency-Key. */
  readonly rows?: Commands['rows'] | undefined;
  /**
   * Changes by stream, one at a time: of several at once, all but one would be decided again and again. Processes that
   * write seldom have none.
   */
  readonly streamChanges?: FairQueue | undefined;
};

/** `counts`: of the first of a request's events, for its Idempotency-Key. */
export type DomainEvent = Pick<EventToAppend, 'type' | 'data'> & Pick<EventKey, 'counts'>;

/** A domain event with its id and metadata. */
type Identified<Event extends DomainEvent> = Event & Pick<EventToAppend, 'id' | 'metadata'>;

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

/**
 * Reads a stream page by page.
 * @param evolve the state after one more event; undefined before the first
 * @param before the state before those pages
 */
export async function loadStream<State>(
  eventStore: StreamReads,
  stream: string,
  evolve: (state: State | undefined, event: RecordedEvent) => State | undefined,
  before?: State,
  pages: PagesOf = {},
): Promise<Loaded<State | undefined>> {
  let state = before;
  let last: RecordedEvent | undefined;
  for await (const recorded of streamPages(eventStore, stream, pages)) {
    state = recorded.reduce(evolve, state);
    last = recorded.at(-1);
  }
  return {
    state,
    revision: last?.revision ?? NO_STREAM.revision,
    lastEventAt: last?.metadata.occurredAt ?? NO_STREAM.lastEventAt,
  };
}

/** Appends events that no decision is made for. @throws as `writeStream` */
export function appendEvents<Event extends DomainEvent>(
  log: LogAccess,
  caller: Caller,
  stream: string,
  events: readonly Event[],
): Promise<Written<undefined, Event>> {
  const { eventStore } = log;
  const load = async () => {
    const { revision } = (await eventStore.lastAppend(stream)) ?? NO_STREAM;
    return loadStream<undefined>(eventStore, stream, () => undefined, undefined, { from: Math.max(revision, 0) });
  };
  return writeStream(log, caller, { stream, load, decide: () => events });
}

/** What one caller wants to write. */
export type Change<State, Event extends DomainEvent> = {
  readonly caller: Caller;
  /** Pure or read-only; may run several times; throws to refuse; returns no events when nothing changes. */
  readonly decide: (state: State, at: string) => readonly Event[] | Promise<readonly Event[]>;
  readonly resolve: (written: Written<State, Event>) => void;
  readonly reject: (reason: unknown) => void;
};

/** A stream, and how its state is loaded. */
type Target<State, Event extends DomainEvent> = {
  readonly stream: string;
  /** @param attempt counts from 0; from 1 on, the attempt before lost against another writer */
  readonly load: (attempt: number, caller: Caller) => Promise<Loaded<State>>;
  /** The state after a change, for those that are decided behind it and share its append. */
  readonly after?: (state: State, events: readonly Identified<Event>[], at: string) => State;
};

/**
 * Writes one change: loads, decides, appends, and starts again when another writer was first.
 * @param write.decide as of a `Change`; `at` is the time that its events will have
 * @returns position 0 and no events when nothing changed
 * @throws TryAgainError when others were first each time; DeadlineError; what `load` and `decide` throw
 */
export function writeStream<State, Event extends DomainEvent>(
  log: LogAccess,
  caller: Caller,
  write: Target<State, Event> & Pick<Change<State, Event>, 'decide'>,
): Promise<Written<State, Event>> {
  const { stream, decide } = write;
  const run = () =>
    new Promise<Written<State, Event>>((resolve, reject) => {
      writeTogether(log, write, [{ caller, decide, resolve, reject }]).catch(reject);
    });
  return withDeadline(caller, log.streamChanges?.run(stream, run, caller.deadline) ?? run());
}

/**
 * Each change is decided on the state after the ones before it, all share one append, and each is resolved or rejected.
 * @throws TryAgainError when others were first each time; DeadlineError; what loading and the log throw. No change is
 *   resolved or rejected then, except those whose callers' time has ended
 */
export async function writeTogether<State, Event extends DomainEvent>(
  log: LogAccess,
  target: Target<State, Event>,
  changes: readonly Change<State, Event>[],
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
    for (const { caller, reject } of changes.filter(isOver)) reject(caller.deadline?.reason);
    const [first, ...others] = changes.filter((change) => !isOver(change));
    if (first === undefined) return;
    // The group waits as long as the caller with the most time.
    const { caller } = others.reduce((one, other) => (leftMs(other.caller) > leftMs(one.caller) ? other : one), first);
    const loaded = await withDeadline(caller, target.load(attempt, caller));
    const at = notBefore(log.now(), loaded.lastEventAt);
    const parts: Part[] = [];
    const outcomes: ((appended: Position) => void)[] = [];
    let { state, revision } = loaded;
    for (const change of [first, ...others]) {
      try {
        await requireUnused(log, change.caller);
        const before = state;
        const events = toAppend(log, change.caller, at, await change.decide(before, at));
        if (others.length > 0) state = target.after?.(before, events, at) ?? before;
        if (events.length > 0) parts.push({ caller: change.caller, events });
        revision += events.length;
        const written = { revision, at, events, state: before };
        outcomes.push((appended) => change.resolve({ ...written, position: events.length > 0 ? appended : 0 }));
      } catch (reason) {
        outcomes.push(() => change.reject(reason));
      }
    }
    // A caller's time ended meanwhile, and it was told that nothing was written: decide again without its change.
    if (isOver(first) || others.some(isOver)) continue;
    const appended =
      parts.length === 0
        ? { position: 0 }
        : await withDeadline(caller, append(log, target.stream, loaded, parts, leftMs(caller)));
    if (appended !== undefined) {
      for (const tell of outcomes) tell(appended.position);
      return;
    }
    attempt += 1;
  }
  throw new TryAgainError('It is being written by many at once.');
}

/** Its caller's time has ended. */
const isOver = ({ caller }: { readonly caller: Caller }): boolean => caller.deadline?.reason !== undefined;

const leftMs = (caller: Caller): number => patience(caller, Number.POSITIVE_INFINITY);

/** @throws DeadlineError when the caller's time is over before the work is done */
export const withDeadline = <T>({ deadline }: Caller, work: Promise<T>): Promise<T> => deadline?.within(work) ?? work;

/** Begins a stream; returns undefined when it has begun already. @throws DeadlineError; what the log throws */
export async function beginStream<Event extends DomainEvent>(
  log: LogAccess,
  caller: Caller,
  stream: string,
  events: readonly Event[],
): Promise<Appended<Event> | undefined> {
  // After its deadline no append is started: what was not written by then never will be.
  caller.deadline?.throwIfCancelled();
  const at = log.now();
  const identified = toAppend(log, caller, at, events);
  const parts = [{ caller, events: identified }];
  const appended = await withDeadline(caller, append(log, stream, NO_STREAM, parts, leftMs(caller)));
  return appended === undefined ? undefined : { ...appended, at, events: identified };
}

/** What an append has for one caller. */
type Part = { readonly caller: Caller; readonly events: readonly EventToAppend[] };

/** @returns undefined when another writer was first */
async function append(
  { eventStore }: LogAccess,
  stream: string,
  { revision }: StreamEnd,
  parts: readonly Part[],
  timeMs: number,
): Promise<AppendResult | undefined> {
  const events = parts.flatMap((part) => part.events);
  const expected = revision === NO_STREAM.revision ? 'no-stream' : revision;
  const stored = eventStore.append(stream, events, expected, { until: Date.now() + timeMs });
  // Each request's deadline must know whether anything of it may be stored.
  for (const { caller } of parts) caller.deadline?.append(() => stored).catch(() => undefined);
  try {
    return await stored;
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}

/** Domain events as the log stores them. */
export function toAppend<Event extends DomainEvent>(
  { newId }: Pick<LogAccess, 'newId'>,
  { tenant, actor, correlationId, causationId, traceparent, request, key }: Caller,
  occurredAt: string,
  events: readonly Event[],
): readonly Identified<Event>[] {
  const always = { tenant, actor, correlationId, causationId, occurredAt };
  const traced = traceparent === undefined ? always : { ...always, traceparent };
  const metadata = request === undefined ? traced : { ...traced, request };
  return events.map((event, index) => {
    if (!Object.hasOwn(eventTypes, event.type)) throw new Error(`${event.type} is missing in domain/eventTypes.ts.`);
    const { counts } = event;
    const keyed = key && index === 0 && { key: { id: key.id, body: key.body, ...(counts && { counts }) } };
    return { ...event, id: newId(), metadata: { ...metadata, schemaVersion: SCHEMA_VERSION, ...keyed } };
  });
}

/** `now`, but not before `last`: timestamps never go backwards within a stream. */
const notBefore = (now: string, last: string): string => (now > last ? now : last);
