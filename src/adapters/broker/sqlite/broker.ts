/** The embedded message broker: durable jobs in one SQLite file, shared by threads and processes. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { LogAnchor } from '../../../ports/eventStore.js';
import type { ConsumeOptions, Message, MessageBroker } from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { holdAlone } from '../../sqliteInUse.js';
import { type Handler, type OnHandlerError, RunningConsumers, warn } from '../consuming.js';
import { Consumer, type ConsumerOptions } from './consumer.js';
import { JobStore } from './jobStore.js';

/**
 * Short, so that a killed process's messages are soon redelivered. A living one renews its lease well before the end.
 */
const DEFAULT_LEASE_MS = 5_000;
/** A dead process's messages come back when its lease ends. Publishing wakes the consumers of the same process. */
const DEFAULT_POLL_MS = 2_500;
/** How often a process that would lead looks whether another one still does. */
const LEAD_AGAIN_MS = 500;

export type SqliteBrokerOptions = {
  /** Path of the database file; created if missing. */
  readonly file: string;
  /** How long a message stays with a consumer that does not renew its lease. Default 5,000. */
  readonly leaseMs?: number;
  /** How often a consumer looks for messages that another process published. Default 2,500. */
  readonly pollMs?: number;
  /** Default: a process warning. */
  readonly onHandlerError?: OnHandlerError;
};

/** @throws SqliteError if the file cannot be opened */
export async function openSqliteBroker(options: SqliteBrokerOptions): Promise<MessageBroker> {
  return new SqliteBroker(options);
}

class SqliteBroker implements MessageBroker {
  readonly #store: JobStore;
  readonly #file: string;
  readonly #settings: Pick<ConsumerOptions, 'leaseMs' | 'pollMs' | 'onHandlerError'>;
  /** Wakes consumers in other threads. Other processes poll. */
  readonly #channel: BroadcastChannel;
  readonly #consumers = new RunningConsumers<Consumer>();

  constructor(options: SqliteBrokerOptions) {
    const { file, leaseMs = DEFAULT_LEASE_MS, pollMs = DEFAULT_POLL_MS, onHandlerError = warn } = options;
    this.#settings = { leaseMs, pollMs, onHandlerError };
    this.#file = file;
    this.#store = new JobStore(file, leaseMs);
    this.#channel = new BroadcastChannel(`dynamic-assets:broker:${realpathSync(file)}`);
    this.#channel.onmessage = (message) => this.#wake(String(Object(message).data));
    this.#channel.unref();
  }

  async publish(queue: string, messages: readonly Message[]): Promise<void> {
    this.#store.publish(queue, messages);
    this.#wake(queue);
    this.#channel.postMessage(queue);
  }

  async storeCheckpoint(name: string, checkpoint: LogAnchor): Promise<void> {
    this.#store.storeCheckpoint(name, checkpoint);
  }

  async checkpoint(name: string): Promise<LogAnchor> {
    return this.#store.checkpoint(name);
  }

  consume(queue: string, options: ConsumeOptions, handle: Handler): Promise<void> {
    const settings = { queue, handle, ...this.#settings };
    return this.#consumers.run(queue, options, (running) => new Consumer(this.#store, { ...running, ...settings }));
  }

  async lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const ending = this.#consumers.ending(signal);
    while (!ending.aborted) {
      const release = holdAlone(`${this.#file}-${name}.lock`);
      if (release !== undefined) return work(ending).finally(release);
      await sleep(LEAD_AGAIN_MS, ending);
    }
  }

  async depth(queue: string): ReturnType<MessageBroker['depth']> {
    return this.#store.depth(queue);
  }

  async deadLetters(queue: string, limit: number): ReturnType<MessageBroker['deadLetters']> {
    return this.#store.deadLetters(queue, limit);
  }

  async ping(): Promise<void> {
    this.#store.checkpoint('');
  }

  async close(): Promise<void> {
    await this.#consumers.stop();
    this.#channel.close();
    this.#store.close();
  }

  #wake(queue: string): void {
    for (const consumer of this.#consumers.of(queue)) consumer.wake();
  }
}
