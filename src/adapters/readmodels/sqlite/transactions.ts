/** Write transactions on a file that another connection, or another process, may be writing too. */
import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { codeOf } from '../../openSqlite.js';

/** A rebuild holds the file while it catches up before its swap, and a large clean-up while it deletes. */
const GIVE_UP_AFTER_MS = 120_000;
const RETRY_MS = 2;

/** Those that leave the waiting to this module. */
const impatient = new WeakSet<Database.Database>();

const isBusy = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_BUSY');

/**
 * Begins a write transaction. Tries every few milliseconds: SQLite's own busy handler waits up to 100 ms between two tries,
 * so that a rebuild, which begins one transaction after another, would starve the live projection.
 *
 * @throws ReadModelsUnavailableError when another writer holds the file for two minutes
 */
export async function beginImmediate(db: Database.Database): Promise<void> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  if (!impatient.has(db)) {
    db.pragma('busy_timeout = 0');
    impatient.add(db);
  }
  for (;;) {
    try {
      db.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (Date.now() > giveUpAt) {
        throw new ReadModelsUnavailableError('Another writer holds the read models.', { cause: error });
      }
      await delay(RETRY_MS);
    }
  }
}

/** Does `work` in a transaction of its own. */
export async function inTransaction<Result>(db: Database.Database, work: () => Result): Promise<Result> {
  await beginImmediate(db);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
