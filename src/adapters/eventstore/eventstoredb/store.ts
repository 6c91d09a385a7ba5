import { charactersOf } from '../../../domain/jsonSize.js';
import {
  type AppendOptions,
  type AppendResult,
  type BackwardSlice,
  type EventPosition,
  type EventSize,
  type EventSlice,
  type EventStore,
  EventStoreUnavailableError,
  type EventToAppend,
  type ExpectedRevision,
  type Position,
  type RecordedEvent,
  type Revision,
  type SizeSlice,
  type SliceRange,
  type StreamSlice,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { mapWithPauses } from '../../../supervision/waiting.js';
import { identityOf } from '../everyStore.js';
import { Appender } from './appender.js';
import { connect } from './connection.js';
import { Feed, type FeedParts, subscribe } from './feed.js';
import { KnownLog } from './knownLog.js';
import { LogReader } from './logReader.js';
import { Server } from './server.js';

export type EventStoreDbSettings = {
  /** `esdb://user:password@host:2113?tls=true`, or `esdb+discover://` for a cluster. */
  readonly url: string;
  /** Appends and reads reject after this long without the server. Default 4,000 ms. */
  readonly timeoutMs?: number;
  /** A subscription fails after this long without the server. Default 30,000 ms. */
  readonly patienceMs?: number;
  /** An event that the log lacks is believed to be gone after this long. Default 10,000 ms. */
  readonly replacedAfterMs?: number;
};

/** The client parses each event in any case, and does not tell how long its text was. */
const sizeOf = ({ stream, position, type, data, metadata }: RecordedEvent): EventSize => ({
  stream,
  position,
  type,
  bytes: charactersOf(data) + charactersOf(metadata),
  occurredAt: metadata.occurredAt,
});

/**
 * Opens the event store on an EventStoreDB server or cluster (22.6 or newer). The server may hold other data, which is
 * skipped.
 * @throws ConnectionStringError
 */
export async function openEventStoreDb(settings: EventStoreDbSettings): Promise<EventStore> {
  return new EventStoreDb(settings);
}

class EventStoreDb implements EventStore {
  readonly #server: Server;
  readonly #parts: FeedParts & { readonly feed: Feed };
  readonly #appender: Appender;
  readonly #closing = new AbortController();
  readonly #inFlight = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor({ url, timeoutMs = 4_000, patienceMs = 30_000, replacedAfterMs }: EventStoreDbSettings) {
    const { signal } = this.#closing;
    const server = new Server(connect(url), () => log.connectionLost());
    const reader = new LogReader(server, timeoutMs);
    const log = new KnownLog(reader, signal, replacedAfterMs);
    const parts = { server, reader, log, patienceMs };
    this.#server = server;
    this.#parts = { ...parts, feed: new Feed(parts, signal) };
    this.#appender = new Appender({ server, reader, log, timeoutMs });
  }

  append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
    options?: AppendOptions,
  ): Promise<AppendResult> {
    return this.#run(() => this.#appender.append(stream, events, expectedRevision, options));
  }

  readStream(stream: string, fromRevision: Revision = 0, toRevision?: Revision): Promise<readonly RecordedEvent[]> {
    return this.#run(() => this.#parts.reader.stream(stream, fromRevision, toRevision));
  }

  readSlice(stream: string, range: SliceRange): Promise<StreamSlice> {
    return this.#run(() => this.#parts.reader.slice(stream, range));
  }

  readBackwards(maxCount: number, before?: Position): Promise<BackwardSlice> {
    return this.#run(() => this.#parts.reader.backwards(maxCount, before));
  }

  lastAppend(stream: string): Promise<AppendResult | undefined> {
    return this.#run(() => this.#parts.reader.lastAppend(stream));
  }

  subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice> {
    return subscribe(this.#parts, { ...options, signal: AbortSignal.any([options.signal, this.#closing.signal]) });
  }

  async *sizes(options: Pick<SubscribeOptions, 'after' | 'signal'>): AsyncGenerator<SizeSlice> {
    for await (const { events, ...slice } of this.subscribe(options))
      yield { ...slice, sizes: await mapWithPauses(events, sizeOf) };
  }

  head(): Promise<Position> {
    return this.#run(async () => (await this.#parts.reader.head()).position);
  }

  async ping(): Promise<void> {
    await this.head();
  }

  identity(): Promise<string> {
    return identityOf(this);
  }

  holds(place: EventPosition): Promise<boolean> {
    return this.#run(() => this.#parts.log.holds(place));
  }

  storedEventTypes(): Promise<readonly { readonly type: string; readonly schemaVersion: number }[]> {
    return this.#run(() => this.#appender.storedTypes());
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  /** Waits for the calls in flight, each within its time limit. */
  async #end(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#inFlight);
    await this.#server.close();
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw new EventStoreUnavailableError('The event store is closed.');
    const call = work();
    this.#inFlight.add(call);
    try {
      return await call;
    } finally {
      this.#inFlight.delete(call);
    }
  }
}
