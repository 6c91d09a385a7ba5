/** The tables of a tenant's file of rows, and how a connection to it is opened. */
import { firstFault } from '../../damagedFiles.js';
import { type Database, openSqlite } from '../../openSqlite.js';

/** Kept in `user_version`. Files hold nothing that the log does not: those of another layout are filled again. */
export const LAYOUT = 2;

/** Columns for values that are sought or sorted by. Further fields are read from `data`. */
export const SLOTS = Array.from({ length: 16 }, (_, slot) => `s${slot}`);

/** What a row and a state that it had are alike in. `data` is last, so that no other column is read behind a long one. */
export const COLUMNS = `row, space, key, id, from_pos, created, updated, ${SLOTS.join(', ')}, data`;

/**
 * `rows.row` is the number of the space × 2³² + n, the order of creation. `s<i>` is the sort value of a field; NULL sorts first.
 * Batch ids are apart, so that a batch that changes nothing writes nothing else. `spaces.shape` grows with its fields and
 * indexes. `indexes.upto`: rows up to this n are in it; NULL: all.
 */
const TABLES = `
  CREATE TABLE tenant (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, state TEXT, cleaned INTEGER NOT NULL);
  INSERT INTO tenant VALUES (1, 0, NULL, 0);
  CREATE TABLE spaces (space INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rows INTEGER NOT NULL, next INTEGER NOT NULL,
    changed INTEGER NOT NULL, revision INTEGER NOT NULL, last_event_at TEXT NOT NULL, shape INTEGER NOT NULL,
    asset_type TEXT NOT NULL, slots TEXT NOT NULL);
  CREATE TABLE rows (row INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL,
    created TEXT NOT NULL, updated TEXT NOT NULL, ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE UNIQUE INDEX rows_id ON rows (space, id);
  CREATE INDEX rows_key ON rows (space, key) WHERE key IS NOT NULL;
  CREATE INDEX rows_from ON rows (space, from_pos);
  CREATE TABLE seen (row INTEGER PRIMARY KEY, batch TEXT NOT NULL);
  CREATE TABLE past (n INTEGER PRIMARY KEY, to_pos INTEGER NOT NULL, how TEXT NOT NULL, batch TEXT, row INTEGER NOT NULL,
    space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL,
    ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE INDEX past_id ON past (space, id);
  CREATE INDEX past_key ON past (space, key) WHERE key IS NOT NULL;
  CREATE INDEX past_from ON past (space, from_pos, row);
  CREATE INDEX past_to ON past (space, to_pos, row);
  CREATE TABLE indexes (name TEXT PRIMARY KEY, space INTEGER NOT NULL, spec TEXT NOT NULL, upto INTEGER);
`;

/** Pages that the log beside the file may have before a commit copies them into the file: 64 MB. */
const MAX_WAL_PAGES = 16_384;
const KEPT_WAL_BYTES = 4 * 2 ** 20;
const CACHE_KILOBYTES = 16_384;

/** Files that each thread keeps open. */
export const OPEN_FILES = 100;

export type Opening = {
  /** A reader's connection never removes the log beside the file when it closes. */
  readonly readonly?: boolean;
  /** How long it waits for another connection that writes. */
  readonly timeoutMs?: number;
};

/**
 * @param isChecked looks whether pages are damaged
 * @throws UnusableRowsError, and errors of SQLite
 */
export function openTenantFile(
  file: string,
  { readonly = false, timeoutMs = 5_000 }: Opening,
  isChecked: boolean,
): Database {
  const db = openSqlite(file, { timeout: timeoutMs, fileMustExist: true, readonly });
  try {
    if (!readonly) {
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = NORMAL');
      db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
      db.pragma(`journal_size_limit = ${KEPT_WAL_BYTES}`);
    }
    db.pragma(`cache_size = ${-CACHE_KILOBYTES}`);
    db.pragma('temp_store = MEMORY');
    if (db.pragma('user_version', { simple: true }) !== LAYOUT)
      throw new UnusableRowsError(`The rows in ${file} have the layout of another release.`);
    if (isChecked) checkPages(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** @throws SQLite's error, if pages are damaged */
export function checkPages(db: Database): void {
  const fault = firstFault(db);
  if (fault !== undefined) throw Object.assign(new Error(fault), { code: 'SQLITE_CORRUPT' });
}

/** Makes an empty file of rows. Nobody else has it open. */
export function createTenantFile(file: string): void {
  const db = openSqlite(file);
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.transaction(() => db.exec(`${TABLES} PRAGMA user_version = ${LAYOUT}`))();
  } finally {
    db.close();
  }
}

/** A tenant's rows are of another release, or somebody has removed their file: they are made again. */
export class UnusableRowsError extends Error {
  override readonly name = 'UnusableRowsError';
}
