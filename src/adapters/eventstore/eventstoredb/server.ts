import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { DeadlineExceededError } from '@eventstore/db-client';
import { TimeLimitError } from '../../../supervision/waiting.js';
import type { StoreClient } from './connection.js';
import { ClientReplacedError, isTransient } from './errors.js';

/** All calls go to the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

/** Between retries of a call while the server is away. */
export const CALL_BACKOFF = { firstMs: 50, longestMs: 400 };

/** A client that answers nothing for so long while calls wait is replaced, in milliseconds. */
const HUNG_MS = 4_000;
/** Ends of a call that are no answer. */
const SILENCE = [TimeLimitError, DeadlineExceededError, ClientReplacedError];

/**
 * The client in use. A node whose machine hangs keeps its connections and stays silent, and the library leaves a node only
 * when a call fails. So where calls wait and nothing is answered, another client takes its place and looks for the leader.
 */
export class Server {
  readonly #open: () => StoreClient;
  readonly #onTrouble: () => void;
  #client: StoreClient;
  #waiting = 0;
  #hung: NodeJS.Timeout | undefined;
  readonly #leaving = new Set<(replaced: ClientReplacedError) => void>();

  /** @param onTrouble called after each failure by which the connection may be another one */
  constructor(open: () => StoreClient, onTrouble: () => void) {
    this.#open = open;
    this.#onTrouble = onTrouble;
    this.#client = open();
  }

  /** The client in use, for a subscription. */
  get client(): StoreClient {
    return this.#client;
  }

  /** Calls back when the client is replaced. @returns a function that unregisters the callback */
  onReplaced(callback: (replaced: ClientReplacedError) => void): () => void {
    this.#leaving.add(callback);
    return () => this.#leaving.delete(callback);
  }

  /**
   * The result of the call, which calls `answered` for each answer that comes before its end.
   * @throws what the call throws; ClientReplacedError if the client is replaced before the call has ended
   */
  async run<T>(call: (client: StoreClient, answered: () => void) => Promise<T>): Promise<T> {
    // The library may close the channel in the turn of the event loop in which a call fails; this one begins after it.
    await eventLoopTurn();
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
      if (isTransient(error)) this.#onTrouble();
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
      this.#client = this.#open();
      this.#hung = undefined;
      this.#onTrouble();
      for (const leave of [...this.#leaving]) leave(new ClientReplacedError());
      void left.abandon();
    };
    return setTimeout(replace, HUNG_MS).unref();
  }
}
