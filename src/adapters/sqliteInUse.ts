/** Whether a database of SQLite is open somewhere; and locks that end with the process which has them, on files of no contents. */
import { isDamage } from './damagedFiles.js';
import { codeOf, openSqlite } from './openSqlite.js';

/**
 * Shuts all other connections out of the file, those of other processes as well. Makes it where it is missing, and writes
 * nothing to it.
 * @returns lets them in again; undefined where another connection has the file open
 */
export function holdAlone(file: string): (() => void) | undefined {
  const db = openSqlite(file, { timeout: 0 });
  try {
    // With a write-ahead log this needs the file for itself: an open connection holds a lock on it also while it is idle.
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; ROLLBACK');
  } catch (error) {
    db.close();
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined;
    // What is no database, or a damaged one, nobody has open.
    if (isDamage(error)) return () => undefined;
    throw error;
  }
  return () => db.close();
}
