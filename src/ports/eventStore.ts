/**
 * The event log: append-only streams, and one total order over all of them.
 *
 * Adapters: `adapters/eventstore/sqlite` (embedded), `adapters/eventstore/eventstoredb`.
 * What every adapter must do is written down as tests: `test/contract/eventStore.ts`.
 */

/** Place of an event in the order of all events. Grows with each commit; 0 is "before the first". */
export type Position = number;

/** A position, and the event there: whoever keeps a position can tell by it whether it still has the same log. */
export type EventPosition = {
  readonly position: Position;
  /** Unset where there is none (0), or where only an event of the engine itself stands there. */
  readonly eventId?: string | undefined;
};

/** A place as it is kept from one start to the next, beside what was made of the log up to there. */
export type LogAnchor = EventPosition & {
  /** Id of the log; unset where an earlier release kept it. */
  readonly log?: string | undefined;
};

/** Place of an event in its stream. The first event has revision 0. */
export type Revision = number;

/** `no-stream`: the stream must not exist yet. `any`: no check. */
export type ExpectedRevision = Revision | 'no-stream' | 'any';

/** Who caused an event, by the name of then. `system` is the service itself (webhook outcome, sample data). */
export type Actor =
  /** Events of earlier releases have no name. */
  | { readonly kind: 'client'; readonly id: string; readonly name?: string }
  | { readonly kind: 'user'; readonly id: string; readonly name: string }
  | { readonly kind: 'operator'; readonly id: string }
  | { readonly kind: 'system'; readonly id: string };

export type EventMetadata = {
  readonly tenant: string;
  readonly actor: Actor;
  /** The same for everything that one request set in motion. */
  readonly correlationId: string;
  /** Id of the event or request that led to this event directly. */
  readonly causationId: string;
  /** ISO 8601 UTC with six digits; never goes backwards within a stream. */
  readonly occurredAt: string;
  /** Version of the shape of `data`; older ones are upcast on read. */
  readonly schemaVersion: number;
  /** W3C Trace Context of the span in which the event was made; there where that span is kept (`ports/tracing.ts`). */
  readonly traceparent?: string | undefined;
};

export type EventToAppend = {
  /** UUID. Appending the same id twice to a stream stores it once. */
  readonly id: string;
  readonly type: string;
  /** Plain JSON. Its text must stay under `MAX_EVENT_BYTES`. */
  readonly data: unknown;
  readonly metadata: EventMetadata;
};

export type RecordedEvent = EventToAppend & {
  readonly stream: string;
  readonly revision: Revision;
  readonly position: Position;
};

export type AppendResult = {
  /** Revision of the last event of this append. */
  readonly revision: Revision;
  /** Position of the last event of this append. */
  readonly position: Position;
};

export type AppendOptions = {
  /** After this time (milliseconds since 1970) the log is not asked any more, also not again. */
  readonly until?: number;
};

/** A run of events in log order. Never ends inside an append: an append is seen whole or not at all. */
export type EventSlice = EventPosition & {
  readonly events: readonly RecordedEvent[];
  /** Everything up to here has been looked at, also what the filter left out. */
  readonly position: Position;
  /** True when this slice reached the head of the log as it was when read; after the first such, as far as it is known. */
  readonly caughtUp: boolean;
};

export type SubscribeOptions = {
  /** Exclusive: events with a higher position are delivered. 0 for everything. */
  readonly after: Position;
  /** Only streams whose name begins with one of these; all streams where unset. */
  readonly streamPrefixes?: readonly string[];
  /** Events of streams that this refuses need not be delivered; whoever gives it leaves out those that are. */
  readonly accepts?: (stream: string) => boolean;
  /** At most about this many events a slice (an append is never cut). Default `DEFAULT_SLICE_COUNT`. */
  readonly maxCount?: number;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
};

export const DEFAULT_SLICE_COUNT = 500;

/** One event's `data` may have at most this many bytes of JSON (EventStoreDB refuses 1,048,576 in one call). */
export const MAX_EVENT_BYTES = 1_000_000;

