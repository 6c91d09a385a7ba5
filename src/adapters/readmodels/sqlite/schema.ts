/** What the file of read models holds, and how connections to it are opened. */
import type Database from 'better-sqlite3';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { openSqlite } from '../../openSqlite.js';
import { columnsOf, type FieldLayout, type TableLayout, TIME_COLUMNS } from './layout.js';
import { SHARED_TABLES } from './sharedTables.js';

/** The catalog's `copy` of what is served; a rebuild's copies carry its id, discarded tables `-id`. */
export const LIVE = 0;

/** The number that stands for "no batch id" in tables b<id>. */
export const NO_BATCH = 0;

/** The file holds nothing that the log does not. */
const SCHEMA_VERSION = 10;

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
  try {
    const db = openSqlite(file, { timeout: 10_000 });
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma(`cache_size = ${-1024 * cacheMegabytes}`);
    db.pragma('mmap_size = 0');
    db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
    // A file that is up to date is not locked: it can be opened while another connection writes.
    if (schemaVersion(db) !== SCHEMA_VERSION) db.transaction(() => makeSchema(db)).immediate();
    if (readOnly) db.pragma('query_only = ON');
    return db;
  } catch (error) {
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
  // Those that are there have all indexes; those without records get theirs as new ones do.
  if (version >= OLDEST_VERSION && version < 10) {
    db.exec('ALTER TABLE catalog ADD COLUMN small INTEGER NOT NULL DEFAULT 0');
    db.exec('UPDATE catalog SET small = 1 WHERE made = 0');
  }
  if (version === 6) makeSweptAnew(db, 'id, -1, NULL, NULL, NULL');
  if (version === 7) makeSweptAnew(db, 'id, revision, batch, width, doc');
  if (version === 8) dateSwept(db);
  db.pragma(`user_version = ${SCHEMA_VERSION}`);
}

/** Version 6 kept only the ids of what clean-ups deleted, version 7 only the last record of each key. */
function makeSweptAnew(db: Database.Database, columns: string): void {
  for (const id of sweptTables(db)) {
    const [swept, before] = [sweptTable(id), `${sweptTable(id)}_before`];
    db.exec(`ALTER TABLE ${swept} RENAME TO ${before}`);
    // It has gone along with the table that was renamed.
    db.exec(`DROP INDEX IF EXISTS ${swept}_revision`);
    for (const statement of sweptStatements(id)) db.exec(statement);
    db.prepare(
      `INSERT INTO ${swept} (u, id, revision, batch, width, doc, at) SELECT u, ${columns}, ? FROM ${before}`,
    ).run(now());
    db.exec(`DROP TABLE ${before}`);
  }
}

/** Until version 8 nobody kept when it was deleted: it counts as deleted now. */
function dateSwept(db: Database.Database): void {
  for (const id of sweptTables(db)) {
    db.exec(`ALTER TABLE ${sweptTable(id)} ADD COLUMN at TEXT NOT NULL DEFAULT '${now()}'`);
  }
}

const now = (): string => new Date().toISOString();

const sweptTables = (db: Database.Database): readonly number[] =>
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

export const recordsTable = (id: number): string => `r${id}`;
export const docTable = (id: number): string => `d${id}`;
export const batchTable = (id: number): string => `b${id}`;
export const sweptTable = (id: number): string => `s${id}`;
export const trigramTable = (id: number, index: number): string => `r${id}_t${index}`;
export const indexOf = (id: number, column: string): string => `r${id}_${column}`;

/** A trigram index's column for a column of the records; named apart, as the two are joined. */
export const trigramColumn = (column: string): string => `t${column}`;

/** The columns of the records that one trigram index covers. */
export const trigramColumns = (fields: readonly FieldLayout[], index: number): readonly string[] =>
  fields.flatMap((field) => (field.trigrams === index && field.match !== undefined ? [field.match] : []));

/** The statements that make a table's own tables and indexes. */
export function tableStatements(id: number, layout: TableLayout): readonly string[] {
  const table = recordsTable(id);
  const columns = [
    'updated_at INTEGER NOT NULL',
    ...(layout.unique === undefined ? [] : ['u TEXT']),
    ...layout.fields.flatMap(columnsOf).map(({ name, affinity }) => `${name} ${affinity}`),
  ];
  return [
    `CREATE TABLE ${table} (
       row INTEGER PRIMARY KEY,
       id BLOB NOT NULL,
       created_at INTEGER NOT NULL,
       ${columns.join(', ')}
     )`,
    // `doc`: the record's own fields as JSON text without braces; `width`: how many fields of the layout it covers.
    `CREATE TABLE ${docTable(id)} (row INTEGER PRIMARY KEY, width INTEGER NOT NULL, doc TEXT NOT NULL)`,
    `CREATE TABLE ${batchTable(id)} (row INTEGER PRIMARY KEY, batch INTEGER NOT NULL)`,
    `CREATE UNIQUE INDEX ${indexOf(id, 'id')} ON ${table} (id)`,
    ...(layout.unique === undefined ? [] : [`CREATE UNIQUE INDEX ${indexOf(id, 'u')} ON ${table} (u)`]),
    ...(layout.isSmall === true ? [] : [...timeIndexes(id), ...fieldStatements(id, layout)]),
  ];
}

