/** Runs the thread that makes copies of tables as they were, while there is anything to make. */
import { Worker } from 'node:worker_threads';
import type { ComparedFiles } from '../adapters/readmodels/sqlite/past/comparison.js';
import { threadLimits } from '../adapters/threadLimits.js';
import type { Position } from '../ports/eventStore.js';
import type { PastTable } from '../ports/pastTables.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { EngineConfig } from './engines.js';

/** What is made, and the file that it gets. */
export type PastJob =
  | {
      readonly kind: 'table';
      readonly table: PastTable;
      readonly file: string;
      /** An earlier copy to go on from. */
      readonly base?: { readonly file: string; readonly position: Position } | undefined;
    }
  | ({ readonly kind: 'comparison'; readonly file: string } & ComparedFiles);

export type MakeMessage =
  | { readonly kind: 'make'; readonly id: number; readonly job: PastJob }
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'end' };

export type MadeMessage =
  | { readonly kind: 'progress'; readonly id: number; readonly done: number; readonly bytes: number }
  | { readonly kind: 'made'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: Error };

/** The thread ends after so long without work, as it takes memory. */
const IDLE_MS = 30_000;

type Pending = {
  readonly onProgress: (done: number, bytes: number) => void;
  readonly resolve: (bytes: number) => void;
  readonly reject: (error: unknown) => void;
};

export class PastTableThread {
  readonly #config: EngineConfig;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #ended: Promise<unknown> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** @returns the bytes of the file @throws what the making throws, as a plain Error; the reason of the cancellation */
  async make(job: PastJob, cancellation: Cancellation, onProgress: Pending['onProgress']): Promise<number> {
    cancellation.throwIfCancelled();
    clearTimeout(this.#idle);
    this.#lastId += 1;
    const id = this.#lastId;
    const worker = this.#running();
    const forget = cancellation.onCancel(() => worker.postMessage({ kind: 'cancel', id } satisfies MakeMessage));
    try {
      return await new Promise<number>((resolve, reject) => {
        this.#pending.set(id, { onProgress, resolve, reject });
        worker.postMessage({ kind: 'make', id, job } satisfies MakeMessage);
      });
    } catch (error) {
      throw cancellation.reason ?? error;
    } finally {
      forget();
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    }
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // Options that a thread can be given: settings are plain values.
    const worker = new Worker(new URL('./pastTables.worker.js', import.meta.url), {
      workerData: this.#config,
      resourceLimits: threadLimits(16),
    });
    let failure: unknown = new Error('The thread that makes it has ended.');
    worker.on('message', (message: MadeMessage) => this.#receive(message));
    worker.on('error', (error) => {
      failure = error;
    });
    this.#ended = new Promise((resolve) =>
      worker.once('exit', () => {
        if (this.#worker === worker) {
          this.#worker = undefined;
          for (const { reject } of this.#pending.values()) reject(failure);
        }
        resolve(undefined);
      }),
    );
    this.#worker = worker;
    return worker;
  }

  #receive(message: MadeMessage): void {
    const pending = this.#pending.get(message.id);
    if (message.kind === 'progress') pending?.onProgress(message.done, message.bytes);
    else if (message.kind === 'made') pending?.resolve(message.bytes);
    else pending?.reject(message.error);
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    worker?.postMessage({ kind: 'end' } satisfies MakeMessage);
    await this.#ended;
  }

  /** All that is in work is given up. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    for (const { reject } of this.#pending.values()) reject(new Error('The service ends.'));
    await this.#end();
  }
}
