/** Locks of SQLite, which end with their process: whether a database is open, and locks on empty files. */
import { isDamage } from './damagedFiles.js';
import { codeOf, openSqlite } from './openSqlite.js';

/** With a write-ahead log the first fails while another connection is open, which holds a lock also while it is idle. */
const LOCKS = {
  alone: 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK',
  shared: 'BEGIN; SELECT count(*) FROM sqlite_schema',
} as const;

/**
 * Locks the file against all other connections, also of other processes, or only against those that want it alone. Creates it
 * if it is missing, and writes nothing.
 * @returns releases the lock; undefined if another connection is in the way
 */
export function hold(file: string, how: keyof typeof LOCKS = 'alone'): (() => void) | undefined {
  const db = openSqlite(file, { timeout: 0 });
  try {
    db.exec(LOCKS[how]);
  } catch (error) {
    db.close();
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined;
    // Nobody has a damaged file open.
    if (isDamage(error)) return () => undefined;
    throw error;
  }
  return () => db.close();
}
