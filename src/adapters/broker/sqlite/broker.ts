/** The embedded message broker: durable jobs in one SQLite file, shared by threads and processes. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { Message, MessageBroker } from '../../../ports/messageBroker.js';
import { Consumer } from './consumer.js';
import { type Checkpoint, JobStore } from './jobStore.js';

/** Short, so that what a killed process had in hand goes on soon; a living one renews it well before its end. */
const DEFAULT_LEASE_MS = 5_000;
const DEFAULT_POLL_MS = 200;

export type SqliteBrokerOptions = {
  /** Path of the database file; made where it is missing. */
  readonly file: string;
  /** How long a message stays with a consumer that says nothing. Default 5,000. */
  readonly leaseMs?: number;
  /** How often a consumer looks for what another process published. Default 200. */
  readonly pollMs?: number;
  /** Told of each handler that threw. Default: a process warning. */
  readonly onHandlerError?: (error: unknown, message: Message) => void;
};

/** @throws SqliteError when the file cannot be opened */
export async function openSqliteBroker(options: SqliteBrokerOptions): Promise<MessageBroker> {
  return new SqliteBroker(options);
}

class SqliteBroker implements MessageBroker {
  readonly #store: JobStore;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #onHandlerError: (error: unknown, message: Message) => void;
  /** Wakes consumers in other threads; other processes poll. */
  readonly #channel: BroadcastChannel;
  /** Consumers of this broker by queue, each with its run. */
  readonly #consumers = new Map<Consumer, { readonly queue: string; readonly ended: Promise<void> }>();

  constructor(options: SqliteBrokerOptions) {
    this.#leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
    this.#pollMs = options.pollMs ?? DEFAULT_POLL_MS;
    this.#onHandlerError = options.onHandlerError ?? ((error) => process.emitWarning(toError(error)));
    this.#store = new JobStore(options.file, this.#leaseMs);
    this.#channel = new BroadcastChannel(`dynamic-assets:broker:${realpathSync(options.file)}`);
    this.#channel.onmessage = (message: unknown) => this.#wake(queueNamed(message));
    this.#channel.unref();
  }

  async publish(queue: string, messages: readonly Message[]): Promise<void> {
    this.#publish(queue, messages);
  }

  async publishWithCheckpoint(queue: string, messages: readonly Message[], checkpoint: Checkpoint): Promise<void> {
    this.#publish(queue, messages, checkpoint);
  }

  #publish(queue: string, messages: readonly Message[], checkpoint?: Checkpoint): void {
    this.#store.publish(queue, messages, checkpoint);
    if (messages.length > 0) this.#announce(queue);
  }

  async checkpoint(name: string): Promise<number> {
    return this.#store.checkpoint(name);
  }

  async consume(...[queue, { concurrency, signal }, handle]: Parameters<MessageBroker['consume']>): Promise<void> {
    if (signal.aborted) return;
    const consumer = new Consumer(this.#store, {
      queue,
      concurrency,
      leaseMs: this.#leaseMs,
      pollMs: this.#pollMs,
      handle,
      onHandlerError: this.#onHandlerError,
    });
    const stop = (): void => consumer.stop();
    signal.addEventListener('abort', stop, { once: true });
    const ended = consumer.run();
    this.#consumers.set(consumer, { queue, ended });
    try {
      await ended;
    } finally {
      this.#consumers.delete(consumer);
      signal.removeEventListener('abort', stop);
    }
  }

  async depth(queue: string): ReturnType<MessageBroker['depth']> {
    return this.#store.depth(queue);
  }

  async deadLetters(queue: string, limit: number): ReturnType<MessageBroker['deadLetters']> {
    return this.#store.deadLetters(queue, limit);
  }

  async revive(queue: string, id: string): Promise<boolean> {
    const revived = this.#store.revive(queue, id);
    if (revived) this.#announce(queue);
    return revived;
  }

  async ping(): Promise<void> {
    this.#store.checkpoint('');
  }

  /** Ends the consumers of this broker first: what is in work is settled. */
  async close(): Promise<void> {
    const running = [...this.#consumers].map(([consumer, { ended }]) => {
      consumer.stop();
      return ended;
    });
    // A consumer that failed has told so to the caller of `consume`.
    await Promise.allSettled(running);
    this.#channel.close();
    this.#store.close();
  }

  #announce(queue: string): void {
    this.#wake(queue);
    this.#channel.postMessage(queue);
  }

  #wake(queue: string | undefined): void {
    for (const [consumer, { queue: consumed }] of this.#consumers) {
      if (consumed === queue) consumer.wake();
    }
  }
}

const queueNamed = (message: unknown): string | undefined =>
  typeof message === 'object' && message !== null && 'data' in message && typeof message.data === 'string'
    ? message.data
    : undefined;

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