export interface EventStore {
  /**
   * Appends all events or none, durably: when the promise resolves they survive a crash.
   * @throws WrongExpectedRevisionError when the stream is not at `expectedRevision`
   * @throws EventTooLargeError when one event's data is over MAX_EVENT_BYTES
   * @throws EventStoreUnavailableError when the log cannot be reached; it says whether the events may be stored all the same
   */
  append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
    options?: AppendOptions,
  ): Promise<AppendResult>;

  /**
   * Events of one stream in order, from `fromRevision` (default 0) to `toRevision` (default: the last), both inclusive.
   * An unknown stream has none.
   */
  readStream(stream: string, fromRevision?: Revision, toRevision?: Revision): Promise<readonly RecordedEvent[]>;

  /** What the last append to a stream was answered with, by whatever process it was made; undefined of an unknown stream. */
  lastAppend(stream: string): Promise<AppendResult | undefined>;

  /**
   * Catch-up subscription: first what is stored, then what comes, slice by slice.
   * The reader sets the pace: the next slice is read when it is asked for. An empty
   * slice is yielded when the filter passed over events, so that a checkpoint can move.
   */
  subscribe(options: SubscribeOptions): AsyncIterable<EventSlice>;

  /** Position of the last event in the log; 0 when it is empty. */
  head(): Promise<Position>;

  /** Id of this log, which its copies and backups share. A log that has none yet is given one. */
  identity(): Promise<string>;

  /**
   * Whether what was kept of this log at an earlier time is in it: false for a place behind its end, and where another
   * event stands there. So it was put back to an older copy, or it is another log.
   */
  holds(place: EventPosition): Promise<boolean>;

  /** @throws EventStoreUnavailableError when the log cannot be reached, or, where that is known, takes no appends */
  ping(): Promise<void>;

  /** Each event type and schema version that is stored, for the check at start-up. */
  storedEventTypes(): Promise<readonly { readonly type: string; readonly schemaVersion: number }[]>;

  close(): Promise<void>;
}

/** A store that does some things in its own way, and all else as the given one does. */
export const storeWith = (store: EventStore, own: Partial<EventStore>): EventStore => ({
  append: (...asked) => store.append(...asked),
  readStream: (...asked) => store.readStream(...asked),
  lastAppend: (stream) => store.lastAppend(stream),
  subscribe: (options) => store.subscribe(options),
  head: () => store.head(),
  identity: () => store.identity(),
  holds: (place) => store.holds(place),
  ping: () => store.ping(),
  storedEventTypes: () => store.storedEventTypes(),
  close: () => store.close(),
  ...own,
});

export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError';
  constructor(
    readonly stream: string,
    readonly expected: ExpectedRevision,
    readonly actual: Revision | 'no-stream',
  ) {
    super(`Stream ${stream} is at ${actual}, not at ${expected}.`);
  }
}

export class EventTooLargeError extends Error {
  override readonly name = 'EventTooLargeError';
  constructor(
    readonly eventType: string,
    readonly bytes: number,
  ) {
    super(`${eventType} has ${bytes} bytes of data; at most ${MAX_EVENT_BYTES} fit into one event.`);
  }
}

/** A log that is not the one that was worked with until now. The message says what to do. */
export class OtherLogError extends Error {
  override readonly name = 'OtherLogError';
  /** @param found what was found, as the beginning of a sentence */
  constructor(found: string) {
    super(
      `${found} Name the right log, or another DATA_DIR (and other engines with it); copy a log to where you want it ` +
        'with "dynamic-assets migrate"; or take this one as it is: dynamic-assets start --accept-log.',
    );
  }
}

export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
  /** Of an append: the log was asked, and may have stored it, or may yet. */
  readonly mayBeStored: boolean;

  constructor(
    message: string,
    { mayBeStored = false, ...options }: ErrorOptions & { readonly mayBeStored?: boolean } = {},
  ) {
    super(message, options);
    this.mayBeStored = mayBeStored;
  }
}

/** The embedded log's file is damaged. Nothing else holds what was in it: it is left as it is, and a person has to look. */
export class EventLogDamagedError extends EventStoreUnavailableError {
  override readonly name = 'EventLogDamagedError';
  /** @param damage what was found, in the engine's words */
  constructor(file: string, damage: string, options: ErrorOptions = {}) {
    super(
      `The event log ${file} is damaged (${damage}): stop the service, keep a copy of the data directory, and put a backup in its place with "dynamic-assets restore"; "dynamic-assets doctor" says what is damaged.`,
      options,
    );
  }
}

/**
 * The log lacks what was read of it before: it was put back to an older copy, or is another one. This store is of no use
 * any more, nor is what was kept in memory of the log; a new one can be opened.
 */
export class LogReplacedError extends EventStoreUnavailableError {
  constructor(options?: ErrorOptions) {
    super('The event log is not the one from before: it was put back to an older copy, or is another one.', options);
  }
}
