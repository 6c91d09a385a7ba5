/** Writes rows into one file a tenant, in the thread that opens it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import {
  type Checkpoint,
  type DumpLine,
  type Parked,
  type RowCopy,
  RowRefusedError,
  RowsLostError,
  type RowsQuery,
  type RowWriter,
  type Slice,
  type SpaceRef,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { isDamage } from '../../damagedFiles.js';
import { openDerived, removeDerived } from '../../derivedSqlite.js';
import { codeOf, type Database, openSqlite } from '../../openSqlite.js';
import { applySlice } from './changes.js';
import type { Connection } from './connection.js';
import { RowFiles } from './files.js';
import { checkPages, LAYOUT, OPEN_FILES, UnusableRowsError } from './layout.js';

/** How long a write waits for an index that is being made, before it is another tenant's turn. */
const WAIT_FOR_INDEX_MS = 20;

export function openRowWriter({ directory }: { readonly directory: string }): RowWriter {
  return new SqliteRowWriter(new RowFiles(directory));
}

const FOLLOWER_FILE = 'follower.sqlite';
/**
 * The checkpoint, and the state of all tenants as it was then, so that a start opens no files. Positions may be behind those in
 * the files.
 */
const FOLLOWER = `
  DROP TABLE IF EXISTS checkpoint; DROP TABLE IF EXISTS tenants;
  CREATE TABLE checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL);
  CREATE TABLE tenants (tenant TEXT PRIMARY KEY, progress TEXT NOT NULL) WITHOUT ROWID;
`;

function checkpointIn(db: Database): Checkpoint | undefined {
  const text = db.prepare<[], string>('SELECT text FROM checkpoint').pluck().get();
  return text === undefined ? undefined : JSON.parse(text);
}

/** What the last writer kept, or the one that is open meanwhile. */
export function keptCheckpoint(directory: string): Checkpoint | undefined {
  const file = join(directory, FOLLOWER_FILE);
  if (!existsSync(file)) return undefined;
  const db = openSqlite(file, { readonly: true, timeout: 5_000 });
  try {
    return checkpointIn(db);
  } finally {
    db.close();
  }
}

/** Codes of SQLite that say that this row is wrong, not the engine. */
const REFUSED = /^SQLITE_(TOOBIG|CONSTRAINT|MISMATCH)/;

class SqliteRowWriter implements RowWriter {
  readonly #files: RowFiles;
  readonly #follower: Database;
  readonly #open = new LRUCache<string, Connection>({ max: OPEN_FILES, dispose: ({ db }) => db.close() });
  readonly #copies = new Map<string, { readonly file: string; readonly connection: Connection }>();
  /** Tenants whose progress the follower's file does not have. The disk may not have their commits yet. */
  readonly #moved = new Set<string>();
  #keeping: Promise<unknown> = Promise.resolve();
  /** Losses that were found beside other work, by tenant. Once its rows are removed, they are no news. */
  readonly #found = new Map<string, RowsLostError>();

