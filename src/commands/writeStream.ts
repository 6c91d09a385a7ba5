/**
 * The one way into the log, and its one loop. A command says which stream it writes, how the stream's state is loaded, and what
 * it decides on that state (`Write`). Within a process the changes of a stream take turns (`streamChanges`). At its turn:
 * 1. the state is loaded, with the revision that it shows: from the stream's events (`loadStream`), or from a table's rows;
 * 2. the change is decided. Changes of single records of one table, or of one directory stream, that wait at the same time are
 *    decided one after the other, each on what those before it did (`shared`);
 * 3. their events are appended together, on the condition that the stream still ends at that revision;
 * 4. if another process was first, it begins again at 1. Otherwise each caller is told what was written, or why not.
 */

import { type EventKey, eventTypes, SCHEMA_VERSION } from '../domain/eventTypes.js';
import { AnswerTooLargeError } from '../domain/jsonSize.js';
import {
  type AppendResult,
  AppendTooLargeError,
  type EventToAppend,
  type Position,
  type RecordedEvent,
  type Revision,
  WrongExpectedRevisionError,
} from '../ports/eventStore.js';
import type { FairQueue } from '../supervision/fairQueue.js';
import { nextTurn } from '../supervision/waiting.js';
import { type Caller, type Commands, patience, TryLaterError } from './context.js';
import { requireUnused } from './idempotency.js';
import { type PagesOf, type StreamReads, streamPages } from './logReads.js';

/** What writing needs. */
export type LogAccess = Pick<Commands, 'eventStore' | 'now' | 'newId'> & {
  /** For requests with an Idempotency-Key. */
  readonly rows?: Commands['rows'] | undefined;
  /** By stream, one at a time: of several at once all but one would be decided again. Set where much is written. */
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
 * @param evolve the state after one more event
 * @param before the state before the first
 */
export async function loadStream<State>(
  eventStore: StreamReads,
  stream: string,
  evolve: (state: State, event: RecordedEvent) => State,
  before: State,
  pages: PagesOf = {},
): Promise<Loaded<State>> {
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
    return loadStream(eventStore, stream, () => undefined, undefined, { from: Math.max(revision, 0) });
  };
  return writeStream(log, caller, { stream, load, decide: () => events });
}

/** What one caller wants to write. */
export type Change<State, Event extends DomainEvent, Wanted = never> = {
  readonly caller: Caller;
  /** Pure: what it needs is in the state. May run several times; throws to refuse; returns no events when nothing changes. */
  readonly decide: (state: State, at: string) => readonly Event[];
  /** What the state has to show for it, where it is loaded for several. */
  readonly wanted?: Wanted | undefined;
  readonly resolve: (written: Written<State, Event>) => void;
  readonly reject: (reason: unknown) => void;
};

/** A change, with its stream and how the state is loaded. */
export type Write<State, Event extends DomainEvent, Wanted> = Pick<
  Change<State, Event, Wanted>,
  'decide' | 'wanted'
> & {
  readonly stream: string;
  /**
   * @param attempt counts from 0; from 1 on, the attempt before lost against another writer
   * @param caller who waits for it, the longest of several; reading ends with the caller's time
   */
  readonly load: (attempt: number, caller: Caller, wanted: readonly Wanted[]) => Promise<Loaded<State>>;
  /** Set where changes share the loading and the append. */
  readonly shared?:
    | {
        /** Those that wait for their turn, by stream. */
        readonly waiting: Map<string, Change<State, Event, Wanted>[]>;
        /** The state after a change, for those that are decided behind it. */
        readonly after: (state: State, events: readonly Event[], at: string) => State;
      }
    | undefined;
};

/** Changes that share one append. */
const MAX_TOGETHER = 64;

/**
 * Loads, decides, appends, and starts again when another writer was first; `at` of a decision is the time of its events.
 * @returns position 0 and no events when nothing changed
 * @throws TryLaterError when others were first each time; DeadlineError; what `load`, `decide` and the log throw
 */
export function writeStream<State, Event extends DomainEvent, Wanted = never>(
  log: LogAccess,
  caller: Caller,
  write: Write<State, Event, Wanted>,
): Promise<Written<State, Event>> {
  const { stream, decide, wanted, shared } = write;
  // A repetition with a key is answered with the state as the append left it, so that append is its own.
  const waiting = caller.key === undefined ? shared?.waiting : undefined;
  const written = new Promise<Written<State, Event>>((resolve, reject) => {
    const changes = waiting?.get(stream) ?? [];
    changes.push({ caller, decide, wanted, resolve, reject });
    if (changes.length === MAX_TOGETHER) waiting?.delete(stream);
    if (changes.length > 1) return;
    waiting?.set(stream, changes);
    const turn = (): Promise<void> => {
      if (waiting?.get(stream) === changes) waiting.delete(stream);
      return writeTogether(log, write, changes);
    };
    (log.streamChanges?.run(stream, turn) ?? turn()).catch(reject);
  });
  return withDeadline(caller, written);
}

