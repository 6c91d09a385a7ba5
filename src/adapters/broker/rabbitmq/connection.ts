/** A connection that reconnects whenever it is lost. */
import { EventEmitter, once } from 'node:events';
import { BrokerUnavailableError } from '../../../ports/messageBroker.js';
import { keepRunning } from '../../../supervision/keepRunning.js';
import { withTimeout } from '../../../supervision/waiting.js';
import { Session } from './session.js';

const RECONNECT_BACKOFF = { firstMs: 300, longestMs: 1_700 };
const CLOSE_MS = 6_000;

export type ConnectionOptions = {
  /** One for each host of a cluster. They are tried in turn. */
  readonly urls: readonly string[];
  /** The connection's name in the server's lists. */
  readonly name: string;
  /** Limit for one piece of work. */
  readonly timeoutMs: number;
  /** Called when the server is lost or cannot be reached, once per outage. */
  readonly onLost: (error: BrokerUnavailableError) => void;
};

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #closing = new AbortController();
  readonly #changes = new EventEmitter();
  /** Index of the host that is tried first. */
  #host = 0;
  /** The connection attempt in flight, or the outcome of the last one. */
  #current: Promise<Session> | undefined;
  #live: Session | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#changes.setMaxListeners(0);
  }

  /**
   * Runs a piece of work. Waits for a connection attempt in flight, but for no later one.
   * @throws BrokerUnavailableError if there is no connection, or the work failed on it or took too long
   */
  async use<T>(work: (session: Session) => Promise<T>, timeoutMs = this.#options.timeoutMs): Promise<T> {
    this.#start();
    let session: Session | undefined;
    try {
      return await limited(timeoutMs, async () => {
        session = await this.#current;
        if (session === undefined) throw new Error('The connection is closed.');
        return work(session);
      });
    } catch (error) {
      session?.forgetDeclared();
      throw unavailable(error);
    }
  }

  /** Resolves as soon as there is a connection. @throws AbortError if the signal ends the wait */
  async session(signal: AbortSignal): Promise<Session> {
    this.#start();
    while (this.#live === undefined) await once(this.#changes, 'connected', { signal });
    return this.#live;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const live = this.#live;
    const ended = async (): Promise<void> => {
      await live?.close();
      await this.#running;
    };
    // The connection may be lost already. If the server hangs, the missing heartbeats end it.
    await limited(CLOSE_MS, ended).catch(() => undefined);
  }

  #start(): void {
    this.#running ??= keepRunning((succeeded) => this.#connectAndServe(succeeded), {
      signal: this.#closing.signal,
      backoff: RECONNECT_BACKOFF,
      onFailure: ({ error, failures }) => {
        if (failures === 1) this.#options.onLost(unavailable(error));
      },
    });
  }

  /** Tries each host once. @throws the error of the last one if none can be reached */
  async #open(): Promise<Session> {
    const { urls, name } = this.#options;
    for (let tried = 1; ; tried++) {
      try {
        return await Session.open(urls[this.#host % urls.length] ?? '', name);
      } catch (error) {
        this.#host += 1;
        if (tried >= urls.length || this.#closing.signal.aborted) throw error;
      }
    }
  }

  /** @throws Error with the reason, when the connection has ended */
  async #connectAndServe(succeeded: () => void): Promise<void> {
    this.#current = this.#open();
    const session = await this.#current;
    succeeded();
    this.#live = session;
    this.#changes.emit('connected');
    // Closed during the attempt.
    if (this.#closing.signal.aborted) await session.close();
    const reason = await session.ended;
    // The next one first: this one was lost just now.
    this.#host += 1;
    this.#live = undefined;
    this.#current = Promise.reject(reason);
    this.#current.catch(() => undefined);
    throw reason;
  }
}

function limited<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  return withTimeout(timeoutMs, `RabbitMQ did not answer within ${timeoutMs} ms.`, work());
}

/** The reason in one line. The driver's messages name the address but no credentials. */
export function unavailable(error: unknown): BrokerUnavailableError {
  if (error instanceof BrokerUnavailableError) return error;
  const reason = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  return new BrokerUnavailableError(`RabbitMQ is not available: ${text}`, { cause: error });
}
