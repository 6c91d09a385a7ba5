import { type EventStore, EventStoreUnavailableError } from '../../../ports/eventStore.js';
import { identityOf } from '../everyStore.js';
import { Appender } from './appender.js';
import { connect } from './connection.js';
import { Feed } from './feed.js';
import { KnownLog } from './knownLog.js';
import { LogReader } from './logReader.js';
import { Server } from './server.js';

export type EventStoreDbSettings = {
  /** `esdb://user:password@host:2113?tls=true`, or `esdb+discover://` for a cluster. */
  readonly url: string;
  /** Appends and reads reject after this long without the server. Default 4,000 ms. */
  readonly timeoutMs?: number;
  /** An event that the log lacks is believed to be gone after this long. Default 10,000 ms. */
  readonly replacedAfterMs?: number;
};

/**
 * Opens the event store on an EventStoreDB server or cluster (22.6 or newer). The server may hold other data, which is
 * skipped.
 * @throws ConnectionStringError
 */
export async function openEventStoreDb({
  url,
  timeoutMs = 4_000,
  replacedAfterMs,
}: EventStoreDbSettings): Promise<EventStore> {
  const closing = new AbortController();
  const server = new Server(connect(url), () => log.connectionLost());
  const reader = new LogReader(server, timeoutMs);
  const log = new KnownLog(reader, closing.signal, replacedAfterMs);
  const appender = new Appender(server, reader, log, timeoutMs);
  const feed = new Feed({ server, reader, log, closing: closing.signal });
  const inFlight = new Set<Promise<unknown>>();
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing.signal.aborted) throw new EventStoreUnavailableError('The event store is closed.');
    const call = work();
    inFlight.add(call);
    try {
      return await call;
    } finally {
      inFlight.delete(call);
    }
  };
  const store: EventStore = {
    append: (...args) => run(() => appender.append(...args)),
    readStream: (stream, from = 0, to = Number.MAX_SAFE_INTEGER) => run(() => reader.stream(stream, from, to)),
    readSlice: (...args) => run(() => reader.slice(...args)),
    readBackwards: (...args) => run(() => reader.backwards(...args)),
    lastAppend: (stream) => run(() => reader.lastAppend(stream)),
    subscribe: (options) => feed.subscribe(options),
    head: () => run(async () => (await reader.head()).position),
    ping: async () => void (await store.head()),
    identity: () => identityOf(store),
    holds: (place) => run(() => log.holds(place)),
    storedEventTypes: () => run(() => appender.storedTypes()),
    /** Waits for the calls in flight, each within its time limit. */
    async close() {
      closing.abort();
      await Promise.allSettled(inFlight);
      await server.close();
    },
  };
  return store;
}
