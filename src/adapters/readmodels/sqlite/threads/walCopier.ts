/**
 * Copies SQLite's write-ahead log (WAL) into the database file (a "checkpoint" of SQLite) in a thread of its own: in the
 * writer's thread it would take a quarter of the time of each batch. The writer goes on meanwhile, so the thread never copies
 * all of it, and SQLite reuses a WAL only when all of it is copied: the writer copies the small rest.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Database } from '../../../openSqlite.js';
import { threadLimits } from '../../../threadLimits.js';

export type WalCopierData = { readonly file: string };
export type WalCopierRequest = 'copy' | 'close';
/** How long the WAL is, in pages of 4 kB. */
export type WalCopied = { readonly pages: number };

/**
 * The pause between two copies. To wake the thread for each commit would take longer than some commits; longer pauses make
 * larger copies, and while the disk takes one, appends to the log wait.
 */
const REST_MS = 10;

/** A WAL of so many pages (16 MB) is reused as soon as it can be, since reads search all of it. */
const LONG_PAGES = 4_000;

/** Copies pages that no reader needs in the WAL. When it fails (disk full) they stay there until a later copy. */
export function copyWal(db: Database): void {
  try {
    db.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // Nothing is lost.
  }
}

export class WalCopier {
  readonly #worker: Worker;
  readonly #copyRest: () => void;
  #state: 'idle' | 'busy' | 'ended' = 'idle';
  #hasNews = false;
  #isRestDue = false;

  /** @param copyRest copies the rest on the writer's connection */
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
    // Without the thread the writer's own limit still bounds the WAL.
    this.#worker.on('error', () => {
      this.#state = 'ended';
    });
    this.#worker.unref();
  }

  /** To be called after each commit. */
  committed(): void {
    if (this.#isRestDue) {
      this.#isRestDue = false;
      this.#copyRest();
    }
    this.#askThread();
  }

  /** May be called at any time, as the thread copies; the writer cannot inside a transaction or once it is closed. */
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