/** Resolves or rejects each of the changes; one that is refused does not affect the others. */
async function writeTogether<State, Event extends DomainEvent, Wanted>(
  log: LogAccess,
  write: Write<State, Event, Wanted>,
  all: readonly Change<State, Event, Wanted>[],
): Promise<void> {
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
      for (const { caller, reject } of all.filter(isOver)) reject(caller.deadline?.reason);
      const changes = all.filter((change) => !isOver(change));
      if (changes.length === 0) return;
      // They wait as long as the caller with the most time.
      const { caller } = changes.reduce((one, other) => (leftMs(other.caller) > leftMs(one.caller) ? other : one));
      const wanted = changes.flatMap((change) => (change.wanted === undefined ? [] : [change.wanted]));
      const loaded = await withDeadline(caller, write.load(attempt, caller, wanted));
      const { parts, outcomes } = await decided(log, write, loaded, changes);
      // A caller's time ended meanwhile, and it was told that nothing was written: decide again without its change.
      if (changes.some(isOver)) continue;
      const appended = await append(log, write.stream, loaded, parts, caller);
      attempt += 1;
      if (appended === undefined) continue;
      for (const tell of outcomes) tell(appended.position);
      return;
    }
    throw new TryLaterError('It is being written by many at once.');
  } catch (error) {
    const isTooLarge = error instanceof AppendTooLargeError || error instanceof AnswerTooLargeError;
    // Nothing was stored. One by one, only those that are too large themselves fail.
    for (const change of all)
      if (isTooLarge && all.length > 1) await writeTogether(log, write, [change]);
      else change.reject(error);
    // By then it is known whose time has ended as well: for them nothing is read.
    if (all.some(isOver)) await nextTurn();
  }
}

/** What an append has for one caller. */
type Part = { readonly caller: Caller; readonly events: readonly EventToAppend[] };

/** @returns what the changes append, and what tells their callers once it is stored */
async function decided<State, Event extends DomainEvent, Wanted>(
  log: LogAccess,
  { shared }: Write<State, Event, Wanted>,
  { lastEventAt, ...loaded }: Loaded<State>,
  changes: readonly Change<State, Event, Wanted>[],
) {
  const now = log.now();
  // Timestamps never go backwards within a stream.
  const at = now > lastEventAt ? now : lastEventAt;
  const parts: Part[] = [];
  const outcomes: ((appended: Position) => void)[] = [];
  let { state, revision } = loaded;
  for (const { caller, decide, resolve, reject } of changes) {
    try {
      await requireUnused(log, caller);
      const before = state;
      const events = toAppend(log, caller, at, decide(before, at));
      if (changes.length > 1) state = shared?.after(before, events, at) ?? before;
      if (events.length > 0) parts.push({ caller, events });
      revision += events.length;
      const written = { revision, at, events, state: before };
      outcomes.push((appended) => resolve({ ...written, position: events.length > 0 ? appended : 0 }));
    } catch (reason) {
      outcomes.push(() => reject(reason));
    }
  }
  return { parts, outcomes };
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
  first: readonly Event[],
): Promise<Appended<Event> | undefined> {
  // After its deadline no append is started: what was not written by then never will be.
  caller.deadline?.throwIfCancelled();
  const at = log.now();
  const events = toAppend(log, caller, at, first);
  const appended = await append(log, stream, NO_STREAM, [{ caller, events }], caller);
  return appended && { ...appended, at, events };
}

/** @returns position 0 for no events; undefined when another writer was first @throws DeadlineError; what the log throws */
async function append(
  { eventStore }: LogAccess,
  stream: string,
  { revision }: StreamEnd,
  parts: readonly Part[],
  longest: Caller,
): Promise<AppendResult | undefined> {
  const events = parts.flatMap((part) => part.events);
  if (events.length === 0) return { revision, position: 0 };
  const expected = revision === NO_STREAM.revision ? 'no-stream' : revision;
  const stored = eventStore.append(stream, events, expected, { until: Date.now() + leftMs(longest) });
  // Each request's deadline must know whether anything of it may be stored.
  for (const { caller } of parts) caller.deadline?.append(() => stored).catch(() => undefined);
  try {
    return await withDeadline(longest, stored);
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
