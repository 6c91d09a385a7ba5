import PQueue from 'p-queue';
import { v5 as nameBasedUuid } from 'uuid';
import {
  type AppendResult,
  type AppendOptions as AppendTime,
  type EventToAppend,
  type ExpectedRevision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/keepRunning.js';
import { TimeLimitError, withTimeout } from '../../../supervision/waiting.js';
import { isAt } from '../everyStore.js';
import type { Append, Appended, AppendOutcome } from './appendingClient.js';
import { asJson, encodeAppend, STORED_TYPES_STREAM } from './encoding.js';
import { CALL_BACKOFF, isTransient, isUnsent, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import type { Leader } from './leader.js';
import type { LogReader } from './logReader.js';
import type { Tail } from './splitAppends.js';

/** More calls would wait in the server, and could exceed their deadline there. */
const CALLS_IN_FLIGHT = 64;
/** Time for a call that has waited for others longer than the time limit, in milliseconds. */
const LAST_TRY_MS = 1_000;
/** How often an append continues after an unfinished one; other writers may do the same. */
const MAX_ATTEMPTS = 10;

/** A random constant that names the ids of the list's events (RFC 9562 §5.5). */
const NAMESPACE = '0f6f4c1e-7a0b-4d6e-9c55-3b1d2a8f9e47';

type StoredType = { readonly type: string; readonly schemaVersion: number };

export type AppenderParts = {
  readonly leader: Leader;
  readonly reader: LogReader;
  readonly log: KnownLog;
  /** How long one call is retried while the server is away, in milliseconds. */
  readonly timeoutMs: number;
};

/** Appends all events or, for every reader, none. */
export class Appender {
  readonly #parts: AppenderParts;
  readonly #calls = new PQueue({ concurrency: CALLS_IN_FLIGHT });
  /** Keys of the types that are known to be listed. */
  readonly #listed = new Set<string>();

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
    { until = Number.POSITIVE_INFINITY }: AppendTime = {},
  ): Promise<AppendResult> {
    const [first, ...rest] = await encodeAppend(stream, events);
    if (first === undefined) return this.#appendNothing(stream, expectedRevision);
    if (this.#unlisted(events).length > 0) {
      await this.#retried((deadline) => this.#list(events, deadline), { stream, until, ofTheEvents: false });
    }
    let last = await this.#appendFirst({ stream, events: first, expectedRevision }, until);
    for (const call of rest) {
      // No other writer's event can stand between two calls: each expects the last revision of the call before.
      const next = await this.#send({ stream, events: call, expectedRevision: last.revision }, until);
      if (next === 'conflict') throw conflict(stream, expectedRevision, await this.#parts.reader.tail(stream));
      last = next;
    }
    return this.#answer(stream, last);
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

  /** Adds the types of these events to the list. @throws what the client throws */
  async #list(ofEvents: readonly EventToAppend[], deadline: number): Promise<void> {
    await this.storedTypes();
    const missing = this.#unlisted(ofEvents);
    if (missing.length === 0) return;
    const events = missing.map((data) => ({
      // The same id in every process, so that concurrent additions of a type are stored once.
      id: nameBasedUuid(typeKey(data), NAMESPACE),
      type: 'EventTypeStored',
      data: asJson(data),
      metadata: Buffer.alloc(0),
    }));
    const append = { stream: STORED_TYPES_STREAM, events, expectedRevision: 'any' } as const;
    await this.#parts.leader.run((client) => client.append(append, deadline));
    for (const type of missing) this.#listed.add(typeKey(type));
  }

  #unlisted(events: readonly EventToAppend[]): readonly StoredType[] {
    const types = events.map(({ type, metadata }) => ({ type, schemaVersion: metadata.schemaVersion }));
    return distinct(types.filter((each) => !this.#listed.has(typeKey(each))));
  }

  /**
   * The first call decides which writer wins. If the stream ends with an abandoned append, this one continues after it.
   */
  async #appendFirst(append: Append, until: number): Promise<Appended> {
    const { stream, expectedRevision: expected } = append;
    let call = append;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const outcome = await this.#send(call, until);
      if (outcome !== 'conflict') return outcome;
      const tail = await this.#parts.reader.tail(stream);
      // With `any`, a conflict means that only some of the events are already stored.
      const mayGoOn = expected !== 'any' && tail.stored !== tail.visible && isAt(expected, tail.visible);
      if (!mayGoOn) throw conflict(stream, expected, tail);
      call = { ...append, expectedRevision: tail.stored };
    }
    throw conflict(stream, expected, await this.#parts.reader.tail(stream));
  }

  /**
   * One call, retried while the server is away. Event ids and revision stay the same, so the server recognises an
   * append whose answer was lost.
   */
  #send(append: Append, until: number): Promise<AppendOutcome> {
    const call = (deadline: number) => this.#parts.leader.run((client) => client.append(append, deadline));
    return this.#retried(call, { stream: append.stream, until, ofTheEvents: true });
  }

  /**
   * Retries a call while the server is away.
   * @param call is given the remaining time in milliseconds
   * @param about.until no call begins after this time (milliseconds since 1970)
   * @param about.ofTheEvents whether the call appends the caller's events
   */
  #retried<T>(
    call: (deadline: number) => Promise<T>,
    about: { readonly stream: string; readonly until: number; readonly ofTheEvents: boolean },
  ): Promise<T> {
    const askedAt = Date.now();
    let mayBeStored = false;
    return this.#calls.add(async () => {
      const until = Math.min(about.until, Math.max(askedAt + this.#parts.timeoutMs, Date.now() + LAST_TRY_MS));
      const attempt = async (): Promise<T> => {
        await withTimeout(until - Date.now(), 'the look at the log took too long', this.#parts.log.check());
        const left = until - Date.now();
        if (left <= 0) throw new TimeLimitError('no time was left to ask it');
        try {
          return await withTimeout(left, `the append took over ${left} ms`, call(left));
        } catch (error) {
          if (isTransient(error)) this.#parts.log.connectionLost();
          mayBeStored ||= about.ofTheEvents && isTransient(error) && !isUnsent(error);
          throw error;
        }
      };
      try {
        return await retry(attempt, {
          until,
          backoff: CALL_BACKOFF,
          isTransient: (error) => isTransient(error) && !(error instanceof TimeLimitError),
        });
      } catch (error) {
        throw toPortError(error, { stream: about.stream, mayBeStored });
      }
    });
  }

  async #appendNothing(stream: string, expected: ExpectedRevision): Promise<AppendResult> {
    const tail = await this.#parts.reader.tail(stream);
    if (!isAt(expected, tail.visible)) throw conflict(stream, expected, tail);
    return { revision: tail.visible, position: (await this.#parts.reader.head()).position };
  }

  async #answer(stream: string, { revision, position }: Appended): Promise<AppendResult> {
    if (position !== undefined) return { revision, position };
    // The answer to an append that was already stored may lack the position.
    const [last] = await this.#parts.reader.storedIn(stream, revision, 1);
    if (last === undefined) throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
    return { revision, position: last.event.position };
  }
}

const typeKey = ({ type, schemaVersion }: StoredType): string => `${schemaVersion} ${type}`;

const distinct = (types: readonly StoredType[]): readonly StoredType[] => [
  ...new Map(types.map((each) => [typeKey(each), each])).values(),
];

function conflict(stream: string, expected: ExpectedRevision, { visible }: Tail): WrongExpectedRevisionError {
  return new WrongExpectedRevisionError(stream, expected, visible < 0 ? 'no-stream' : visible);
}
