/** Writes rows into one file a tenant, in the thread that opens it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '../../../ports/eventStore.js';
import {
  type Checkpoint,
  copyOf,
  type Parked,
  RowRefusedError,
  RowsLostError,
  type RowWriter,
  type Slice,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { codeOf, type Database, openDerived, openSqlite } from '../../openSqlite.js';
import { applySlice } from './changes.js';
import type { Connection } from './connection.js';
import { RowFiles } from './files.js';
import { LAYOUT, lossOf, UnusableRowsError } from './layout.js';
import type { TenantRows } from './pages.js';

/** How long a write waits for an index that is being made, before it is another tenant's turn. */
const WAIT_FOR_INDEX_MS = 20;

const FOLLOWER_FILE = 'follower.sqlite';
/** The checkpoint, and the progress of each tenant that is not running by its name, so that a start opens no files. */
const FOLLOWER = `
  DROP TABLE IF EXISTS kept;
  CREATE TABLE kept (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
`;
const CHECKPOINT = '';
/** `reached`: no rows were made further when it was kept. */
type Kept = { readonly checkpoint?: Checkpoint | undefined; readonly reached: Position };

function keptIn(db: Database): Kept {
  const text = db.prepare<[string], string>('SELECT text FROM kept WHERE name = ?').pluck().get(CHECKPOINT);
  return text === undefined ? { reached: 0 } : JSON.parse(text);
}

export function keptCheckpoint(directory: string): Checkpoint | undefined {
  const file = join(directory, FOLLOWER_FILE);
  if (!existsSync(file)) return undefined;
  const db = openSqlite(file, { readonly: true, timeout: 5_000 });
  try {
    return keptIn(db).checkpoint;
  } finally {
    db.close();
  }
}

/** @returns false while another connection writes, which makes an index: it is another tenant's turn */
function writing({ db }: Connection, work: () => boolean): boolean {
  try {
    return db.transaction(work).immediate();
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_BUSY')) return false;
    // Such codes say that this row is wrong, not the engine.
    if (!(error instanceof Error && /^SQLITE_(TOOBIG|CONSTRAINT|MISMATCH)/.test(codeOf(error)))) throw error;
    throw new RowRefusedError(`SQLite refuses a row: ${error.message}.`, { cause: error });
  }
}

function applyTo(rows: TenantRows, slice: Slice): boolean {
  const position = rows.position();
  if (position >= slice.position) return true;
  if (position < (slice.after ?? 0)) throw new UnusableRowsError('They were replaced while they were written.');
  return applySlice(rows, slice);
}

const markIn = (rows: Connection, state: 'filling' | Parked | undefined): boolean =>
  writing(rows, () => {
    const mark = typeof state === 'object' ? { state: 'parked', parked: state } : { state };
    rows.run('UPDATE tenant SET mark = ?', JSON.stringify(mark));
    return true;
  });

export function openRowWriter({ directory }: { readonly directory: string }): RowWriter {
  const files = new RowFiles(directory, { timeoutMs: WAIT_FOR_INDEX_MS });
  // In place of a damaged one, the log is read from the beginning.
  const kind = { version: LAYOUT, schema: FOLLOWER, timeoutMs: 5_000 };
  const follower = openDerived(join(directory, FOLLOWER_FILE), kind, (db) => db);
  let { checkpoint, reached } = keptIn(follower);
  /** Tenants whose commits the disk may not have yet. */
  const moved = new Set<string>();
  files.removeRemains();

  const keep = (name: string, content: Kept | TenantProgress | undefined): void => {
    if (content === undefined) follower.prepare('DELETE FROM kept WHERE name = ?').run(name);
    else follower.prepare('INSERT OR REPLACE INTO kept VALUES (?, ?)').run(name, JSON.stringify(content));
  };
  /** Puts empty rows in the place of those that cannot be used. @returns the error to throw */
  const lose = (tenant: string, reason: string): RowsLostError => {
    const file = files.create(tenant);
    const empty = files.open(file);
    markIn(empty, 'filling');
    keep(tenant, empty.progress());
    empty.db.close();
    files.show(tenant, file);
    return new RowsLostError(tenant, `The rows of ${tenant} are made again from the event log (${reason}).`);
  };
  const on = <Result>(tenant: string, work: (rows: TenantRows) => Result, isWrite = false): Result => {
    if (isWrite) moved.add(tenant);
    try {
      return work(files.rowsOf(tenant, isWrite ? files.made(tenant) : files.current(tenant)));
    } catch (error) {
      const loss = lossOf(error);
      throw loss === undefined ? error : lose(tenant, loss);
    }
  };
  return {
    rows: async ({ tenant, space }, query) => on(tenant, (rows) => rows.rows(space, query)),
    page: async ({ tenant, space }, query) => on(tenant, (rows) => rows.page(space, query)),
    versions: async ({ tenant, space }, query) => on(tenant, (rows) => rows.versions(space, query)),
    spaces: async (tenant) => on(tenant, (rows) => rows.spaces()),
    progress: async (tenant) => on(tenant, (rows) => rows.progress()),
    async apply(tenant, slice) {
      reached = Math.max(reached, slice.position);
      return on(tenant, (rows) => writing(rows, () => applyTo(rows, slice)), true);
    },
    async tenants() {
      const marked = follower.prepare<[], [string, string]>('SELECT name, text FROM kept').raw().all();
      const marks = new Map(marked.map(([name, text]) => [name, JSON.parse(text)] as const));
      const running = { state: 'running', position: reached };
      return new Map(files.tenants().map((tenant) => [tenant, marks.get(tenant) ?? running]));
    },
    async mark(tenant, state) {
      while (!on(tenant, (rows) => markIn(rows, state), true)) await delay(WAIT_FOR_INDEX_MS);
      // Without a mark, a start takes it that the rows are as far as the checkpoint.
      await files.flush(tenant);
      keep(tenant, state && on(tenant, (rows) => rows.progress()));
    },
    async swap(tenant) {
      files.swap(tenant, copyOf(tenant));
      keep(tenant, undefined);
    },
    async remove(tenant) {
      keep(tenant, undefined);
      files.remove(copyOf(tenant));
      files.remove(tenant);
    },
    checkpoint: async () => checkpoint,
    /** After a power cut no rows may lack what the checkpoint says that they have. */
    async keep(next) {
      if (next !== undefined) {
        const flushed = [...moved];
        moved.clear();
        try {
          await Promise.all(flushed.map((tenant) => files.flush(tenant)));
        } catch (error) {
          for (const tenant of flushed) moved.add(tenant);
          throw error;
        }
        // From the beginning after all rows were removed.
        if (next.position === 0) reached = 0;
        checkpoint = next;
        keep(CHECKPOINT, { checkpoint, reached });
      }
      return [...files.takeLost()].map(([tenant, reason]) => lose(tenant, reason));
    },
    async close() {
      keep(CHECKPOINT, { checkpoint, reached });
      files.close();
      follower.close();
    },
  };
}
