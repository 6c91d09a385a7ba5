/** The stored directory: a small SQLite file, shared by the processes of one data directory. */
import type { EventPosition } from '../../ports/eventStore.js';
import { codeOf, type Database, isDamage, openDerived, removeDatabase } from '../openSqlite.js';

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

type Build = { readonly logId: string; readonly build: string };
type PlaceRow = Build & { shape: string; position: number; eventId: string | null };
type StoredTenant = { readonly name: string; readonly json: string };

/** Opens the file at its first use; creates it if missing. Contents that were stored with another shape are ignored. */
export class SqliteDirectoryStore {
  readonly #file: string;
  readonly #shape: string;
  #opened: Statements | undefined;

  /** @param shape of the stored tenants */
  constructor(file: string, shape: string) {
    this.#file = file;
    this.#shape = shape;
  }

  load() {
    return this.#transaction('deferred', ({ place, tenants }) => {
      const row = place.get();
      if (row === undefined || row.shape !== this.#shape) return undefined;
      const { logId, build, position, eventId } = row;
      return { place: { logId, build, position, eventId: eventId ?? undefined }, tenants: tenants.all() };
    });
  }

  save(at: EventPosition & Build, tenants: Iterable<StoredTenant>, isWhole: boolean): boolean {
    try {
      return this.#transaction('immediate', ({ place, put, putPlace, removeAll }) => {
        const stored = place.get();
        const isOfOthers = stored?.shape !== this.#shape || stored.build !== at.build || stored.position > at.position;
        if (isWhole) removeAll.run();
        else if (isOfOthers) return false;
        for (const { name, json } of tenants) put.run(name, json);
        putPlace.run(this.#shape, at.logId, at.build, at.position, at.eventId ?? null);
        return true;
      });
    } catch (error) {
      if (codeOf(error) === 'SQLITE_BUSY') return false;
      throw error;
    }
  }

  close(): void {
    this.#opened?.db.close();
    this.#opened = undefined;
  }

  /** After damage, the next use creates a good file in place of the damaged one. */
  #transaction<T>(kind: 'deferred' | 'immediate', work: (statements: Statements) => T): T {
    this.#opened ??= open(this.#file);
    const opened = this.#opened;
    try {
      return opened.db.transaction(() => work(opened))[kind]();
    } catch (error) {
      if (isDamage(error)) {
        this.close();
        removeDatabase(this.#file);
      }
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
