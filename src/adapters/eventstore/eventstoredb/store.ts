import { ANY, BACKWARDS, END, type JSONEventData, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import {
  type AppendResult,
  type EventLog,
  type EventStore,
  EventStoreUnavailableError,
  type ExpectedRevision,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { DeadlineError, withTimeout } from '../../../supervision/deadline.js';
import { retry } from '../../../supervision/keepRunning.js';
import { dataAsJson, eventStoreOf, isAt, lastAppend } from '../everyStore.js';
import { connect } from './connection.js';
import { decode, encode } from './encoding.js';
import { feed } from './feed.js';
import { KnownLog, LogReader } from './logReader.js';
import { CALL_BACKOFF, isTransient, isUnsent, OF_LEADER, Server, toPortError } from './server.js';

type EventStoreDbSettings = {
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

const EXPECTED = { any: ANY, 'no-stream': NO_STREAM } as const;

/** See `EventStore.append`. @param timeoutMs how long it is retried while the server is away, in milliseconds */
function appender(server: Server, reader: LogReader, log: KnownLog, timeoutMs: number): EventLog['append'] {
  /**
   * Retried while the server is away. Event ids and revision stay the same, so the server recognises an append whose answer
   * was lost.
   * @param deadline no call begins after this time (milliseconds since 1970)
   * @returns undefined if the stream is at another revision
   */
  async function send(
    stream: string,
    events: JSONEventData[],
    expected: ExpectedRevision,
    deadline: number,
  ): Promise<AppendResult | undefined> {
    const expectedRevision = typeof expected === 'number' ? BigInt(expected) : EXPECTED[expected];
    let mayBeStored = false;
    const attempt = async (): Promise<AppendResult> => {
      await withTimeout(deadline - Date.now(), 'the event store did not answer in time', log.check());
      const left = deadline - Date.now();
      if (left <= 0) throw new DeadlineError('no time was left to ask it');
      const options = { ...OF_LEADER, expectedRevision, deadline: left };
      try {
        const { nextExpectedRevision, position } = await server.run((client) =>
          withTimeout(left, `the append took over ${left} ms`, client.appendToStream(stream, events, options)),
        );
        const revision = Number(nextExpectedRevision);
        if (position) return { revision, position: Number(position.commit) };
        // The answer to an append that was stored before may lack it.
        const [stored] = (await reader.readSlice(stream, { from: revision, maxCount: 1 })).events;
        if (stored !== undefined) return { revision, position: stored.position };
        throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
      } catch (error) {
        mayBeStored ||= isTransient(error) && !isUnsent(error);
        throw error;
      }
    };
    try {
      return await retry(attempt, { until: deadline, backoff: CALL_BACKOFF, isTransient });
    } catch (error) {
      if (error instanceof WrongExpectedVersionError) return undefined;
      throw toPortError(error, mayBeStored);
    }
  }

  /** The last revision of a stream, and the last that readers see; -1 if there is none. */
  async function endOf(stream: string): Promise<{ readonly stored: Revision; readonly visible: Revision }> {
    const [end] = await reader.rawStream(stream, { fromRevision: END, direction: BACKWARDS, maxCount: 1 });
    const stored = Number(end?.revision ?? -1);
    const isPart = end !== undefined && decode(end)?.part?.split === true;
    return { stored, visible: isPart ? ((await lastAppend(reader, stream))?.revision ?? -1) : stored };
  }

  return async (stream, events, expected, { until = Number.POSITIVE_INFINITY } = {}) => {
    dataAsJson(events);
    const deadline = Math.min(until, Date.now() + timeoutMs);
    const encoded = encode(events);
    const appended = await send(stream, encoded, expected, deadline);
    if (appended !== undefined) return appended;
    const { stored, visible } = await endOf(stream);
    // Behind an append in parts that its writer gave up, this one goes on with the revision that readers know.
    const mayGoOn = expected !== 'any' && stored !== visible && isAt(expected, visible);
    const behind = mayGoOn ? await send(stream, encoded, stored, deadline) : undefined;
    if (behind !== undefined) return behind;
    throw new WrongExpectedRevisionError(stream, expected, visible < 0 ? 'no-stream' : visible);
  };
}
