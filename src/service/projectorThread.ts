/** Starts the projector's thread and keeps it going: an engine that was away is tried again. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { youngHeap } from '../adapters/youngHeap.js';
import type { Config } from '../config.js';

export type ProjectorMessage =
  | { readonly kind: 'running' }
  /** Another process projects; this one takes over when that one stops or dies. Told again and again. */
  | { readonly kind: 'standing-by' }
  | { readonly kind: 'failed'; readonly error: Error };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

export class ProjectorThread {
  readonly #config: Config;
  readonly #log: Logger;
  #worker: Worker | undefined;
  #ended: Promise<void> = Promise.resolve();
  #pauseMs = FIRST_PAUSE_MS;
  #restart: NodeJS.Timeout | undefined;
  #stopping = false;
  #standingBy = false;
  /** What stopped the projector last; undefined while it runs or stands by. */
  failure: Error | undefined;

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
    this.#start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    this.#worker?.postMessage('stop');
    await this.#ended;
  }

  #start(): void {
    const worker = new Worker(new URL('./projector.worker.js', import.meta.url), {
      workerData: this.#config,
      resourceLimits: youngHeap(16),
    });
    this.#worker = worker;
    worker.on('message', (message: ProjectorMessage) => this.#hear(message));
    worker.on('error', (error) => this.#hear({ kind: 'failed', error }));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#worker = undefined;
        if (!this.#stopping) this.#startAgain();
        resolve();
      });
    });
  }

  #hear(message: ProjectorMessage): void {
    const stoodBy = this.#standingBy;
    this.#standingBy = message.kind === 'standing-by';
    if (message.kind !== 'failed') {
      this.failure = undefined;
      if (stoodBy !== this.#standingBy) {
        this.#log.info(stoodBy ? 'this process projects now' : 'another process projects; this one stands by');
      }
      return;
    }
    this.failure = message.error;
    this.#log.error({ err: message.error }, 'the projector stopped; the read models stand still until it runs again');
  }

  #startAgain(): void {
    this.#restart = setTimeout(() => this.#start(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }
}
