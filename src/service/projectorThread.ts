/** Starts the projector's thread and keeps it running: an engine that was away is tried again. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { youngHeap } from '../adapters/youngHeap.js';
import type { Config } from '../config.js';
import { keepRunning } from '../supervision/keepRunning.js';

export type ProjectorMessage =
  | { readonly kind: 'running' }
  /** Another process projects; this one takes over when that one stops or dies. Sent repeatedly. */
  | { readonly kind: 'standing-by' }
  | { readonly kind: 'failed'; readonly error: Error };

const BACKOFF = { firstMs: 100, longestMs: 10_000 };

export class ProjectorThread {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #standingBy = false;
  /** What stopped the projector last; undefined while it runs or stands by. */
  failure: Error | undefined;

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
    this.#ended = keepRunning(() => this.#run(), {
      signal: this.#stopping.signal,
      backoff: BACKOFF,
      onFailure: ({ delayMs }) => log.info({ delayMs }, 'the projector is started again'),
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  /** Resolves when the thread has ended, for whatever reason. */
  async #run(): Promise<void> {
    const worker = new Worker(new URL('./projector.worker.js', import.meta.url), {
      workerData: this.#config,
      resourceLimits: youngHeap(16),
    });
    worker.on('message', (message: ProjectorMessage) => this.#receive(message));
    worker.on('error', (error) => this.#receive({ kind: 'failed', error }));
    const stop = (): void => worker.postMessage('stop');
    this.#stopping.signal.addEventListener('abort', stop);
    await new Promise((resolve) => worker.once('exit', resolve));
    this.#stopping.signal.removeEventListener('abort', stop);
  }

  #receive(message: ProjectorMessage): void {
    const stoodBy = this.#standingBy;
    this.#standingBy = message.kind === 'standing-by';
    if (message.kind === 'failed') {
      this.failure = message.error;
      this.#log.error({ err: message.error }, 'the projector stopped; the read models stand still until it runs again');
      return;
    }
    this.failure = undefined;
    if (stoodBy !== this.#standingBy) {
      this.#log.info(stoodBy ? 'this process projects now' : 'another process projects; this one stands by');
    }
  }
}
