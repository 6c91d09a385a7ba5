import { ANY, BACKWARDS, END, type JSONEventData, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import {
  type AppendResult,
  type EventLog,
  type ExpectedRevision,
  type Position,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/keepRunning.js';
import { TimeLimitError, withTimeout } from '../../../supervision/waiting.js';
import { dataAsJson, isAt, lastAppend } from '../everyStore.js';
import { decode, encode, positionOf } from './encoding.js';
import type { KnownLog, LogReader } from './logReader.js';
import { CALL_BACKOFF, isTransient, isUnsent, OF_LEADER, type Server, toPortError } from './server.js';

const EXPECTED = { any: ANY, 'no-stream': NO_STREAM } as const;

/** See `EventStore.append`. @param timeoutMs how long it is retried while the server is away, in milliseconds */
export function appender(server: Server, reader: LogReader, log: KnownLog, timeoutMs: number): EventLog['append'] {
  async function placeOf(stream: string, revision: Revision): Promise<Position> {
    const [event] = await reader.rawStream(stream, { fromRevision: BigInt(revision), maxCount: 1 });
    if (event === undefined) throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
    return positionOf(event);
  }

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
      await withTimeout(deadline - Date.now(), 'the look at the log took too long', log.check());
      const left = deadline - Date.now();
      if (left <= 0) throw new TimeLimitError('no time was left to ask it');
      const options = { ...OF_LEADER, expectedRevision, deadline: left };
      try {
        const { nextExpectedRevision, position } = await server.run((client) =>
          withTimeout(left, `the append took over ${left} ms`, client.appendToStream(stream, events, options)),
        );
        const revision = Number(nextExpectedRevision);
        // The answer to an append that was stored before may lack it.
        return { revision, position: position ? Number(position.commit) : await placeOf(stream, revision) };
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
