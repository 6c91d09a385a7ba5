/** Tells whether a database of SQLite is open; also used for locks on empty files, which end with their process. */
import { isDamage } from './damagedFiles.js';
import { codeOf, openSqlite } from './openSqlite.js';

/**
 * Locks the file against all other connections, also of other processes. Creates it if it is missing, and writes nothing.
 * @returns releases the lock; undefined if another connection has the file open
 */
export function holdAlone(file: string): (() => void) | undefined {
  const db = openSqlite(file, { timeout: 0 });
  try {
    // With a write-ahead log this fails while another connection is open, which holds a lock also while it is idle.
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; ROLLBACK');
  } catch (error) {
    db.close();
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined;
    // Nobody has a damaged file open.
    if (isDamage(error)) return () => undefined;
    throw error;
  }
  return () => db.close();
}
