/** What the file of read models holds, and how connections to it are opened. */
import type Database from 'better-sqlite3';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { isDamage } from '../../damagedFiles.js';
import { openSqlite } from '../../openSqlite.js';
import { namingDamage } from './damage.js';
import { SHARED_TABLES } from './ddl.js';
import type { TableLayout } from './layout.js';
import { cleanedUpTable, indexStatements } from './ownTables.js';
import { fitsSmall, shareStatements } from './tableStorage.js';

/** The file holds nothing that the log does not. Version 14 added `moves`. */
const SCHEMA_VERSION = 14;

/** From this version on, a file is brought up to date when it is opened. */
const OLDEST_VERSION = 1;

/** Above this (128 MB) the writer itself copies the WAL; mostly `WalCopier` has done so much sooner. */
const MAX_WAL_PAGES = 32_768;

export type ConnectionOptions = {
  readonly file: string;
  /** Of pages kept in memory. */
  readonly cacheMegabytes: number;
  readonly readOnly: boolean;
};

/**
 * Opens the file, making it and its schema where they are missing.
 * @throws ReadModelsUnavailableError when the file cannot be opened
 */
export function openConnection({ file, cacheMegabytes, readOnly }: ConnectionOptions): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = openSqlite(file, { timeout: 10_000 });
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma(`cache_size = ${-1024 * cacheMegabytes}`);
    db.pragma('mmap_size = 0');
    db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
    // A file that is up to date is not locked: it can be opened while another connection writes.
    if (schemaVersion(db) !== SCHEMA_VERSION) db.transaction(makeSchema).immediate(db);
    if (readOnly) db.pragma('query_only = ON');
    return db;
  } catch (error) {
    db?.close();
    if (isDamage(error)) throw namingDamage(file, error);
    throw new ReadModelsUnavailableError(`The read models in ${file} cannot be opened.`, { cause: error });
  }
}

const schemaVersion = (db: Database.Database): number => Number(db.pragma('user_version', { simple: true }));

function makeSchema(db: Database.Database): void {
  const version = schemaVersion(db);
  if (version > SCHEMA_VERSION)
    throw new Error(`Its schema is version ${version}, newer than ${SCHEMA_VERSION}: delete it; it is rebuilt.`);
  db.exec(SHARED_TABLES);
  if (version === OLDEST_VERSION) dropNgramCounts(db);
  if (version >= OLDEST_VERSION && version < 6) {
    db.exec('ALTER TABLE catalog ADD COLUMN swept INTEGER NOT NULL DEFAULT 0');
  }
  // Those that are there are laid out as large ones; those without records begin as new ones do.
  if (version >= OLDEST_VERSION && version < 10) {
    db.exec('ALTER TABLE catalog ADD COLUMN small INTEGER NOT NULL DEFAULT 0');
    db.exec('UPDATE catalog SET small = 1 WHERE made = 0');
  }
  if (version === 6) remakeCleanedUp(db, 'id, -1, NULL, NULL, NULL');
  if (version === 7) remakeCleanedUp(db, 'id, revision, batch, width, doc');
  if (version === 8) dateSwept(db);
  if (version >= OLDEST_VERSION && version < 11) shareSmallTables(db);
  db.pragma(`user_version = ${SCHEMA_VERSION}`);
}

/** Version 6 kept only the ids of what clean-ups deleted, version 7 only the last record of each key. */
function remakeCleanedUp(db: Database.Database, columns: string): void {
  for (const id of cleanedUpTables(db)) {
    const [swept, before] = [cleanedUpTable(id), `${cleanedUpTable(id)}_before`];
    db.exec(`ALTER TABLE ${swept} RENAME TO ${before}`);
    // It has gone along with the table that was renamed.
    db.exec(`DROP INDEX IF EXISTS ${swept}_revision`);
    for (const statement of cleanedUpStatements(id)) db.exec(statement);
    db.prepare(
      `INSERT INTO ${swept} (u, id, revision, batch, width, doc, at) SELECT u, ${columns}, ? FROM ${before}`,
    ).run(now());
    db.exec(`DROP TABLE ${before}`);
  }
}

/** Until version 11 each table had one of the records that clean-ups deleted, as `swept_records` is for all. */
const cleanedUpStatements = (id: number): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS ${cleanedUpTable(id)} (
     row INTEGER PRIMARY KEY,
     u TEXT NOT NULL,
     id BLOB NOT NULL UNIQUE,
     revision INTEGER NOT NULL,
     batch INTEGER,
     width INTEGER,
     doc TEXT,
     at TEXT NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS ${cleanedUpTable(id)}_u ON ${cleanedUpTable(id)} (u)`,
  `CREATE INDEX IF NOT EXISTS ${cleanedUpTable(id)}_revision ON ${cleanedUpTable(id)} (revision, id)`,
];

/** Until version 8 nobody kept when it was deleted: it counts as deleted now. */
function dateSwept(db: Database.Database): void {
  for (const id of cleanedUpTables(db)) {
    db.exec(`ALTER TABLE ${cleanedUpTable(id)} ADD COLUMN at TEXT NOT NULL DEFAULT '${now()}'`);
  }
}

/** In version 10 a small table had tables of its own, without most indexes. */
function shareSmallTables(db: Database.Database): void {
  const tables = db
    .prepare<[], { id: number; layout: string; made: number }>(
      'SELECT id, layout, made FROM catalog WHERE small = 1 AND copy >= 0',
    )
    .all();
  for (const { id, layout: text, made } of tables) {
    const layout: TableLayout = JSON.parse(text);
    const isSmall = fitsSmall(layout);
    const statements = isSmall ? shareStatements(id, layout) : indexStatements(id, layout);
    if (made === 1) for (const statement of statements) db.exec(statement);
    if (!isSmall) db.prepare('UPDATE catalog SET small = 0 WHERE id = ?').run(id);
  }
}

const now = (): string => new Date().toISOString();

const cleanedUpTables = (db: Database.Database): readonly number[] =>
  db.prepare<[], number>('SELECT id FROM catalog WHERE swept = 1').pluck().all();

/** Version 1 counted the unigrams and bigrams of each table of records (g<id>), and listed its trigrams (r<id>_v<n>). */
function dropNgramCounts(db: Database.Database): void {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND (name GLOB 'g[0-9]*' OR name GLOB 'r[0-9]*_v[0-9]*')",
    )
    .pluck();
  for (const name of tables.all()) db.exec(`DROP TABLE ${name}`);
}
