/** The embedded log's file: its tables and version, how it is opened, checked and copied. */
import { open, rename } from 'node:fs/promises';
import { EventLogDamagedError } from '../../../ports/eventStore.js';
import { damageOf, isDamage } from '../../damagedFiles.js';
import { type Database, openSqlite } from '../../openSqlite.js';

/** `full`: an acknowledged append survives a power cut. `normal`: it survives only the end of the process. */
export type Durability = 'full' | 'normal';

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
export function openLog(file: string, durability: Durability, busyTimeoutMs: number): Database {
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

function migrate(db: Database): void {
  if (versionOf(db) === MIGRATIONS.length) return;
  db.transaction(() => {
    const version = versionOf(db);
    if (version > MIGRATIONS.length) throw new UnknownFileVersionError(db.name, version);
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    writeVersion(db, MIGRATIONS.length);
  }).immediate();
}

/** By default it changes nothing, but shows whether the file can be written. */
export function writeVersion(db: Database, version = versionOf(db)): void {
  db.pragma(`user_version = ${version}`);
}

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Checks the file before it is used. @throws EventLogDamagedError */
export function refuseDamagedLog(file: string): void {
  const damage = damageOf(file);
  if (damage !== undefined) throw new EventLogDamagedError(file, damage);
}

/** Limit of faults named per kind. */
const MAX_FAULTS = 10;

export type LogIntegrity = {
  readonly events: number;
  /** One sentence per fault; empty if all is well. */
  readonly faults: readonly string[];
};

/**
 * Checks the file for damage and gaps. Only reads, so writers are not blocked.
 * @throws Error if the file cannot be read at all for another reason than damage
 */
export function checkSqliteEventStore(file: string): LogIntegrity {
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  try {
    // One snapshot for all checks.
    db.exec('BEGIN');
    return { events: countOf(db), faults: [...structure(db), ...gaps(db)] };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { events: 0, faults: [`SQLite says: ${(error as Error).message}.`] };
  } finally {
    db.close();
  }
}

const countOf = (db: Database): number => db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0;

/** Checks pages and rows, and that the indexes find each event. */
function structure(db: Database): string[] {
  const said = db.prepare<[], string>(`PRAGMA integrity_check(${MAX_FAULTS})`).pluck().all();
  return said.length === 1 && said[0] === 'ok' ? [] : said.map((line) => `SQLite says: ${line}.`);
}

/** What no append leaves behind: each query has a sentence for each fault. */
const GAPS: readonly string[] = [
  `SELECT 'The append does not go on behind position ' || position || '.'
   FROM (SELECT position, following, stream_id, lead(following) OVER (ORDER BY position) AS next,
     lead(stream_id) OVER (ORDER BY position) AS next_stream FROM events)
   WHERE following > 0 AND next IS NOT NULL AND (next <> following - 1 OR next_stream IS NOT stream_id)`,
  `SELECT 'The event before position ' || position || ' is missing.'
   FROM (SELECT position, lag(position, 1, 0) OVER (ORDER BY position) AS before FROM events)
   WHERE position <> before + 1`,
  `SELECT 'Events of the stream ' || name || ' are missing.'
   FROM (SELECT stream_id, count(*) AS events, min(revision) AS first, max(revision) AS last
     FROM events GROUP BY stream_id) JOIN streams USING (stream_id)
   WHERE first <> 0 OR last <> events - 1`,
  `SELECT 'The last append ends before its last event, at position ' || position || '.'
   FROM (SELECT position, following FROM events ORDER BY position DESC LIMIT 1) WHERE following > 0`,
];

const gaps = (db: Database): string[] =>
  GAPS.flatMap((query) => db.prepare<[number], string>(`${query} LIMIT ?`).pluck().all(MAX_FAULTS));

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
