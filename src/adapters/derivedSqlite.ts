/** Small SQLite files that are made from the log: the contents of another version are ignored, and a damaged file is removed. */
import { isDamage, removeDatabase } from './damagedFiles.js';
import { type Database, openSqlite } from './openSqlite.js';

type DerivedFile = {
  /** Kept in the file's `user_version`. */
  readonly version: number;
  /** Drops the tables of earlier versions, and creates those of this one. */
  readonly schema: string;
  /** How long opening waits for another process, and later use unless it is set otherwise. */
  readonly timeoutMs: number;
};

/**
 * Opens the file, and creates it if it is missing. A damaged one is removed first.
 * @param use begins to use it: damage that it meets counts as well
 */
export function openDerived<Used>(file: string, kind: DerivedFile, use: (db: Database) => Used): Used {
  try {
    return opened(file, kind, use);
  } catch (error) {
    if (!isDamage(error)) throw error;
    removeDatabase(file);
    return opened(file, kind, use);
  }
}

function opened<Used>(file: string, { version, schema, timeoutMs }: DerivedFile, use: (db: Database) => Used): Used {
  const db = openSqlite(file, { timeout: timeoutMs });
  try {
    db.pragma('journal_mode = WAL');
    // A power cut undoes the last commits together with their place in the log, so they are read from the log again.
    db.pragma('synchronous = NORMAL');
    const isCurrent = () => db.pragma('user_version', { simple: true }) === version;
    if (!isCurrent()) {
      db.transaction(() => {
        if (isCurrent()) return;
        db.exec(schema);
        db.pragma(`user_version = ${version}`);
      }).immediate();
    }
    return use(db);
  } catch (error) {
    db.close();
    throw error;
  }
}
