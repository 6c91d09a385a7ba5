import { type EventStore, EventStoreUnavailableError } from '../../../ports/eventStore.js';
import { eventStoreOf } from '../everyStore.js';
import { appender } from './appender.js';
import { connect } from './connection.js';
import { feed } from './feed.js';
import { KnownLog, LogReader } from './logReader.js';
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
  const append = appender(server, reader, log, timeoutMs);
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
  return eventStoreOf({
    append: (...args) => run(() => append(...args)),
    readSlice: (...args) => run(() => reader.readSlice(...args)),
    readBackwards: (...args) => run(() => reader.readBackwards(...args)),
    subscribe: feed(server, reader, log, closing.signal),
    head: () => run(async () => (await reader.head()).position),
    holds: (place) => run(() => log.holds(place)),
    ping: () => run(async () => void (await reader.head())),
    /** The server cannot list them cheaply: the first reader that does not know one says it. */
    storedEventTypes: async () => [],
    /** Waits for the calls in flight, each within its time limit. */
    async close() {
      closing.abort();
      await Promise.allSettled(inFlight);
      await server.close();
    },
  });
}
