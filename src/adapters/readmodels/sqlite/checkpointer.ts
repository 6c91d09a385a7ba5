/**
 * Copies SQLite's write-ahead log into the database file (SQLite calls that a checkpoint) in a thread of its
 * own: at 1,000,000 records it costs as much as the writes themselves, and its syncs to disk more.
 */
import { Worker } from 'node:worker_threads';

export type CheckpointerData = { readonly file: string };

export class Checkpointer {
  readonly #worker: Worker;
  #busy = false;
  #again = false;

  constructor(data: CheckpointerData) {
    this.#worker = new Worker(new URL('./checkpointerThread.js', import.meta.url), { workerData: data });
    this.#worker.unref();
    this.#worker.on('message', () => {
      this.#busy = false;
      if (this.#again) this.wake();
    });
    // Without it the writer's own limit still keeps the log bounded.
    this.#worker.on('error', () => {
      this.#busy = true;
    });
  }

  /** Tells of a commit. */
  wake(): void {
    this.#again = this.#busy;
    if (this.#busy) return;
    this.#busy = true;
    this.#worker.postMessage('wake');
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
