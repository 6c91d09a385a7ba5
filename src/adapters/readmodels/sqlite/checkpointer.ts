/**
 * Copies SQLite's write-ahead log into the database file (SQLite calls that a checkpoint) in a thread of its
 * own: at 1,000,000 records it costs as much as the writes themselves, and its syncs to disk more.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { youngHeap } from '../../youngHeap.js';

export type CheckpointerData = { readonly file: string };
export type CheckpointerRequest = 'wake' | 'close';

export class Checkpointer {
  readonly #worker: Worker;
  #state: 'idle' | 'busy' | 'ended' = 'idle';
  #again = false;

  constructor(data: CheckpointerData) {
    this.#worker = new Worker(new URL('./checkpointerThread.js', import.meta.url), {
      workerData: data,
      resourceLimits: youngHeap(1),
    });
    this.#worker.on('message', () => {
      if (this.#state === 'busy') this.#state = 'idle';
      if (this.#again) this.wake();
    });
    // Without it, the limit that the writer itself sets still keeps the log bounded.
    this.#worker.on('error', () => {
      this.#state = 'ended';
    });
    this.#worker.unref();
  }

  /** Tells of a commit. */
  wake(): void {
    this.#again = this.#state === 'busy';
    if (this.#state !== 'idle') return;
    this.#state = 'busy';
    this.#ask('wake');
  }

  #ask(request: CheckpointerRequest): void {
    this.#worker.postMessage(request);
  }

  async close(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#worker.ref();
    this.#ask('close');
    await once(this.#worker, 'exit');
  }
}
