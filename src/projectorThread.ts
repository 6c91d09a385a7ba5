/** Starts the projector's thread and keeps it going: an engine that was away is tried again. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from './config.js';

export type ProjectorMessage = { readonly kind: 'running' } | { readonly kind: 'failed'; readonly error: Error };

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
  /** What stopped the projector last; undefined while it runs. */
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
    const worker = new Worker(new URL('./projector.worker.js', import.meta.url), { workerData: this.#config });
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
    if (message.kind === 'running') {
      this.failure = undefined;
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
