/**
 * Copies SQLite's write-ahead log (WAL) into the database file, which SQLite calls a checkpoint, in a thread of its own:
 * in the writer's it would take a quarter of the time of each batch. Meanwhile the writer goes on, so the thread never
 * copies all of it, and SQLite begins a WAL anew only when all of it is copied: the little that is left the writer does.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { threadLimits } from '../../../threadLimits.js';

export type WalCopierData = { readonly file: string };
export type WalCopierRequest = 'copy' | 'close';
/** How long the WAL is, in pages of 4 kB. */
export type WalCopied = { readonly pages: number };

/**
 * Between two copies: to wake the thread for each commit would take longer than some commits. Longer rests make larger
 * copies, and while the disk takes one in, appends to the log wait for it.
 */
const REST_MS = 10;

/** A WAL of so many pages (16 MB) is begun anew as soon as it can be: reads look through all of it. */
const LONG_PAGES = 4_000;

/** Copies what nobody reads any more. Where that fails (disk full), it stays in the WAL, and a later one copies it. */
export function copyWal(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // As of SQLite's own after a commit: nothing is lost.
  }
}

export class WalCopier {
  readonly #worker: Worker;
  readonly #copyRest: () => void;
  #state: 'idle' | 'busy' | 'ended' = 'idle';
  #hasNews = false;
  #isRestDue = false;

  /** @param copyRest copies what the thread has left, on the writer's connection */
  constructor(data: WalCopierData, copyRest: () => void) {
    this.#copyRest = copyRest;
    this.#worker = new Worker(new URL('./walCopierThread.js', import.meta.url), {
      workerData: data,
      resourceLimits: threadLimits(1),
    });
    this.#worker.on('message', ({ pages }: WalCopied) => {
      this.#isRestDue = pages > LONG_PAGES;
      setTimeout(() => {
        if (this.#state === 'busy') this.#state = 'idle';
        if (this.#hasNews) this.#askThread();
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
    if (this.#isRestDue) {
      this.#isRestDue = false;
      this.#copyRest();
    }
    this.#askThread();
  }

  /** Of the thread alone, so at any time: the writer can copy nothing inside its transaction, or once it is closed. */
  #askThread(): void {
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
