/** Writes rows into one file a tenant, in the thread that opens it. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
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
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { codeOf } from '../../openSqlite.js';
import { applySlice } from './changes.js';
import { LAYOUT, lossOf, RowFiles, UnusableRowsError } from './files.js';
import type { TenantRows } from './pages.js';

/** How long a write waits for an index that is being made, before it is another tenant's turn. */
const WAIT_FOR_INDEX_MS = 20;

const FOLLOWER_FILE = 'follower.json';
/** `reached`: no rows were made further when it was kept. `marked`: of tenants that are not running, so that a start opens no files. */
type Kept = {
  readonly layout: typeof LAYOUT;
  readonly checkpoint?: Checkpoint | undefined;
  readonly reached: Position;
  readonly marked: { readonly [tenant: string]: TenantProgress | undefined };
};

function keptIn(directory: string): Kept {
  try {
    const kept: Kept = JSON.parse(readFileSync(join(directory, FOLLOWER_FILE), 'utf8'));
    if (kept.layout === LAYOUT) return kept;
  } catch {
    // There is none, or it is damaged: the log is read from the beginning.
  }
  return { layout: LAYOUT, reached: 0, marked: {} };
}

export const keptCheckpoint = (directory: string): Checkpoint | undefined => keptIn(directory).checkpoint;

/** @returns false while another connection writes, which makes an index: it is another tenant's turn */
function writing({ db }: TenantRows, work: () => boolean): boolean {
  try {
    return db.transaction(work).immediate();
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_BUSY')) return false;
    // Such codes say that this row is wrong, not the engine.
    if (!(error instanceof Error && /^SQLITE_(TOOBIG|CONSTRAINT|MISMATCH)/.test(codeOf(error)))) throw error;
    throw new RowRefusedError(`SQLite refuses a row: ${error.message}.`, { cause: error });
  }
}

const markIn = (rows: TenantRows, state: 'filling' | Parked | undefined): boolean =>
  writing(rows, () => {
    const mark = typeof state === 'object' ? { state: 'parked', parked: state } : { state };
    rows.run('UPDATE tenant SET mark = ?', JSON.stringify(mark));
    return true;
  });

export function openRowWriter({ directory }: { readonly directory: string }): RowWriter {
  const files = new RowFiles(directory, { timeoutMs: WAIT_FOR_INDEX_MS });
  let kept = keptIn(directory);
  let { reached } = kept;
  /** Tenants whose commits the disk may not have yet. */
  const moved = new Set<string>();
  files.removeRemains();

  const store = (change: Partial<Kept>): void => {
    kept = { ...kept, ...change, reached };
    const draft = join(directory, `${FOLLOWER_FILE}-next`);
    writeFileSync(draft, JSON.stringify(kept));
    renameSync(draft, join(directory, FOLLOWER_FILE));
  };
  const keepMark = (tenant: string, progress?: TenantProgress): void =>
    store({ marked: { ...kept.marked, [tenant]: progress } });
  /** Puts empty rows in the place of those that cannot be used. @returns the error to throw */
  const lose = (tenant: string, reason: string): RowsLostError => {
    const file = files.create(tenant);
    const empty = files.open(file);
    markIn(empty, 'filling');
    keepMark(tenant, empty.progress());
    empty.db.close();
    files.show(tenant, file);
    return new RowsLostError(tenant, `The rows of ${tenant} are made again from the event log (${reason}).`);
  };
  const on = <Result>(tenant: string, work: (rows: TenantRows) => Result, isWrite = false): Result => {
    if (isWrite) moved.add(tenant);
    try {
      if (isWrite && files.current(tenant) === undefined) files.show(tenant, files.create(tenant));
      return work(files.rowsOf(tenant));
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
      const applied = (rows: TenantRows) =>
        writing(rows, () => {
          const position = rows.position();
          if (position < (slice.after ?? 0)) throw new UnusableRowsError('They were replaced while they were written.');
          return position >= slice.position || applySlice(rows, slice);
        });
      return on(tenant, applied, true);
    },
    async tenants() {
      const running = { state: 'running', position: reached, logBytes: 0 } as const;
      return new Map(files.tenants().map((tenant) => [tenant, kept.marked[tenant] ?? running]));
    },
    async mark(tenant, state) {
      while (!on(tenant, (rows) => markIn(rows, state), true)) await delay(WAIT_FOR_INDEX_MS);
      // Without a mark, a start takes it that the rows are as far as the checkpoint.
      await files.flush(tenant);
      keepMark(tenant, state && on(tenant, (rows) => rows.progress()));
    },
    async swap(tenant) {
      files.swap(tenant, copyOf(tenant));
      keepMark(tenant);
    },
    async remove(tenant) {
      keepMark(tenant);
      files.remove(copyOf(tenant));
      files.remove(tenant);
    },
    checkpoint: async () => kept.checkpoint,
    /** After a power cut no rows may lack what the checkpoint says that they have. */
    async keep(next) {
      if (next !== undefined) {
        const flushed = [...moved];
        moved.clear();
        await Promise.all(flushed.map((tenant) => files.flush(tenant))).catch((error: unknown) => {
          for (const tenant of flushed) moved.add(tenant);
          throw error;
        });
        // From the beginning after all rows were removed.
        if (next.position === 0) reached = 0;
        store({ checkpoint: next });
      }
      return files.lost().map((tenant) => lose(tenant, 'their file was damaged'));
    },
    async close() {
      store({});
      files.close();
    },
  };
}
