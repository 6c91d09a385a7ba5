/** The stored directory: a small SQLite file, shared by the processes of one data directory. */
import type { DirectoryPlace, DirectorySaved, DirectoryStore, StoredTenant } from '../../ports/directoryStore.js';
import { Pauses } from '../../supervision/waiting.js';
import { isDamage } from '../damagedFiles.js';
import { openDerived, removeDerived } from '../derivedSqlite.js';
import { codeOf, type Database } from '../openSqlite.js';

/** How long opening waits for another process that opens or closes the file. */
const OPEN_TIMEOUT_MS = 1_000;

/** Raise it when the tables below change: earlier contents are ignored then. */
const FILE_VERSION = 2;

const SCHEMA = `
  DROP TABLE IF EXISTS place;
  DROP TABLE IF EXISTS parts;
  DROP TABLE IF EXISTS tenants;
  CREATE TABLE place (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    shape TEXT NOT NULL,
    log_id TEXT NOT NULL,
    build TEXT NOT NULL,
    position INTEGER NOT NULL,
    event_id TEXT
  ) STRICT;
  -- In the order of their first storing, which an update keeps.
  CREATE TABLE tenants (
    seq INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    json TEXT NOT NULL
  ) STRICT;
`;

type PlaceRow = { shape: string; logId: string; build: string; position: number; eventId: string | null };

/**
 * Opens the file at its first use; creates it if missing.
 * @param shape of the stored tenants: contents stored with another shape are ignored
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
    this.#opened ??= open(this.#file);
    return this.#opened;
  }

  /** The next use creates a good file in place of a damaged one. */
  #removeDamaged(error: unknown): void {
    if (!isDamage(error)) return;
    this.#opened?.db.close();
    this.#opened = undefined;
    removeDerived(this.#file);
  }

  async load(): ReturnType<DirectoryStore['load']> {
    const { db, place, tenants } = this.#statements;
    try {
      return db.transaction(() => {
        const row = place.get();
        if (row === undefined || row.shape !== this.#shape) return undefined;
        const { logId, build, position, eventId } = row;
        return {
          place: { logId, build, position, ...(eventId === null ? {} : { eventId }) },
          tenants: tenants.all(),
        };
      })();
    } catch (error) {
      this.#removeDamaged(error);
      throw error;
    }
  }

  save(place: DirectoryPlace, changed: Iterable<StoredTenant>): Promise<DirectorySaved> {
    return this.#inTransaction<DirectorySaved>(async (statements) => {
      const stored = statements.place.get();
      if (stored?.shape !== this.#shape || stored.build !== place.build) return 'superseded';
      if (stored.position > place.position) return 'later';
      await this.#write(statements, place, changed);
      return 'saved';
    });
  }

  replace(place: DirectoryPlace, tenants: Iterable<StoredTenant>): ReturnType<DirectoryStore['replace']> {
    return this.#inTransaction<'saved'>(async (statements) => {
      statements.removeAll.run();
      await this.#write(statements, place, tenants);
      return 'saved';
    });
  }

  async close(): Promise<void> {
    this.#opened?.db.close();
    this.#opened = undefined;
  }

  async #write(
    { put, putPlace }: Statements,
    { logId, build, position, eventId }: DirectoryPlace,
    tenants: Iterable<StoredTenant>,
  ): Promise<void> {
    const pauses = new Pauses();
    for (const { name, json } of tenants) {
      put.run(name, json);
      if (pauses.isDue()) await pauses.take();
    }
    putPlace.run(this.#shape, logId, build, position, eventId ?? null);
  }

  /** Other work of this process runs meanwhile. Another process that wants to store is told `later`. */
  async #inTransaction<T>(work: (statements: Statements) => Promise<T>): Promise<T | 'later'> {
    const statements = this.#statements;
    const { db } = statements;
    try {
      db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (codeOf(error) === 'SQLITE_BUSY') return 'later';
      this.#removeDamaged(error);
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

type Statements = { readonly db: Database } & ReturnType<typeof prepare>;

const open = (file: string): Statements =>
  openDerived(file, { version: FILE_VERSION, schema: SCHEMA, timeoutMs: OPEN_TIMEOUT_MS }, (db) => {
    // From here on, a writer that would have to wait stores a moment later instead.
    db.pragma('busy_timeout = 0');
    return { db, ...prepare(db) };
  });

function prepare(db: Database) {
  return {
    place: db.prepare<[], PlaceRow>('SELECT shape, log_id AS logId, build, position, event_id AS eventId FROM place'),
    putPlace: db.prepare<[string, string, string, number, string | null]>(
      'INSERT OR REPLACE INTO place (only, shape, log_id, build, position, event_id) VALUES (1, ?, ?, ?, ?, ?)',
    ),
    tenants: db.prepare<[], StoredTenant>('SELECT name, json FROM tenants ORDER BY seq'),
    put: db.prepare<[string, string]>(
      'INSERT INTO tenants (name, json) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET json = excluded.json',
    ),
    removeAll: db.prepare<[]>('DELETE FROM tenants'),
  };
}
