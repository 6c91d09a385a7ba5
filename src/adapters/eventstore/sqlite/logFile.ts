/** The embedded log's file: its tables and version, how it is opened, checked and copied. */
import { open, rename } from 'node:fs/promises';
import { EventLogDamagedError } from '../../../ports/eventStore.js';
import { type Database, damageOf, isDamage, openSqlite } from '../../openSqlite.js';

export type LogFile = {
  /** Its path; created if missing. Its directory must exist. */
  readonly file: string;
  /** `full`: an acknowledged append survives a power cut. `normal`: it survives only the end of the process. */
  readonly durability: 'full' | 'normal';
};

/**
 * Migrations of the file, the oldest first. The file's `user_version` counts those applied.
 *
 * `following`: how many events of the same append follow this one. Readers never stop before it is 0. Categories of streams
 * are of earlier releases: `category_id` has no meaning any more.
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
  // IF EXISTS: an earlier release that still ran may have set the version back.
  'DROP INDEX IF EXISTS events_by_category; DROP TABLE IF EXISTS categories;',
];

export class UnknownFileVersionError extends Error {
  constructor(file: string, version: number) {
    super(
      `${file} has version ${version}, written by a newer release; this one reads up to ${MIGRATIONS.length}. ` +
        'Start the newer release, or restore a backup made before it ran.',
    );
  }
}

/** How long a write waits for another process's write, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * Opens a connection to the log's file. Creates the file if it is missing, and migrates it to the current version.
 * @throws UnknownFileVersionError if a newer release wrote the file
 */
export function openLog({ file, durability }: LogFile): Database {
  const db = openSqlite(file, { timeout: BUSY_TIMEOUT_MS });
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

function migrate(db: Database): void {
  if (versionOf(db) === MIGRATIONS.length) return;
  db.transaction(() => {
    const version = versionOf(db);
    if (version > MIGRATIONS.length) throw new UnknownFileVersionError(db.name, version);
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    writeVersion(db);
  }).immediate();
}

/** In a file of this version it changes nothing, but shows whether the file can be written. */
export const writeVersion = (db: Database) => db.pragma(`user_version = ${MIGRATIONS.length}`);

const versionOf = (db: Database): number => Number(db.pragma('user_version', { simple: true }));

/** Checks the file before it is used. @throws EventLogDamagedError */
export function refuseDamagedLog(file: string): void {
  const damage = damageOf(file);
  if (damage !== undefined) throw new EventLogDamagedError(file, damage);
}

/** Limit of faults that are named. */
const MAX_FAULTS = 10;

/**
 * Checks pages, rows and indexes, and that no position is without its event. Only reads, so writers are not blocked.
 * @returns a sentence for each fault
 * @throws Error if the file cannot be read at all for another reason than damage
 */
export function checkSqliteEventStore(file: string): { readonly events: number; readonly faults: readonly string[] } {
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    const counted = db.prepare<[], { events: number; head: number | null }>(
      'SELECT count(*) AS events, max(position) AS head FROM events',
    );
    const { events = 0, head } = counted.get() ?? {};
    const said = db.prepare<[], string>(`PRAGMA integrity_check(${MAX_FAULTS})`).pluck().all();
    const faults = said.filter((line) => line !== 'ok').map((line) => `SQLite says: ${line}.`);
    const missing = (head ?? 0) - events;
    return { events, faults: missing === 0 ? faults : [...faults, `Events are missing: ${missing} of ${head}.`] };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { events: 0, faults: [`SQLite says: ${(error as Error).message}.`] };
  } finally {
    db.close();
  }
}

/**
 * Copies the log as of one moment, while it is in use. The complete copy is on the disk, or there is none.
 * @param target must not exist
 * @throws Error if there is no log, or the target cannot be written
 */
export async function backUpSqliteEventStore(file: string, target: string): Promise<void> {
  const draft = `${target}.part`;
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    db.prepare('VACUUM INTO ?').run(draft);
  } finally {
    db.close();
  }
  const handle = await open(draft, 'r+');
  await handle.chmod(0o600);
  await handle.sync();
  await handle.close();
  await rename(draft, target);
}
