/** A connection that is made when it is needed, and again when it was lost. */
import { setTimeout as wait } from 'node:timers/promises';
import { BrokerUnavailableError } from '../../../ports/messageBroker.js';
import { withTimeout } from '../../../supervision/deadline.js';
import { messageOf } from '../../../supervision/files.js';
import { Session } from './session.js';

/** Limit for one piece of work. */
const TIMEOUT_MS = 10_000;
const RECONNECT_AFTER_MS = 500;
const CLOSE_MS = 6_000;

type ConnectionOptions = {
  /** One for each host of a cluster, the next one in turn after each loss and each failure. */
  readonly urls: readonly string[];
  /** The connection's name in the server's lists. */
  readonly name: string;
  /** Called when the server is lost or cannot be reached, once per outage. */
  readonly onLost: (error: BrokerUnavailableError) => void;
};

export class Connection {
  #host = 0;
  #current: Promise<Session> | undefined;
  #isLost = false;
  #isClosed = false;

  constructor(private readonly options: ConnectionOptions) {}

  /** @throws BrokerUnavailableError if there is no connection, or the work failed on it or took too long */
  async use<T>(work: (session: Session) => Promise<T>, timeoutMs = TIMEOUT_MS): Promise<T> {
    let session: Session | undefined;
    try {
      return await limited(timeoutMs, async () => {
        session = await this.#session();
        return work(session);
      });
    } catch (error) {
      session?.forgetDeclared();
      throw unavailable(error);
    }
  }

  /** Resolves as soon as there is a connection. @throws AbortError if the signal ends the wait */
  async session(signal: AbortSignal): Promise<Session> {
    for (;;) {
      try {
        return await this.#session();
      } catch {
        await wait(RECONNECT_AFTER_MS, undefined, { signal });
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // The connection may be lost already. If the server hangs, the missing heartbeats end it.
    await limited(CLOSE_MS, async () => (await this.#current)?.close()).catch(() => undefined);
  }

  #session(): Promise<Session> {
    if (this.#isClosed) return Promise.reject(new Error('The connection is closed.'));
    this.#current ??= this.#connect();
    return this.#current;
  }

  async #connect(): Promise<Session> {
    try {
      const { urls, name } = this.options;
      const session = await Session.open(urls[this.#host % urls.length] ?? '', name);
      this.#isLost = false;
      void session.ended.then((reason) => this.#lost(reason));
      return session;
    } catch (error) {
      this.#lost(error);
      throw error;
    }
  }

  #lost(reason: unknown): void {
    this.#current = undefined;
    this.#host += 1;
    if (!this.#isLost && !this.#isClosed) this.options.onLost(unavailable(reason));
    this.#isLost = true;
  }
}

/** One URL for each host of `amqp://user:password@a,b:5673/vhost`. */
export function urlsOfHosts(url: string): readonly string[] {
  const [, before = '', hosts = '', after = ''] = /^([^:]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/.exec(url) ?? [];
  return hosts.split(',').map((host) => before + host + after);
}

function limited<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  return withTimeout(timeoutMs, `RabbitMQ did not answer within ${timeoutMs} ms.`, work());
}

/** The reason in one line. The driver's messages name the address but no credentials. */
export function unavailable(error: unknown): BrokerUnavailableError {
  if (error instanceof BrokerUnavailableError) return error;
  const reason = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const text = messageOf(reason);
  return new BrokerUnavailableError(`RabbitMQ is not available: ${text}`, { cause: error });
}
