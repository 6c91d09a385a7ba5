import type Database from 'better-sqlite3';
import { openSqlite } from '../../openSqlite.js';

/** `full`: an acknowledged append survives a power cut. `normal`: it survives only the end of the process. */
export type Durability = 'full' | 'normal';

/**
 * Migrations of the file, the oldest first. The file's `user_version` counts those applied.
 *
 * - `following`: how many events of the same append follow this one. Readers never stop before it is 0.
 * - `events_by_category` covers filters by stream, so that skipped events are never read.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE streams (stream_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE categories (category_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE event_types (
    type_id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    UNIQUE (type, schema_version)
  ) STRICT;
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream_id INTEGER NOT NULL,
    category_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    following INTEGER NOT NULL,
    type_id INTEGER NOT NULL,
    event_id BLOB NOT NULL,
    metadata TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX events_by_stream ON events (stream_id, revision);
  CREATE UNIQUE INDEX events_by_id ON events (stream_id, event_id);
  CREATE INDEX events_by_category ON events (category_id, position, stream_id, following);
  `,
];

export class UnknownFileVersionError extends Error {
  override readonly name = 'UnknownFileVersionError';
  constructor(file: string, version: number) {
    super(
      `${file} has version ${version}, written by a newer release; this one reads up to ${MIGRATIONS.length}. ` +
        'Start the newer release, or restore a backup made before it ran.',
    );
  }
}

/**
 * Opens a connection to the log's file. Creates the file if it is missing, and migrates it to the current version.
 * @throws UnknownFileVersionError if a newer release wrote the file
 */
export function openLog(file: string, durability: Durability, busyTimeoutMs: number): Database.Database {
  const db = openSqlite(file, { timeout: busyTimeoutMs });
  try {
    db.pragma('journal_mode = WAL');
    // In pages. Larger write-ahead logs were no faster, and delayed the append that triggers a checkpoint.
    db.pragma('wal_autocheckpoint = 1000');
    // In bytes: a write-ahead log that slow readers have let grow is truncated to this size.
    db.pragma('journal_size_limit = 16000000');
    db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`);
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: Database.Database): void {
  if (versionOf(db) === MIGRATIONS.length) return;
  db.transaction(() => {
    const version = versionOf(db);
    if (version > MIGRATIONS.length) throw new UnknownFileVersionError(db.name, version);
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    writeVersion(db);
  }).immediate();
}

/** Changes nothing if the file is up to date, but shows whether it can be written. */
export function writeVersion(db: Database.Database): void {
  db.pragma(`user_version = ${MIGRATIONS.length}`);
}

function versionOf(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}
