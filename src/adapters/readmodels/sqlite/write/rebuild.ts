/** A second copy of read models: it is filled beside the served one, and takes its place in one step. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '../../../../ports/eventStore.js';
import type { ReadModelProof } from '../../../../ports/readModelProof.js';
import { type ReadModelRebuild, RebuildInProgressError, type RebuildScope } from '../../../../ports/readModelWriter.js';
import type { Database, Statement } from '../../../openSqlite.js';
import { openConnection } from '../connections.js';
import { forgetProgress, isAnyOutOfOrder } from '../progress.js';
import { SqliteProof } from '../proof/proof.js';
import type { Checkpoints } from '../threads/checkpointWatch.js';
import { CopyWriter } from './copyWriter.js';
import { clearDiscarded, discardLive, endRebuild } from './discarded.js';
import { beginImmediate, inTransaction } from './transactions.js';

const CACHE_MEGABYTES = 32;
/** Between two transactions of a rebuild the live projection gets its turn. */
const PAUSE_MS = 5;
/** A rebuild that has committed nothing for so long counts as dead. */
const ABANDONED_AFTER_MS = 60_000;

/**
 * Starts a rebuild over a connection of its own. Removes the copies of dead ones first.
 * @throws RebuildInProgressError while another rebuild is at work
 */
export async function beginRebuild(
  { file, smallRows }: { readonly file: string; readonly smallRows: number },
  scope: RebuildScope,
): Promise<ReadModelRebuild> {
  const db = openConnection({ file, cacheMegabytes: CACHE_MEGABYTES, readOnly: false });
  try {
    const copy = await inTransaction(db, () => registerRebuild(db, scope));
    await clearDiscarded(db);
    return new SqliteRebuild(db, scope, copy, smallRows);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Whether a copy is being filled, which must reach one position with the served one. */
export function isRebuilding(db: Database): boolean {
  const touchedAfter = Date.now() - ABANDONED_AFTER_MS;
  const count = db.prepare<[number], number>('SELECT count(*) FROM rebuilds WHERE touched_at > ?').pluck();
  return (count.get(touchedAfter) ?? 0) > 0;
}

function registerRebuild(db: Database, scope: RebuildScope): number {
  const others = db.prepare<[], { id: number; touched_at: number }>('SELECT id, touched_at FROM rebuilds').all();
  for (const { id, touched_at } of others) {
    if (touched_at > Date.now() - ABANDONED_AFTER_MS) throw new RebuildInProgressError();
    endRebuild(db, id, 'discarded');
  }
  const { lastInsertRowid } = db
    .prepare<[string, number]>('INSERT INTO rebuilds (projection, position, touched_at) VALUES (?, 0, ?)')
    .run(scope.projection, Date.now());
  return Number(lastInsertRowid);
}

class SqliteRebuild extends CopyWriter implements ReadModelRebuild {
  readonly writer: ReadModelRebuild['writer'] = this;
  readonly #scope: RebuildScope;
  readonly #copy: number;
  readonly #touch: Statement<[number, number, number]>;
  readonly proof: ReadModelProof;
  #position: Position = 0;

  constructor(db: Database, scope: RebuildScope, copy: number, smallRows: number) {
    super(db, copy, smallRows);
    this.#scope = scope;
    this.#copy = copy;
    this.#touch = db.prepare('UPDATE rebuilds SET position = ?, touched_at = ? WHERE id = ?');
    const isAtOnePosition = () => this.servedUpTo(scope.projection) === this.#position && !isAnyOutOfOrder(db, scope);
    this.proof = new SqliteProof(db, scope, copy, isAtOnePosition);
  }

  async begin(): Promise<void> {
    await delay(PAUSE_MS);
    await beginImmediate(this.db);
  }

  async commit(checkpoints: Checkpoints): Promise<void> {
    const position = checkpoints.get(this.#scope.projection) ?? this.#position;
    this.#touchAt(position);
    this.db.exec('COMMIT');
    this.#position = position;
  }

  #touchAt(position: Position): void {
    const { changes } = this.#touch.run(position, Date.now(), this.#copy);
    if (changes !== 1) throw new Error('This rebuild was taken for dead and cleared away by another.');
  }

  position(): Position {
    return this.#position;
  }

  async holdLive(): Promise<Position> {
    for (;;) {
      await beginImmediate(this.db);
      if (!isAnyOutOfOrder(this.db, this.#scope)) return this.servedUpTo(this.#scope.projection);
      // No event overtakes during a rebuild, so those that did are passed after one more event.
      this.db.exec('ROLLBACK');
      await delay(PAUSE_MS);
    }
  }

  async release(position: Position): Promise<void> {
    await this.commit(new Map([[this.#scope.projection, position]]));
  }

  async swap(): Promise<void> {
    // Before the served copy is discarded: this rebuild may have waited long for the file, and count as dead.
    this.#touchAt(this.#position);
    discardLive(this.db, this.#scope);
    if (this.#scope.table === undefined) forgetProgress(this.db, this.#scope);
    endRebuild(this.db, this.#copy, 'served');
    this.db.exec('COMMIT');
    await this.#close();
  }

  async abandon(): Promise<void> {
    await this.rollback();
    await inTransaction(this.db, () => endRebuild(this.db, this.#copy, 'discarded'));
    await this.#close();
  }

  async #close(): Promise<void> {
    await clearDiscarded(this.db);
    this.db.close();
  }
}
