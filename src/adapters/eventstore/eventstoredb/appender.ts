import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import {
  ANY,
  type AppendResult as ClientAppendResult,
  type Credentials,
  type EventData,
  type EventStoreDBClient,
  NO_STREAM,
} from '@eventstore/db-client';
import PQueue from 'p-queue';
import {
  type AppendResult,
  type EventToAppend,
  type ExpectedRevision,
  type Revision,
  WrongExpectedRevisionError,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/retry.js';
import { TimeLimitError, withinTime } from '../../../supervision/timeLimit.js';
import { encodeAppend, toPosition } from './encoding.js';
import { CALL_BACKOFF, isTransient, isWrongVersion, toPortError } from './errors.js';
import { type LogReads, OF_LEADER } from './logReads.js';
import type { Tail } from './parts.js';
import type { TypeList } from './typeList.js';

/** Calls on their way at once; more would wait in the server, and be overdue there when many come together. */
const CALLS_AT_ONCE = 64;
/** What a call gets that has waited for others for longer than the time limit, in milliseconds. */
const LAST_TRY_MS = 1_000;

/** How often an append steps over an unfinished one that others may step over at the same time. */
const MAX_STEPS = 10;

export type AppenderParts = {
  readonly client: EventStoreDBClient;
  readonly credentials: Credentials | undefined;
  readonly reads: LogReads;
  readonly types: TypeList;
  /** How long one call is tried while the server is away, in milliseconds. */
  readonly timeoutMs: number;
};

/** Appends whole or, for every reader, not at all. */
export class Appender {
  readonly #parts: AppenderParts;
  readonly #calls = new PQueue({ concurrency: CALLS_AT_ONCE });

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  /** See `EventStore.append`. */
  async append(
    stream: string,
    events: readonly EventToAppend[],
    expectedRevision: ExpectedRevision,
  ): Promise<AppendResult> {
    const [first, ...rest] = encodeAppend(stream, events);
    if (first === undefined) return this.#appendNothing(stream, expectedRevision);
    if (!this.#parts.types.has(events)) {
      await this.#tried((deadline) => this.#parts.types.add(events, deadline), stream);
    }
    let result = await this.#appendFirst(stream, first, expectedRevision);
    for (const call of rest) {
      // No other writer's event can stand between two calls: each insists on the last revision of the one before.
      const next = await this.#send(stream, call, result.nextExpectedRevision);
      if (next === 'conflict') throw conflict(stream, expectedRevision, await this.#parts.reads.tail(stream));
      result = next;
    }
    return this.#answer(stream, result);
  }

  /** The first call decides who wins. Behind an append that its writer gave up, it goes on where that one ended. */
  async #appendFirst(
    stream: string,
    call: readonly EventData[],
    expected: ExpectedRevision,
  ): Promise<ClientAppendResult> {
    let revision = toClientRevision(expected);
    for (let step = 0; step < MAX_STEPS; step++) {
      const result = await this.#send(stream, call, revision);
      if (result !== 'conflict') return result;
      const tail = await this.#parts.reads.tail(stream);
      // With `any`, a conflict says that only some of the events are stored already.
      const goesOn = expected !== 'any' && tail.stored !== tail.visible && allows(expected, tail.visible);
      if (!goesOn) throw conflict(stream, expected, tail);
      revision = BigInt(tail.stored);
    }
    throw conflict(stream, expected, await this.#parts.reads.tail(stream));
  }

  /**
   * One call, tried again while the server is away. Its ids and its revision stay the same, by which the server
   * knows an append whose answer was lost.
   */
  async #send(
    stream: string,
    call: readonly EventData[],
    expectedRevision: bigint | typeof ANY | typeof NO_STREAM,
  ): Promise<ClientAppendResult | 'conflict'> {
    const { client, credentials } = this.#parts;
    const options = { ...OF_LEADER, expectedRevision, ...(credentials === undefined ? {} : { credentials }) };
    return this.#tried(async (deadline) => {
      try {
        return await client.appendToStream(stream, [...call], { ...options, deadline });
      } catch (error) {
        if (isWrongVersion(error)) return 'conflict';
        throw error;
      }
    }, stream);
  }

  /** @param call gets what is left of the time, in milliseconds */
  #tried<T>(call: (deadline: number) => Promise<T>, stream: string): Promise<T> {
    const asked = Date.now();
    return this.#calls.add(async () => {
      const until = Math.max(asked + this.#parts.timeoutMs, Date.now() + LAST_TRY_MS);
      const attempt = async (): Promise<T> => {
        // The client throws where nothing can catch it when its channel is closed under it. That happens in the turn of
        // the event loop in which another call fails, so this one begins in a turn of its own.
        await eventLoopTurn();
        const left = until - Date.now();
        return withinTime(left, `the append took over ${left} ms`, call(left));
      };
      try {
        return await retry(attempt, {
          until,
          backoff: CALL_BACKOFF,
          isTransient: (error) => isTransient(error) && !(error instanceof TimeLimitError),
        });
      } catch (error) {
        throw toPortError(error, stream);
      }
    });
  }

  async #appendNothing(stream: string, expected: ExpectedRevision): Promise<AppendResult> {
    const tail = await this.#parts.reads.tail(stream);
    if (!allows(expected, tail.visible)) throw conflict(stream, expected, tail);
    return { revision: tail.visible, position: await this.#parts.reads.head() };
  }

  async #answer(stream: string, { nextExpectedRevision, position }: ClientAppendResult): Promise<AppendResult> {
    const revision = Number(nextExpectedRevision);
    if (position !== undefined) return { revision, position: toPosition(position.commit) };
    // The answer to an append that is stored already may lack it.
    const [last] = await this.#parts.reads.storedIn(stream, revision, 1);
    if (last === undefined) throw new Error(`The event ${revision} of ${stream} was appended and is not there.`);
    return { revision, position: last.event.position };
  }
}

function toClientRevision(expected: ExpectedRevision): bigint | typeof ANY | typeof NO_STREAM {
  if (expected === 'any') return ANY;
  return expected === 'no-stream' ? NO_STREAM : BigInt(expected);
}

function allows(expected: ExpectedRevision, last: Revision): boolean {
  return expected === 'any' || last === (expected === 'no-stream' ? -1 : expected);
}

function conflict(stream: string, expected: ExpectedRevision, { visible }: Tail): WrongExpectedRevisionError {
  return new WrongExpectedRevisionError(stream, expected, visible < 0 ? 'no-stream' : visible);
}
