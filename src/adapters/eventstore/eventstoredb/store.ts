import {
  type AppendResult,
  type EventSlice,
  type EventStore,
  EventStoreUnavailableError,
  type EventToAppend,
  type ExpectedRevision,
  type Position,
  type RecordedEvent,
  type Revision,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { Appender } from './appender.js';
import { type Connection, connect, OF_LEADER } from './connection.js';
import { LogReader } from './logReader.js';
import { subscribe } from './subscription.js';

export type EventStoreDbSettings = {
  /** `esdb://user:password@host:2113?tls=true`, or `esdb+discover://` for a cluster. */
  readonly url: string;
  /** After this long without the server, appends and reads reject. Default 4,000 ms. */
  readonly timeoutMs?: number;
  /** After this long without the server, a subscription ends with an error. Default 30,000 ms. */
  readonly patienceMs?: number;
};

/**
 * Opens the event store on an EventStoreDB server or cluster (22.6 or newer). The server may hold other data; what
 * this service did not write is passed over.
 * @throws ConnectionStringError
 */
export async function openEventStoreDb(settings: EventStoreDbSettings): Promise<EventStore> {
  return new EventStoreDb(connect(settings.url), settings.timeoutMs ?? 4_000, settings.patienceMs ?? 30_000);
}

class EventStoreDb implements EventStore {
  readonly #connection: Connection;
  readonly #reader: LogReader;
  readonly #appender: Appender;
  readonly #timeoutMs: number;
  readonly #patienceMs: number;
  readonly #closing = new AbortController();
  readonly #inFlight = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(connection: Connection, timeoutMs: number, patienceMs: number) {
    const { client, appendCredentials: credentials } = connection;
    const options = { ...OF_LEADER, ...(credentials && { credentials }) };
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
    this.#patienceMs = patienceMs;
    this.#reader = new LogReader(client, timeoutMs);
    this.#appender = new Appender({ client, options, reader: this.#reader, timeoutMs });
  }

  append(stream: string, events: readonly EventToAppend[], expectedRevision: ExpectedRevision): Promise<AppendResult> {
    return this.#run(() => this.#appender.append(stream, events, expectedRevision));
  }

  readStream(stream: string, fromRevision: Revision = 0, toRevision?: Revision): Promise<readonly RecordedEvent[]> {
    return this.#run(() => this.#reader.stream(stream, fromRevision, toRevision));
  }

  async *subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const { client } = this.#connection;
    const parts = { client, reader: this.#reader, timeoutMs: this.#timeoutMs, patienceMs: this.#patienceMs };
    yield* subscribe(parts, { ...options, signal });
  }

  head(): Promise<Position> {
    return this.#run(() => this.#reader.head());
  }

  storedEventTypes(): Promise<readonly { readonly type: string; readonly schemaVersion: number }[]> {
    return this.#run(() => this.#appender.storedTypes());
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  /** Calls in flight end first, each within its time limit. */
  async #end(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#inFlight);
    await this.#connection.client.dispose();
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