const timeIndexes = (id: number): readonly string[] =>
  TIME_COLUMNS.map((name) => `CREATE INDEX ${indexOf(id, name)} ON ${recordsTable(id)} (${name}, id)`);

/** The statements that make what a table lacks while it is small, from the records that it has. */
export function indexStatements(id: number, layout: TableLayout): readonly string[] {
  const filled = Array.from({ length: layout.trigramIndexes }, (_, index) => {
    const columns = trigramColumns(layout.fields, index);
    if (columns.length === 0) return '';
    return `INSERT INTO ${trigramTable(id, index)} (rowid, ${columns.map(trigramColumn)})
      SELECT row, ${columns} FROM ${recordsTable(id)} WHERE coalesce(${columns}, NULL) IS NOT NULL ORDER BY row`;
  });
  return [...timeIndexes(id), ...fieldStatements(id, layout), ...filled];
}

/**
 * Makes the table of the records that clean-ups have deleted: of each id the last time. `revision` and `at` are those of the clean-up;
 * without `doc` only the id is known.
 */
export const sweptStatements = (id: number): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS ${sweptTable(id)} (
     row INTEGER PRIMARY KEY,
     u TEXT NOT NULL,
     id BLOB NOT NULL UNIQUE,
     revision INTEGER NOT NULL,
     batch INTEGER,
     width INTEGER,
     doc TEXT,
     at TEXT NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS ${sweptTable(id)}_u ON ${sweptTable(id)} (u)`,
  `CREATE INDEX IF NOT EXISTS ${sweptTable(id)}_revision ON ${sweptTable(id)} (revision, id)`,
];

/** The statements that add fields to a table that is there. */
export function addedFieldStatements(id: number, before: TableLayout, after: TableLayout): readonly string[] {
  const added = after.fields.slice(before.fields.length);
  return [
    ...added
      .flatMap(columnsOf)
      .map(({ name, affinity }) => `ALTER TABLE ${recordsTable(id)} ADD COLUMN ${name} ${affinity}`),
    ...fieldStatements(id, { ...after, fields: added }),
  ];
}

function fieldStatements(id: number, { fields, trigramIndexes }: TableLayout): readonly string[] {
  const indexes = fields
    .flatMap(columnsOf)
    .filter((column) => column.indexed)
    .map(({ name }) => `CREATE INDEX ${indexOf(id, name)} ON ${recordsTable(id)} (${name}, id)`);
  const trigrams: string[] = [];
  for (let index = 0; index < trigramIndexes; index++) {
    const columns = trigramColumns(fields, index);
    if (columns.length === 0) continue;
    const table = trigramTable(id, index);
    // Without content: the row has it. Fed with folded text, so a quoted phrase finds exactly what contains it.
    trigrams.push(
      `CREATE VIRTUAL TABLE ${table} USING fts5 (
         ${columns.map(trigramColumn).join(', ')}, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1')`,
      // Percent of a segment: made anew at a tenth, as it would be, it takes a third of the time of a clean-up.
      `INSERT INTO ${table} (${table}, rank) VALUES ('deletemerge', 50)`,
    );
  }
  return [...indexes, ...trigrams];
}

export type OwnObject = { readonly kind: 'TABLE' | 'INDEX'; readonly name: string };

const table = (name: string): OwnObject => ({ kind: 'TABLE', name });

/** A table's own tables and indexes, in the order in which they are dropped. */
export const ownObjects = (id: number, layout: TableLayout): readonly OwnObject[] => [
  ...objectsOfRecords(id, layout),
  table(sweptTable(id)),
];

function objectsOfRecords(id: number, layout: TableLayout): readonly OwnObject[] {
  const columns = ['created_at', 'updated_at', 'id', ...(layout.unique === undefined ? [] : ['u'])];
  const indexed = layout.fields.flatMap(columnsOf).filter((column) => column.indexed);
  return [
    ...Array.from({ length: layout.trigramIndexes }, (_, index) => table(trigramTable(id, index))),
    ...[...columns, ...indexed.map(({ name }) => name)].map(
      (name): OwnObject => ({ kind: 'INDEX', name: indexOf(id, name) }),
    ),
    ...[batchTable(id), docTable(id), recordsTable(id)].map(table),
  ];
}

/** The statements that remove a table's records, each of bounded work. */
export const dropStatements = (id: number, layout: TableLayout): readonly string[] =>
  objectsOfRecords(id, layout).map(dropStatement);

export const dropStatement = ({ kind, name }: OwnObject): string => `DROP ${kind} IF EXISTS ${name}`;
