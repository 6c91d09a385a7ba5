/** The server: the client in use, and what its errors mean. */
import { setImmediate as immediate } from 'node:timers/promises';
import { DeadlineExceededError, ErrorType, isCommandError, MaxAppendSizeExceededError } from '@eventstore/db-client';
import { AppendTooLargeError, EventStoreUnavailableError } from '../../../ports/eventStore.js';
import { LogReplacedError } from '../../../ports/logAnchor.js';
import { DeadlineError } from '../../../supervision/deadline.js';
import type { StoreClient } from './connection.js';

/** All calls go to the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

export const CALL_BACKOFF = { firstMs: 50, longestMs: 400 };

/** A client that answers nothing for so long while calls wait is replaced, in milliseconds. */
const HUNG_MS = 4_000;
/** Ends of a call that are no answer. */
const SILENCE = [DeadlineError, DeadlineExceededError];

/**
 * The client in use. A node whose machine hangs keeps its connections and stays silent, and the library leaves a node only
 * when a call fails. So where calls wait and nothing is answered, another client takes its place and looks for the leader.
 */
export class Server {
  #client: StoreClient;
  #waiting = 0;
  #hung: NodeJS.Timeout | undefined;
  readonly #leaving = new Set<(replaced: DeadlineError) => void>();

  /** @param onTrouble called after each failure by which the connection may be another one */
  constructor(
    private readonly open: () => StoreClient,
    private readonly onTrouble: () => void,
  ) {
    this.#client = open();
  }

  get client(): StoreClient {
    return this.#client;
  }

  /** Calls back when the client is replaced. @returns a function that unregisters the callback */
  onReplaced(callback: (replaced: DeadlineError) => void): () => void {
    this.#leaving.add(callback);
    return () => this.#leaving.delete(callback);
  }

  /**
   * The result of the call, which calls `answered` for each answer that comes before its end.
   * @throws what the call throws; DeadlineError if the client is replaced before the call has ended: its outcome is unknown
   */
  async run<T>(call: (client: StoreClient, answered: () => void) => Promise<T>): Promise<T> {
    // The library may close the channel in the turn of the event loop in which a call fails; this one begins after it.
    await immediate();
    let unregister = (): void => undefined;
    const replaced = new Promise<never>((_, reject) => {
      unregister = this.onReplaced(reject);
    });
    this.#waiting += 1;
    this.#hung ??= this.#watch();
    let isAnswered = true;
    try {
      return await Promise.race([call(this.#client, () => this.#answered()), replaced]);
    } catch (error) {
      if (isTransient(error)) this.onTrouble();
      isAnswered = !SILENCE.some((silence) => error instanceof silence);
      throw error;
    } finally {
      unregister();
      this.#waiting -= 1;
      if (isAnswered) this.#answered();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#hung);
    await this.#client.abandon();
  }

  #answered(): void {
    clearTimeout(this.#hung);
    this.#hung = this.#waiting > 0 ? this.#watch() : undefined;
  }

  #watch(): NodeJS.Timeout {
    const replace = (): void => {
      const left = this.#client;
      this.#client = this.open();
      this.#hung = undefined;
      this.onTrouble();
      const replaced = new DeadlineError('it does not answer, so the connection is replaced');
      for (const leave of [...this.#leaving]) leave(replaced);
      void left.abandon();
    };
    return setTimeout(replace, HUNG_MS).unref();
  }
}

// What the errors of the client mean.

/** Retrying is useless: the answer changes only when a setting or the server does. */
class EventStoreRefusalError extends EventStoreUnavailableError {}

/**
 * The node refuses to read its whole log from a position. Either no event begins there, or it is behind the end; or the
 * node is not the leader that it takes itself for, or it is taking away a file. Version 23.10 says the same of all.
 */
export class PositionRefusedError extends EventStoreUnavailableError {}

const TRANSIENT: readonly string[] = [
  ErrorType.TIMEOUT,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.NOT_LEADER,
  // "Server Is Not Ready", "Server Is Busy" and errors of a dying connection arrive as unknown.
  ErrorType.UNKNOWN,
];

const POSITION_REFUSED = /Unexpected ReadAllResult|read from an invalid position/;
/** The library's words for a cluster of which no node says who leads, after it has asked each of them ten times. */
const NO_LEADER = /Failed to discover/;
/** Not connected, or sent to a node that accepts no calls. */
const UNSENT = [
  NO_LEADER,
  /No connection established|Name resolution failed/,
  /No leader info available|Server Is (Not Ready|Too Busy|Busy)/,
];

export const isMissingStream = (error: unknown): boolean =>
  isOf(error, ErrorType.STREAM_NOT_FOUND, ErrorType.NO_STREAM);

export function isPositionRefused(error: unknown): boolean {
  return error instanceof PositionRefusedError || (error instanceof Error && POSITION_REFUSED.test(error.message));
}

/** Whether to retry. Lost sockets report plain errors with a code, so those count as transient. */
export function isTransient(error: unknown): boolean {
  if (error instanceof DeadlineError) return true;
  if (isPositionRefused(error) || error instanceof LogReplacedError) return false;
  if (error instanceof EventStoreUnavailableError) return !(error instanceof EventStoreRefusalError);
  if (!(error instanceof Error)) return false;
  return isCommandError(error) ? isOf(error, ...TRANSIENT) : 'code' in error || NO_LEADER.test(error.message);
}

export function isUnsent(error: unknown): boolean {
  if (isOf(error, ErrorType.NOT_LEADER)) return true;
  return error instanceof Error && UNSENT.some((words) => words.test(error.message));
}

/**
 * Converts to the errors of the port. Programming errors stay as they are.
 * @param mayBeStored whether an append may have been stored
 */
export function toPortError(error: unknown, mayBeStored = false): unknown {
  // A later attempt was not sent, and an earlier one may be stored.
  if (mayBeStored && error instanceof EventStoreUnavailableError && !(error instanceof LogReplacedError))
    return new EventStoreUnavailableError(error.message, { cause: error, mayBeStored });
  if (error instanceof EventStoreUnavailableError || !(error instanceof Error)) return error;
  const text = NO_LEADER.test(error.message)
    ? 'no node of the cluster says who leads; are its addresses, tls and tlsCAFile right?'
    : error.message;
  if (isPositionRefused(error)) return new PositionRefusedError(`The event store refuses: ${text}`);
  if (error instanceof MaxAppendSizeExceededError)
    return new AppendTooLargeError(
      `The event log takes at most ${error.maxAppendSize} bytes at once: send less in one request, or have the operator raise MaxAppendSize of EventStoreDB.`,
    );
  if (isTransient(error))
    return new EventStoreUnavailableError(`The event store is away: ${text}`, { cause: error, mayBeStored });
  if (!isCommandError(error)) return error;
  const hint = isOf(error, ErrorType.ACCESS_DENIED)
    ? ' Check the user in EVENTSTORE_URL: it must read $all and append to streams.'
    : '';
  const said = `The event store refuses (${error.type}): ${text}.${hint}`;
  return new EventStoreRefusalError(said, { cause: error, mayBeStored });
}

const isOf = (error: unknown, ...types: readonly string[]): boolean =>
  error instanceof Error && isCommandError(error) && types.includes(error.type);
