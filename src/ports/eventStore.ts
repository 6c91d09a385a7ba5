/** The event log: append-only streams, and one total order over all of them. Its contract: `test/contract/eventStore.ts`. */
import { type ErasureRecorded, Erasures } from '../domain/erasure.js';
import type { EventKey } from '../domain/eventTypes.js';
import { ERASURES_STREAM } from '../domain/streams.js';

/** An event's place in the order of all events; 0 is before the first one. */
export type Position = number;

/** With the id of the event there, by which the log is known again; none at 0 and at events of the engine. */
export type EventPosition = { readonly position: Position; readonly eventId?: string | undefined };

export type Revision = number;

export type ExpectedRevision = Revision | 'no-stream' | 'any';

/** Who caused an event, with the name at that time. `system` is the service itself (webhook outcome, sample data). */
export type Actor =
  /** Events of earlier releases have no name of a client. */
  | { readonly kind: 'client'; readonly id: string; readonly name?: string }
  | { readonly kind: 'user'; readonly id: string; readonly name: string }
  | { readonly kind: 'operator' | 'system'; readonly id: string };

export type EventMetadata = {
  readonly tenant: string;
  readonly actor: Actor;
  readonly correlationId: string;
  readonly causationId: string;
  /** ISO 8601 UTC with six digits; never goes backwards within a stream. */
  readonly occurredAt: string;
  readonly schemaVersion: number;
  /** W3C Trace Context; set if the span that made the event is sampled. */
  readonly traceparent?: string | undefined;
  /** The HTTP request that caused it; unset in events of earlier releases. */
  readonly request?: { readonly method: string; readonly path: string } | undefined;
  /** Where "migrate --erase" has removed values: the hash of the event's leaf in the tree as it was before, in base64. */
  readonly erasedLeaf?: string | undefined;
  /** Set on the first event of what a request with an Idempotency-Key has appended. */
  readonly key?: EventKey | undefined;
};

export type EventToAppend = {
  readonly id: string;
  readonly type: string;
  /** Plain JSON, of at most `MAX_EVENT_BYTES`. */
  readonly data: unknown;
  readonly metadata: EventMetadata;
};

export type AppendResult = { readonly revision: Revision; readonly position: Position };

export type RecordedEvent = EventToAppend & AppendResult & { readonly stream: string };

/** A run of events in log order, and how far it goes, with those that a filter left out. Never ends inside an append. */
export type EventSlice = EventPosition & {
  readonly events: readonly RecordedEvent[];
  /** Whether this was the head of the log. After the first such slice, best effort. */
  readonly caughtUp: boolean;
};

export type SubscribeOptions = {
  /** Exclusive. */
  readonly after: Position;
  readonly streamPrefixes?: readonly string[];
  readonly accepts?: (stream: string) => boolean;
  /** At most about this many events a slice. */
  readonly maxCount?: number;
  readonly signal: AbortSignal;
};

export type SliceRange = {
  readonly from: Revision;
  /** Not behind the end of the stream if read backwards. Default: its end. */
  readonly to?: Revision;
  readonly maxCount: number;
  /** Read the last of these events instead of the first, in the order of the stream all the same. */
  readonly backwards?: boolean;
};

/** Events, and where the rest of what was asked begins (where it ends if read backwards), if there is more. */
export type ReadSlice = { readonly events: readonly RecordedEvent[]; readonly next?: number | undefined };

/** One event's `data` may have at most this many bytes of JSON; as many are read at once. */
export const MAX_EVENT_BYTES = 1_000_000;

/** What an engine does. Each method but `subscribe` and `close` rejects with EventStoreUnavailableError in seconds if it is away. */
export interface EventLog {
  /**
   * Appends all events or none, durably: when the promise resolves they survive a crash. No call to the log begins after
   * `until` (milliseconds since 1970), retries included.
   * @throws WrongExpectedRevisionError; AppendTooLargeError; EventStoreUnavailableError, which says whether the events may be
   *   stored all the same
   */
  append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
    options?: { readonly until?: number },
  ): Promise<AppendResult>;
  /** The first of these events in order: at most `maxCount`, up to the one that reaches MAX_EVENT_BYTES, or fewer. */
  readSlice(stream: string, range: SliceRange): Promise<ReadSlice>;
  /** The last events of the log, or those before a position, the last one first. As many as `readSlice` has. */
  readBackwards(maxCount: number, before?: Position): Promise<ReadSlice>;
  /** Stored events, then new ones, slice by slice as the reader asks for them. An empty slice lets a checkpoint move. */
  subscribe(options: SubscribeOptions): AsyncIterable<EventSlice>;
  head(): Promise<Position>;
  /** Whether the log still has this event there. Otherwise it was replaced by an older copy, or is another log. */
  holds(place: EventPosition): Promise<boolean>;
  /** @throws EventStoreUnavailableError also when the log is known to accept no appends */
  ping(): Promise<void>;
  storedEventTypes(): Promise<readonly EventType[]>;
  close(): Promise<void>;
}

/** A log with what follows from these methods, alike for each engine. */
export interface EventStore extends EventLog {
  /** From revision 0 to the last unless given, both inclusive; none of an unknown stream. */
  readStream(stream: string, fromRevision?: Revision, toRevision?: Revision): Promise<readonly RecordedEvent[]>;
  lastAppend(stream: string): Promise<AppendResult | undefined>;
  /** Id of this log, shared with its copies and backups. Created if the log has none. */
  identity(): Promise<string>;
  /** What this store leaves out of the events that it reads; undefined: it reads events as they are stored. */
  readonly erasures?: Erasures;
}

export type EventType = { readonly type: string; readonly schemaVersion: number };

export class WrongExpectedRevisionError extends Error {
  constructor(stream: string, expected: ExpectedRevision, actual: Revision | 'no-stream') {
    super(`Stream ${stream} is at ${actual}, not at ${expected}.`);
  }
}

/** An event is too large, or the events of one append are. Nothing was stored. The message is for callers. */
export class AppendTooLargeError extends Error {}

export class EventStoreUnavailableError extends Error {
  /** For appends: the log was asked, and may have stored the events or may still store them. */
  readonly mayBeStored: boolean;

  constructor(message: string, options: ErrorOptions & { readonly mayBeStored?: boolean } = {}) {
    super(message, options);
    this.mayBeStored = options.mayBeStored ?? false;
  }
}

/** The embedded log's file is damaged. It is the only copy of its events, so it is left as it is for a person to repair. */
export class EventLogDamagedError extends EventStoreUnavailableError {
  constructor(file: string, damage: string, options: ErrorOptions = {}) {
    super(
      `The event log ${file} is damaged (${damage}): stop the service, keep a copy of the data directory, and put a backup in its place with "dynamic-assets restore"; "dynamic-assets doctor" says what is damaged.`,
      options,
    );
  }
}

/** The erasures of a log as they are now, and a function that reads those since. */
export async function erasuresOf(log: Pick<EventStore, 'readStream'>) {
  const erasures = new Erasures();
  let next = 0;
  const readOn = async (): Promise<void> => {
    for (const event of await log.readStream(ERASURES_STREAM, next)) {
      // Two may read at once.
      if (event.revision < next) continue;
      next = event.revision + 1;
      if (event.type === 'ErasureRecorded') erasures.add(event as RecordedEvent & ErasureRecorded, event.position);
    }
  };
  await readOn();
  return { erasures, readOn };
}
