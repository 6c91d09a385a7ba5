/**
 * Copies SQLite's write-ahead log (WAL) into the database file, which SQLite calls a checkpoint, in a thread of its own:
 * in the writer's it would take a quarter of the time of each batch.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { youngHeap } from '../../youngHeap.js';

export type WalCopierData = { readonly file: string };
export type WalCopierRequest = 'copy' | 'close';

/** Between two copies: to wake the thread for each commit would take longer than some commits. */
const REST_MS = 200;

export class WalCopier {
  readonly #worker: Worker;
  #state: 'idle' | 'busy' | 'ended' = 'idle';
  #hasNews = false;

  constructor(data: WalCopierData) {
    this.#worker = new Worker(new URL('./walCopierThread.js', import.meta.url), {
      workerData: data,
      resourceLimits: youngHeap(1),
    });
    this.#worker.on('message', () => {
      setTimeout(() => {
        if (this.#state === 'busy') this.#state = 'idle';
        if (this.#hasNews) this.committed();
      }, REST_MS).unref();
    });
    // Without the thread, the limit that the writer itself sets still keeps the WAL bounded.
    this.#worker.on('error', () => {
      this.#state = 'ended';
    });
    this.#worker.unref();
  }

  /** Belongs after each commit. */
  committed(): void {
    this.#hasNews = this.#state === 'busy';
    if (this.#state !== 'idle') return;
    this.#state = 'busy';
    this.#worker.postMessage('copy' satisfies WalCopierRequest);
  }

  async close(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#worker.ref();
    this.#worker.postMessage('close' satisfies WalCopierRequest);
    await once(this.#worker, 'exit');
  }
}
