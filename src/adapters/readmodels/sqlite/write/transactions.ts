/** Write transactions on a file that other connections and processes write as well. */
import { setTimeout as delay } from 'node:timers/promises';
import { ReadModelsUnavailableError } from '../../../../ports/readModels.js';
import { codeOf, type Database } from '../../../openSqlite.js';

/** A rebuild holds the file while it catches up before its swap, and a large clean-up while it deletes. */
const GIVE_UP_AFTER_MS = 120_000;
const RETRY_MS = 2;
/** In milliseconds: one connection writes for so long at most before it pauses for waiting writers. */
const LONGEST_HOLD_MS = 100;

/** Connections without a busy timeout: this module waits for them. */
const withoutTimeout = new WeakSet<Database>();

const isBusy = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_BUSY');

/**
 * Begins a write transaction. Tries every few milliseconds: SQLite's own busy handler waits up to 100 ms between two tries,
 * and a rebuild, which begins one transaction after another, would starve the live projection.
 *
 * @returns whether another writer held the file
 * @throws ReadModelsUnavailableError when another writer holds the file for two minutes
 */
export async function beginImmediate(db: Database): Promise<'free' | 'held'> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  if (!withoutTimeout.has(db)) {
    db.pragma('busy_timeout = 0');
    withoutTimeout.add(db);
  }
  for (let found: 'free' | 'held' = 'free'; ; found = 'held') {
    try {
      db.exec('BEGIN IMMEDIATE');
      return found;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (Date.now() > giveUpAt) {
        throw new ReadModelsUnavailableError('Another writer holds the read models.', { cause: error });
      }
      await delay(RETRY_MS);
    }
  }
}

/**
 * Transactions in a row. A writer that begins the next one at once keeps out all others, which try every few milliseconds.
 * So the file is left free every `LONGEST_HOLD_MS`, and after each transaction while others write.
 */
export class FairTransactions {
  readonly #db: Database;
  /** By the clock of `performance`, as `#heldSince`. */
  #endedAt = Number.NEGATIVE_INFINITY;
  #heldSince = Number.NEGATIVE_INFINITY;
  #othersWrite = false;

  constructor(db: Database) {
    this.#db = db;
  }

  async begin(): Promise<void> {
    const isFreshlyEnded = performance.now() - this.#endedAt <= RETRY_MS;
    const isDue = this.#othersWrite || performance.now() - this.#heldSince > LONGEST_HOLD_MS;
    if (isFreshlyEnded && isDue) await delay(RETRY_MS + 1);
    if (!isFreshlyEnded || isDue) this.#heldSince = performance.now();
    this.#othersWrite = (await beginImmediate(this.#db)) === 'held';
  }

  /** To be called when a transaction is committed or rolled back. */
  ended(): void {
    this.#endedAt = performance.now();
  }
}

/** Does `work` in a transaction of its own. */
export async function inTransaction<Result>(db: Database, work: () => Result): Promise<Result> {
  await beginImmediate(db);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // When the disk is full SQLite may have rolled back already.
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
