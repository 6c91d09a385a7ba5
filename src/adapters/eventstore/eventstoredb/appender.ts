import { ANY, type JSONEventData, jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { v5 as nameBasedUuid } from 'uuid';
import {
  type AppendOptions,
  type AppendResult,
  type EventToAppend,
  type ExpectedRevision,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/keepRunning.js';
import { TimeLimitError, withTimeout } from '../../../supervision/waiting.js';
import { dataAsJson, isAt } from '../everyStore.js';
import { encode, STORED_TYPES_STREAM, toPosition } from './encoding.js';
import { CALL_BACKOFF, isTransient, isUnsent, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import type { LogReader } from './logReader.js';
import { OF_LEADER, type Server } from './server.js';

/** How often an append continues after an unfinished one of an earlier release; other writers may do the same. */
const MAX_ATTEMPTS = 10;

/** A random constant that names the ids of the list's events (RFC 9562 §5.5). */
const NAMESPACE = '0f6f4c1e-7a0b-4d6e-9c55-3b1d2a8f9e47';

type StoredType = { readonly type: string; readonly schemaVersion: number };

export type AppenderParts = {
  readonly server: Server;
  readonly reader: LogReader;
  readonly log: KnownLog;
  /** How long an append is retried while the server is away, in milliseconds. */
  readonly timeoutMs: number;
};

/** The last event's revision and position. The answer to an append that was already stored may lack the position. */
type Appended = { readonly revision: Revision; readonly position: number | undefined };

export class Appender {
  readonly #parts: AppenderParts;
  /** Keys of the types that are known to be listed. */
  readonly #listed = new Set<string>();

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expected: ExpectedRevision,
    { until = Number.POSITIVE_INFINITY }: AppendOptions = {},
  ): Promise<AppendResult> {
    await dataAsJson(stream, events);
    if (events.length === 0) return this.#appendNothing(stream, expected);
    const deadline = Math.min(until, Date.now() + this.#parts.timeoutMs);
    await this.#list(events, deadline);
    const { reader } = this.#parts;
    const encoded = encode(events);
    for (let [attempt, revision] = [0, expected]; ; attempt++) {
      const appended = await this.#send(stream, encoded, revision, deadline, true);
      if (appended !== 'conflict') return this.#answer(stream, appended);
      const tail = await reader.tail(stream);
      // Behind an append in parts that its writer gave up, this one goes on with the revision that readers know.
      const mayGoOn = expected !== 'any' && tail.stored !== tail.visible && isAt(expected, tail.visible);
      if (!mayGoOn || attempt === MAX_ATTEMPTS)
        throw new WrongExpectedRevisionError(stream, expected, tail.visible < 0 ? 'no-stream' : tail.visible);
      revision = tail.stored;
    }
  }

  /**
   * The stored event types. The server cannot list them cheaply, so a small stream does: one event for each type and
   * schema version, appended before the first event of that type. After a crash in between the list may name a type
   * without events, never the other way round.
   */
  async storedTypes(): Promise<readonly StoredType[]> {
    const listed = await this.#parts.reader.rawStream(STORED_TYPES_STREAM);
    const types = distinct(
      listed.flatMap(({ data }) => {
        const { type, schemaVersion } = Object(data);
        return typeof type === 'string' && typeof schemaVersion === 'number' ? [{ type, schemaVersion }] : [];
      }),
    );
    for (const each of types) this.#listed.add(typeKey(each));
    return types;
  }

  /** Adds the types of these events to the list. */
  async #list(ofEvents: readonly EventToAppend[], deadline: number): Promise<void> {
    const types = distinct(ofEvents.map(({ type, metadata }) => ({ type, schemaVersion: metadata.schemaVersion })));
    const unlisted = () => types.filter((each) => !this.#listed.has(typeKey(each)));
    if (unlisted().length > 0) await this.storedTypes();
    const missing = unlisted();
    if (missing.length === 0) return;
    // The same ids in every process, so that concurrent additions of a type are stored once.
    const events = missing.map((data) =>
      jsonEvent({ id: nameBasedUuid(typeKey(data), NAMESPACE), type: 'EventTypeStored', data }),
    );
    await this.#send(STORED_TYPES_STREAM, events, 'any', deadline, false);
    for (const type of missing) this.#listed.add(typeKey(type));
  }

  /**
   * Retried while the server is away. Event ids and revision stay the same, so the server recognises an append whose answer
   * was lost.
   * @param deadline no call begins after this time (milliseconds since 1970)
   * @param areCallers whether they are events of the caller
   */
  async #send(
    stream: string,
    events: JSONEventData[],
    expected: ExpectedRevision,
    deadline: number,
    areCallers: boolean,
  ): Promise<Appended | 'conflict'> {
    const { server, log } = this.#parts;
    const expectedRevision = expected === 'any' ? ANY : expected === 'no-stream' ? NO_STREAM : BigInt(expected);
    let mayBeStored = false;
    const attempt = async (): Promise<Appended> => {
      await withTimeout(deadline - Date.now(), 'the look at the log took too long', log.check());
      const left = deadline - Date.now();
      if (left <= 0) throw new TimeLimitError('no time was left to ask it');
      try {
        const { nextExpectedRevision, position } = await server.run((client) =>
          withTimeout(
            left,
            `the append took over ${left} ms`,
            client.appendToStream(stream, events, { ...OF_LEADER, expectedRevision, deadline: left }),
          ),
        );
        return { revision: Number(nextExpectedRevision), position: position && toPosition(position.commit) };
      } catch (error) {
        mayBeStored ||= areCallers && isTransient(error) && !isUnsent(error);
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
      throw toPortError(error, { stream, mayBeStored });
    }
  }

  async #appendNothing(stream: string, expected: ExpectedRevision): Promise<AppendResult> {
    const { visible } = await this.#parts.reader.tail(stream);
    if (!isAt(expected, visible))
      throw new WrongExpectedRevisionError(stream, expected, visible < 0 ? 'no-stream' : visible);
    return { revision: visible, position: (await this.#parts.reader.head()).position };
  }

  async #answer(stream: string, { revision, position }: Appended): Promise<AppendResult> {
    if (position !== undefined) return { revision, position };
    const [last] = await this.#parts.reader.storedIn(stream, revision, 1);
    if (last === undefined) throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
    return { revision, position: last.event.position };
  }
}

const typeKey = ({ type, schemaVersion }: StoredType): string => `${schemaVersion} ${type}`;

const distinct = (types: readonly StoredType[]): readonly StoredType[] => [
  ...new Map(types.map((each) => [typeKey(each), each])).values(),
];