  constructor(files: RowFiles) {
    this.#files = files;
    // In place of a damaged one, the files of all tenants are opened, and the log is read from the beginning.
    const kind = { version: LAYOUT, schema: FOLLOWER, timeoutMs: 5_000 };
    this.#follower = openDerived(join(files.directory, FOLLOWER_FILE), kind, (db) => {
      checkPages(db);
      return db;
    });
    files.removeRemains();
  }

  async apply(tenant: string, slice: Slice): Promise<boolean> {
    this.#moved.add(tenant);
    return this.#on(tenant, (connection) => applyTo(connection, slice));
  }

  async rows({ tenant, space }: SpaceRef, query: RowsQuery) {
    return this.#on(tenant, (connection) => connection.rows(space, query));
  }

  async spaces(tenant: string) {
    return this.#files.current(tenant) === undefined ? undefined : this.#on(tenant, (rows) => rows.spaces());
  }

  async progress(tenant: string) {
    return this.#files.current(tenant) === undefined ? undefined : this.#on(tenant, (rows) => rows.progress());
  }

  async tenants(): Promise<ReadonlyMap<string, TenantProgress>> {
    await this.#keepMoved();
    const stored = this.#follower.prepare<[], [string, string]>('SELECT tenant, progress FROM tenants').raw().all();
    const known = new Map(stored);
    const tenants = new Map<string, TenantProgress>();
    for (const tenant of this.#files.tenants()) {
      const text = known.get(tenant);
      const progress = text === undefined ? this.#progressNow(tenant) : JSON.parse(text);
      if (progress !== undefined) tenants.set(tenant, progress);
    }
    return tenants;
  }

  async mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void> {
    while (!this.#on(tenant, (connection) => markIn(connection, state))) await delay(WAIT_FOR_INDEX_MS);
    this.#moved.add(tenant);
    await this.#keepMoved();
  }

  async copy(tenant: string): Promise<RowCopy> {
    await this.#discard(tenant);
    const file = this.#files.create(tenant);
    const connection = this.#files.open(file);
    this.#copies.set(tenant, { file, connection });
    return {
      apply: async (_, slice) => applyTo(connection, slice),
      rows: async ({ space }, query) => connection.rows(space, query),
      spaces: async () => connection.spaces(),
      progress: async () => connection.progress(),
      dump: async function* () {
        yield* connection.dump();
      },
      swap: async () => {
        this.#copies.delete(tenant);
        connection.db.close();
        this.#show(tenant, file);
        await this.#keepMoved();
      },
      discard: () => this.#discard(tenant),
    };
  }

  async #discard(tenant: string): Promise<void> {
    const copy = this.#copies.get(tenant);
    this.#copies.delete(tenant);
    copy?.connection.db.close();
    if (copy !== undefined) removeDerived(copy.file);
  }

  async *dump(tenant: string): AsyncIterable<DumpLine> {
    const file = this.#files.current(tenant);
    if (file === undefined) return;
    // Of its own: turns of many other tenants would close the one that the follower uses.
    const connection = this.#files.open(file);
    try {
      yield* connection.dump();
    } finally {
      connection.db.close();
    }
  }

  async remove(tenant: string): Promise<void> {
    await this.#discard(tenant);
    this.#forget(tenant);
    this.#files.remove(tenant);
    this.#moved.delete(tenant);
    this.#found.delete(tenant);
  }

  async checkpoint(): Promise<Checkpoint | undefined> {
    return checkpointIn(this.#follower);
  }

  keep(checkpoint: Checkpoint): Promise<void> {
    return this.#keepMoved(checkpoint);
  }

  async lost(): Promise<readonly RowsLostError[]> {
    for (const tenant of this.#files.takeLost()) {
      if (this.#files.current(tenant) === undefined) continue;
      this.#open.delete(tenant);
      this.#progressNow(tenant, checkPages);
    }
    const found = [...this.#found.values()];
    this.#found.clear();
    return found;
  }

  /** Beside other work: if the rows are lost, `lost` tells of it. */
  #progressNow(tenant: string, check?: (db: Database) => void): TenantProgress | undefined {
    try {
      return this.#on(tenant, (connection) => {
        check?.(connection.db);
        return connection.progress();
      });
    } catch (error) {
      if (!(error instanceof RowsLostError)) throw error;
      this.#found.set(tenant, error);
      return this.#on(tenant, (empty) => empty.progress());
    }
  }

  /** One after another, so that no older progress takes the place of a later one. */
  #keepMoved(checkpoint?: Checkpoint): Promise<void> {
    const kept = this.#keeping.then(() => this.#keepNow(checkpoint));
    this.#keeping = kept.catch(() => undefined);
    return kept;
  }

  /** After a power cut no rows may lack what the follower's file says that they have. */
  async #keepNow(checkpoint?: Checkpoint): Promise<void> {
    const moved = [...this.#moved].map((tenant) => [tenant, this.#progressNow(tenant)] as const);
    this.#moved.clear();
    try {
      await Promise.all(moved.map(([tenant]) => this.#files.flush(tenant)));
    } catch (error) {
      for (const [tenant] of moved) this.#moved.add(tenant);
      throw error;
    }
    this.#follower.transaction(() => {
      const put = this.#follower.prepare('INSERT OR REPLACE INTO tenants VALUES (?, ?)');
      for (const [tenant, progress] of moved)
        if (progress !== undefined && this.#files.current(tenant) !== undefined)
          put.run(tenant, JSON.stringify(progress));
      if (checkpoint !== undefined)
        this.#follower.prepare('INSERT OR REPLACE INTO checkpoint VALUES (1, ?)').run(JSON.stringify(checkpoint));
    })();
  }

  async close(): Promise<void> {
    await this.#keepMoved();
    for (const tenant of this.#copies.keys()) await this.#discard(tenant);
    this.#open.clear();
    this.#follower.close();
  }

  /** Works on the tenant's rows. Creates them where they are missing. */
  #on<Result>(tenant: string, work: (connection: Connection) => Result): Result {
    try {
      return work(this.#connectionOf(tenant));
    } catch (error) {
      if (isDamage(error) || error instanceof UnusableRowsError) throw this.#lose(tenant, error);
      if (REFUSED.test(codeOf(error)) && error instanceof Error)
        throw new RowRefusedError(`SQLite refuses a row: ${error.message}.`, { cause: error });
      throw error;
    }
  }

  #connectionOf(tenant: string): Connection {
    const known = this.#open.get(tenant);
    if (known !== undefined) return known;
    let file = this.#files.current(tenant);
    if (file === undefined) {
      file = this.#files.create(tenant);
      this.#files.show(tenant, file);
    }
    const connection = this.#files.open(file, { timeoutMs: WAIT_FOR_INDEX_MS });
    this.#open.set(tenant, connection);
    return connection;
  }

  /** Puts empty rows in the place of those that cannot be used. @returns the error to throw */
  #lose(tenant: string, cause: unknown): RowsLostError {
    const aside = isDamage(cause) ? this.#files.aside(tenant) : undefined;
    const file = this.#files.create(tenant);
    const empty = this.#files.open(file);
    markIn(empty, 'filling');
    empty.db.close();
    this.#show(tenant, file, aside);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `The rows of ${tenant} are made again from the event log (${reason}).`;
    return new RowsLostError(tenant, aside, message, { cause });
  }

  /** Puts other rows in the place of the tenant's. */
  #show(tenant: string, file: string, aside?: string): void {
    this.#forget(tenant);
    this.#files.show(tenant, file, aside);
    this.#moved.add(tenant);
  }

  /** What is kept is of rows that go: a start after a crash asks the file. */
  #forget(tenant: string): void {
    this.#open.delete(tenant);
    this.#follower.prepare('DELETE FROM tenants WHERE tenant = ?').run(tenant);
  }
}

/** @returns false while another connection writes, which makes an index: it is another tenant's turn */
function writing(connection: Connection, work: () => boolean): boolean {
  try {
    return connection.db.transaction(work).immediate();
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}

const applyTo = (connection: Connection, slice: Slice): boolean =>
  writing(connection, () => {
    const position = connection.position();
    if (position >= slice.position) return true;
    if (position < (slice.after ?? 0)) throw new UnusableRowsError('They were replaced while they were written.');
    return applySlice(connection, slice);
  });

const markIn = (connection: Connection, state: 'filling' | Parked | undefined): boolean =>
  writing(connection, () => {
    connection.run('UPDATE tenant SET state = ?', state === undefined ? null : JSON.stringify(state));
    return true;
  });
