/**
 * The files of tenants' rows in one directory, and the tables in each. `acme.db` is a symbolic link to `acme.<uuid>.db`, so that
 * other rows take the place of a tenant's in one step, and the logs that SQLite keeps beside each file are never mixed up.
 */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { copyOf, RowsUnavailableError } from '../../../ports/rowStore.js';
import { errorCode } from '../../../supervision/files.js';
import { type Database, isDamage, openSqlite, removeDatabase } from '../../openSqlite.js';
import { SLOTS } from './connection.js';
import { TenantRows } from './pages.js';

const OF_TENANT = /^([^.~]+)\.db$/;
const OF_ROWS = /^([^.]+)\.[^.]+\.db$/;
/** Is there while files may be lost that the writer has not put others in the place of. */
const LOST = '.lost';
const OPEN_FILES = 100;

export class RowFiles {
  readonly #open = new LRUCache<string, TenantRows>({ max: OPEN_FILES, dispose: ({ db }) => db.close() });
  #empty: Buffer | undefined;

  constructor(
    readonly directory: string,
    private readonly opening: Opening = {},
  ) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  current(tenant: string): string | undefined {
    try {
      // The name alone: a copy of the directory may have links to the files of the original.
      return join(this.directory, basename(readlinkSync(this.#link(tenant))));
    } catch {
      return undefined;
    }
  }

  #link(tenant: string): string {
    return join(this.directory, `${tenant}.db`);
  }

  rowsOf(tenant: string, file = this.current(tenant)): TenantRows {
    const known = this.#open.get(tenant);
    if (known !== undefined && known.file === file) return known;
    this.#open.delete(tenant);
    const rows = this.open(file);
    this.#open.set(tenant, rows);
    return rows;
  }

  open(file: string | undefined): TenantRows {
    return new TenantRows(file === undefined ? emptyTenantFile(':memory:') : openTenantFile(file, this.opening), file);
  }

  tenants(): readonly string[] {
    return readdirSync(this.directory).flatMap((name) => OF_TENANT.exec(name)?.[1] ?? []);
  }

  /** Removes copies, and files that no link leads to. */
  removeRemains(): void {
    for (const name of this.tenants()) rmSync(this.#link(copyOf(name)), { force: true });
    for (const name of readdirSync(this.directory)) {
      const file = join(this.directory, name);
      const [, tenant] = OF_ROWS.exec(name) ?? [];
      if (tenant !== undefined && this.current(tenant) !== file) removeDatabase(file);
    }
  }

  /** Makes an empty file that is not shown yet. One of a copy is named as its tenant's, which it will be. */
  create(tenant: string): string {
    const file = join(this.directory, `${tenant.split('~')[0]}.${randomUUID()}.db`);
    // To close a new file waits for the disk three times. A copy need not: one that a power cut spoils is made again.
    if (this.#empty === undefined) emptyTenantFile(file).close();
    else writeFileSync(file, this.#empty);
    this.#empty ??= readFileSync(file);
    return file;
  }

  /** Puts the file in the place of the tenant's rows, which nobody writes to any more. */
  show(tenant: string, file: string): void {
    const before = this.current(tenant);
    this.#open.delete(tenant);
    const link = `${this.#link(tenant)}-next`;
    rmSync(link, { force: true });
    symlinkSync(basename(file), link);
    renameSync(link, this.#link(tenant));
    if (before !== undefined) removeDatabase(before);
  }

  swap(tenant: string, copy: string): void {
    const file = this.current(copy);
    if (file === undefined) throw new RowsUnavailableError('These rows are removed.');
    // The disk has all of it then.
    this.#open.delete(copy);
    this.show(tenant, file);
    rmSync(this.#link(copy));
  }

  remove(tenant: string): void {
    this.#drop(tenant);
    rmSync(this.#link(tenant), { force: true });
  }

  #drop(tenant: string, file = this.#open.get(tenant)?.file ?? this.current(tenant)): void {
    this.#open.delete(tenant);
    if (file !== undefined) removeDatabase(file);
  }

  async flush(tenant: string): Promise<void> {
    try {
      const log = await open(`${this.current(tenant)}-wal`, 'r');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      // Then all is in the file itself, or it is gone.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }

  /** Removes a damaged file, not one that has taken its place. Its link stays, so readers know that rows are missing. */
  lose(tenant: string, file: string | undefined): void {
    writeFileSync(join(this.directory, LOST), '');
    this.#drop(tenant, file);
  }

  lost(): readonly string[] {
    const mark = join(this.directory, LOST);
    if (!existsSync(mark)) return [];
    rmSync(mark);
    return this.tenants().filter((tenant) => !existsSync(this.current(tenant) ?? ''));
  }

  close(): void {
    this.#open.clear();
  }
}

/** Kept in `user_version`. Files hold nothing that the log does not: those of another layout are filled again. */
export const LAYOUT = 8;

/**
 * `rows.row` is the number of the space × 2³² + n, the order of creation. `s<i>` is the sort value of a field; NULL sorts first.
 * Batch ids are apart, so that a batch that changes nothing writes nothing else. `spaces.shape` grows with its fields and
 * indexes. `indexes.upto`: rows up to this n are in it; NULL: it is none of trigrams.
 */
const TABLES = `
  CREATE TABLE tenant (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, mark TEXT NOT NULL, cleaned INTEGER NOT NULL,
    bytes INTEGER NOT NULL);
  INSERT INTO tenant VALUES (1, 0, '{}', 0, 0);
  CREATE TABLE spaces (space INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rows INTEGER NOT NULL, next INTEGER NOT NULL,
    changed INTEGER NOT NULL, revision INTEGER NOT NULL, last_event_at TEXT NOT NULL, shape INTEGER NOT NULL,
    asset_type TEXT NOT NULL, slots TEXT NOT NULL);
  CREATE TABLE rows (row INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL,
    created TEXT NOT NULL, updated TEXT NOT NULL, ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE UNIQUE INDEX rows_id ON rows (space, id);
  CREATE INDEX rows_key ON rows (space, key) WHERE key IS NOT NULL;
  CREATE INDEX rows_from ON rows (space, from_pos);
  CREATE TABLE seen (row INTEGER PRIMARY KEY, batch TEXT);
  CREATE TABLE past (n INTEGER PRIMARY KEY, to_pos INTEGER NOT NULL, how TEXT NOT NULL, batch TEXT, row INTEGER NOT NULL,
    space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL,
    ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE INDEX past_id ON past (space, id);
  CREATE INDEX past_key ON past (space, key) WHERE key IS NOT NULL;
  CREATE INDEX past_from ON past (space, from_pos, row);
  CREATE INDEX past_to ON past (space, to_pos, row);
  CREATE TABLE indexes (name TEXT PRIMARY KEY, space INTEGER NOT NULL, spec TEXT NOT NULL, upto INTEGER);
`;

/** The log beside the file may have 64 MB before a commit copies it into the file, and keeps 4 MB. */
const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16384;
  PRAGMA journal_size_limit = 4194304;
`;

/** A reader's connection never removes the log beside the file when it closes. `timeoutMs`: it waits for another that writes. */
type Opening = { readonly isReader?: boolean; readonly timeoutMs?: number };

export function openTenantFile(file: string, { isReader = false, timeoutMs = 5_000 }: Opening = {}): Database {
  if (!existsSync(file)) throw new UnusableRowsError(`The file ${file} is gone.`);
  const db = openSqlite(file, { timeout: timeoutMs, readonly: isReader });
  try {
    if (!isReader) db.exec(PRAGMAS);
    db.exec('PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
    if (db.pragma('user_version', { simple: true }) !== LAYOUT)
      throw new UnusableRowsError(`The rows in ${file} have the layout of another release.`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function emptyTenantFile(file: string): Database {
  const db = openSqlite(file);
  db.exec(`${PRAGMAS} BEGIN; ${TABLES} PRAGMA user_version = ${LAYOUT}; COMMIT`);
  return db;
}

/** A tenant's rows are of another release, or somebody has removed their file. */
export class UnusableRowsError extends Error {
  override readonly name = 'UnusableRowsError';
}

/** Why a tenant's rows have to be made again. Undefined: the error says nothing of the rows. */
export const lossOf = (error: unknown): string | undefined =>
  error instanceof Error && (isDamage(error) || error instanceof UnusableRowsError) ? error.message : undefined;
