import { ANY, type JSONEventData, jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { v5 as nameBasedUuid } from 'uuid';
import {
  type AppendOptions,
  type AppendResult,
  type EventToAppend,
  type EventType,
  type ExpectedRevision,
  type Position,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/keepRunning.js';
import { TimeLimitError, withTimeout } from '../../../supervision/waiting.js';
import { dataAsJson, isAt } from '../everyStore.js';
import { encode, STORED_TYPES_STREAM, toPosition } from './encoding.js';
import { isTransient, isUnsent, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import type { LogReader } from './logReader.js';
import { CALL_BACKOFF, OF_LEADER, type Server } from './server.js';

/** A random constant that names the ids of the list's events (RFC 9562 §5.5). */
const NAMESPACE = '0f6f4c1e-7a0b-4d6e-9c55-3b1d2a8f9e47';

/** The answer to an append that was stored before may lack the position. */
type Appended = { readonly revision: Revision; readonly position: Position | undefined };

export class Appender {
  readonly #server: Server;
  readonly #reader: LogReader;
  readonly #log: KnownLog;
  readonly #timeoutMs: number;
  /** Keys of the types that are known to be listed. */
  readonly #listed = new Set<string>();

  /** @param timeoutMs how long an append is retried while the server is away, in milliseconds */
  constructor(server: Server, reader: LogReader, log: KnownLog, timeoutMs: number) {
    this.#server = server;
    this.#reader = reader;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expected: ExpectedRevision,
    { until = Number.POSITIVE_INFINITY }: AppendOptions = {},
  ): Promise<AppendResult> {
    dataAsJson(stream, events);
    const deadline = Math.min(until, Date.now() + this.#timeoutMs);
    await this.#list(events, deadline);
    const encoded = encode(events);
    let appended = await this.#send(stream, encoded, expected, deadline);
    if (appended === 'conflict') {
      const { stored, visible } = await this.#reader.tail(stream);
      // Behind an append in parts that its writer gave up, this one goes on with the revision that readers know.
      const mayGoOn = expected !== 'any' && stored !== visible && isAt(expected, visible);
      if (mayGoOn) appended = await this.#send(stream, encoded, stored, deadline);
      if (appended === 'conflict')
        throw new WrongExpectedRevisionError(stream, expected, visible < 0 ? 'no-stream' : visible);
    }
    const { revision, position } = appended;
    if (position !== undefined) return { revision, position };
    const [last] = await this.#reader.storedIn(stream, revision, 1).catch((error: unknown) => {
      throw toPortError(error, true);
    });
    if (last === undefined) throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
    return { revision, position: last.event.position };
  }

  /**
   * The stored event types. The server cannot list them cheaply, so a small stream does: one event for each type and
   * schema version, appended before the first event of that type. After a crash in between the list may name a type
   * without events, never the other way round.
   */
  async storedTypes(): Promise<readonly EventType[]> {
    const types = new Map<string, EventType>();
    for (const { data } of await this.#reader.rawStream(STORED_TYPES_STREAM)) {
      const { type, schemaVersion } = Object(data);
      if (typeof type !== 'string' || typeof schemaVersion !== 'number') continue;
      types.set(typeKey({ type, schemaVersion }), { type, schemaVersion });
    }
    for (const key of types.keys()) this.#listed.add(key);
    return [...types.values()];
  }

  /** Adds the types of these events to the list. */
  async #list(ofEvents: readonly EventToAppend[], deadline: number): Promise<void> {
    const types = ofEvents.map(({ type, metadata }) => ({ type, schemaVersion: metadata.schemaVersion }));
    const unlisted = () => types.filter((each) => !this.#listed.has(typeKey(each)));
    if (unlisted().length > 0) await this.storedTypes();
    const missing = new Map(unlisted().map((each) => [typeKey(each), each]));
    if (missing.size === 0) return;
    // The same ids in every process, so that concurrent additions of a type are stored once.
    const events = [...missing].map(([key, data]) =>
      jsonEvent({ id: nameBasedUuid(key, NAMESPACE), type: 'EventTypeStored', data }),
    );
    // One by one: of several, of which another process has stored some, the server refuses all.
    for (const event of events) await this.#send(STORED_TYPES_STREAM, [event], 'any', deadline);
    for (const key of missing.keys()) this.#listed.add(key);
  }

  /**
   * Retried while the server is away. Event ids and revision stay the same, so the server recognises an append whose answer
   * was lost.
   * @param deadline no call begins after this time (milliseconds since 1970)
   */
  async #send(
    stream: string,
    events: JSONEventData[],
    expected: ExpectedRevision,
    deadline: number,
  ): Promise<Appended | 'conflict'> {
    const expectedRevision = typeof expected === 'number' ? BigInt(expected) : EXPECTED[expected];
    let mayBeStored = false;
    const attempt = async (): Promise<Appended> => {
      await withTimeout(deadline - Date.now(), 'the look at the log took too long', this.#log.check());
      const left = deadline - Date.now();
      if (left <= 0) throw new TimeLimitError('no time was left to ask it');
      const options = { ...OF_LEADER, expectedRevision, deadline: left };
      try {
        const { nextExpectedRevision, position } = await this.#server.run((client) =>
          withTimeout(left, `the append took over ${left} ms`, client.appendToStream(stream, events, options)),
        );
        return { revision: Number(nextExpectedRevision), position: position && toPosition(position.commit) };
      } catch (error) {
        mayBeStored ||= stream !== STORED_TYPES_STREAM && isTransient(error) && !isUnsent(error);
        throw error;
      }
    };
    try {
      return await retry(attempt, {
        until: deadline,
        backoff: CALL_BACKOFF,
        isTransient: (error) => isTransient(error) && !(error instanceof TimeLimitError),
      });
    } catch (error) {
      if (error instanceof WrongExpectedVersionError) return 'conflict';
      throw toPortError(error, mayBeStored);
    }
  }
}

const EXPECTED = { any: ANY, 'no-stream': NO_STREAM } as const;

const typeKey = ({ type, schemaVersion }: EventType): string => `${schemaVersion} ${type}`;
