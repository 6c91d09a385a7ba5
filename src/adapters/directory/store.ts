/** The stored directory: a small SQLite file, shared by the processes of one data directory. */
import { rmSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { DirectoryPlace, DirectorySaved, DirectoryStore, StoredPart } from '../../ports/directoryStore.js';
import { Pauses } from '../../supervision/waiting.js';
import { isDamage } from '../damagedFiles.js';
import { codeOf, openSqlite } from '../openSqlite.js';

/** How long opening waits for another process that opens or closes the file. */
const OPEN_TIMEOUT_MS = 1_000;

/** Raise it when the tables below change: earlier contents are ignored then. */
const FILE_VERSION = 1;

const SCHEMA = `
  DROP TABLE IF EXISTS place;
  DROP TABLE IF EXISTS parts;
  CREATE TABLE place (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    shape TEXT NOT NULL,
    log_id TEXT NOT NULL,
    build TEXT NOT NULL,
    position INTEGER NOT NULL,
    event_id TEXT
  ) STRICT;
  -- In the order of their first storing, which an update keeps.
  CREATE TABLE parts (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    part TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (tenant, part)
  ) STRICT;
`;

type PartRow = { readonly tenant: string; readonly part: string; readonly value: string };
type PlaceRow = { shape: string; logId: string; build: string; position: number; eventId: string | null };

/**
 * Opens the file at its first use; creates it if missing.
 * @param shape of the stored parts: contents stored with another shape are ignored
 */
export function openDirectoryStore(file: string, shape: string): DirectoryStore {
  return new SqliteDirectoryStore(file, shape);
}

class SqliteDirectoryStore implements DirectoryStore {
  readonly #file: string;
  readonly #shape: string;
  #opened: Statements | undefined;

  constructor(file: string, shape: string) {
    this.#file = file;
    this.#shape = shape;
  }

  get #statements(): Statements {
    this.#opened ??= this.#removingDamaged(() => open(this.#file));
    return this.#opened;
  }

  /** Removes a damaged file, so that the next use creates a good one. @throws what the use throws */
  #removingDamaged<T>(use: () => T): T {
    try {
      return use();
    } catch (error) {
      this.#removeDamaged(error);
      throw error;
    }
  }

  #removeDamaged(error: unknown): void {
    if (!isDamage(error)) return;
    this.#opened?.db.close();
    this.#opened = undefined;
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.#file}${end}`, { force: true });
  }

  async load(): ReturnType<DirectoryStore['load']> {
    const { db, place, parts } = this.#statements;
    try {
      db.exec('BEGIN');
      const row = place.get();
      if (row === undefined || row.shape !== this.#shape) return undefined;
      const { logId, build, position, eventId } = row;
      const found: StoredPart[] = [];
      const pauses = new Pauses();
      for (const { value, ...part } of parts.iterate()) {
        found.push({ ...part, value: JSON.parse(value) });
        if (pauses.isDue()) await pauses.take();
      }
      return { place: { logId, build, position, ...(eventId === null ? {} : { eventId }) }, parts: found };
    } catch (error) {
      this.#removeDamaged(error);
      throw error;
    } finally {
      if (db.inTransaction) db.exec('COMMIT');
    }
  }

  save(place: DirectoryPlace, changed: Iterable<StoredPart>): Promise<DirectorySaved> {
    return this.#inTransaction<DirectorySaved>(async (statements) => {
      const stored = statements.place.get();
      if (stored?.shape !== this.#shape || stored.build !== place.build) return 'superseded';
      if (stored.position > place.position) return 'later';
      await this.#write(statements, place, changed);
      return 'saved';
    });
  }

  replace(place: DirectoryPlace, parts: Iterable<StoredPart>): ReturnType<DirectoryStore['replace']> {
    return this.#inTransaction<'saved'>(async (statements) => {
      statements.removeAll.run();
      await this.#write(statements, place, parts);
      return 'saved';
    });
  }

  async close(): Promise<void> {
    this.#opened?.db.close();
    this.#opened = undefined;
  }

  async #write(
    { put, remove, putPlace }: Statements,
    { logId, build, position, eventId }: DirectoryPlace,
    parts: Iterable<StoredPart>,
  ): Promise<void> {
    const pauses = new Pauses();
    for (const { tenant, part, value } of parts) {
      if (value === undefined) remove.run(tenant, part);
      else put.run(tenant, part, JSON.stringify(value));
      if (pauses.isDue()) await pauses.take();
    }
    putPlace.run(this.#shape, logId, build, position, eventId ?? null);
  }

  /** Other work of this process runs meanwhile. Another process that wants to store is told `later`. */
  async #inTransaction<T>(work: (statements: Statements) => Promise<T>): Promise<T | 'later'> {
    const statements = this.#statements;
    const { db } = statements;
    try {
      this.#removingDamaged(() => db.exec('BEGIN IMMEDIATE'));
    } catch (error) {
      if (codeOf(error) === 'SQLITE_BUSY') return 'later';
      throw error;
    }
    try {
      const result = await work(statements);
      db.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite has already ended the transaction if the disk is full.
      if (db.inTransaction) db.exec('ROLLBACK');
      this.#removeDamaged(error);
      throw error;
    }
  }
}

type Statements = { readonly db: Database.Database } & ReturnType<typeof prepare>;

function open(file: string): Statements {
  const db = openSqlite(file, { timeout: OPEN_TIMEOUT_MS });
  try {
    db.pragma('journal_mode = WAL');
    // A power cut undoes the file's last changes together with its position in the log, so they are read from the log
    // again.
    db.pragma('synchronous = NORMAL');
    if (versionOf(db) !== FILE_VERSION) {
      db.transaction(() => {
        if (versionOf(db) === FILE_VERSION) return;
        db.exec(SCHEMA);
        db.pragma(`user_version = ${FILE_VERSION}`);
      }).immediate();
    }
    // From here on, a writer that would have to wait stores a moment later instead.
    db.pragma('busy_timeout = 0');
    return { db, ...prepare(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}

const versionOf = (db: Database.Database): unknown => db.pragma('user_version', { simple: true });

function prepare(db: Database.Database) {
  return {
    place: db.prepare<[], PlaceRow>('SELECT shape, log_id AS logId, build, position, event_id AS eventId FROM place'),
    putPlace: db.prepare<[string, string, string, number, string | null]>(
      'INSERT OR REPLACE INTO place (only, shape, log_id, build, position, event_id) VALUES (1, ?, ?, ?, ?, ?)',
    ),
    parts: db.prepare<[], PartRow>('SELECT tenant, part, value FROM parts ORDER BY seq'),
    put: db.prepare<[string, string, string]>(
      `INSERT INTO parts (tenant, part, value) VALUES (?, ?, ?)
       ON CONFLICT (tenant, part) DO UPDATE SET value = excluded.value`,
    ),
    remove: db.prepare<[string, string]>('DELETE FROM parts WHERE tenant = ? AND part = ?'),
    removeAll: db.prepare<[]>('DELETE FROM parts'),
  };
}
