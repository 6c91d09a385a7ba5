/** Takes tables and histories out of service in one step, and clears them away bit by bit afterwards. */

import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { RebuildScope } from '../../../ports/readModels.js';
import { dropStatements, LIVE } from './schema.js';
import { beginImmediate } from './transactions.js';

/** Lets a waiting writer in between two steps. */
const PAUSE_MS = 5;
const ENTRIES_A_STEP = 10_000;

/** Marks what is served as discarded (its copy becomes `-id`). Part of the caller's transaction. */
export function discardLive(db: Database.Database, scope: RebuildScope): void {
  const { tenant = null, table = null } = scope;
  if (scope.projection === 'records') {
    db.prepare<[number, string | null, string | null, string | null, string | null]>(
      'UPDATE catalog SET copy = -id WHERE copy = ? AND (? IS NULL OR tenant = ?) AND (? IS NULL OR name = ?)',
    ).run(LIVE, tenant, tenant, table, table);
  } else {
    db.prepare<[number, string | null, string | null]>(
      'UPDATE histories SET copy = -id WHERE copy = ? AND (? IS NULL OR tenant = ?)',
    ).run(LIVE, tenant, tenant);
  }
}

/** Marks what a rebuild has filled as discarded. Part of the caller's transaction. */
export function discardCopy(db: Database.Database, copy: number): void {
  db.prepare<[number]>('UPDATE catalog SET copy = -id WHERE copy = ?').run(copy);
  db.prepare<[number]>('UPDATE histories SET copy = -id WHERE copy = ?').run(copy);
  db.prepare<[number]>('DELETE FROM rebuilds WHERE id = ?').run(copy);
}

/** Clears away what is discarded, in many short transactions, each of which leaves the file as it should be. */
export async function clearDiscarded(db: Database.Database): Promise<void> {
  const tables = db.prepare<[], { id: number; layout: string }>('SELECT id, layout FROM catalog WHERE copy < 0').all();
  for (const { id, layout } of tables) {
    for (const statement of dropStatements(id, JSON.parse(layout))) await step(db, () => db.exec(statement));
    await step(db, () => db.prepare('DELETE FROM catalog WHERE id = ?').run(id));
  }
  const remove = db.prepare<[number, number]>(
    `DELETE FROM history_entries WHERE (history, order_id, revision) IN (
       SELECT history, order_id, revision FROM history_entries WHERE history = ? LIMIT ?)`,
  );
  for (const id of db.prepare<[], number>('SELECT id FROM histories WHERE copy < 0').pluck().all()) {
    while ((await step(db, () => remove.run(id, ENTRIES_A_STEP))).changes > 0);
    await step(db, () => db.prepare('DELETE FROM histories WHERE id = ?').run(id));
  }
}

async function step<Result>(db: Database.Database, work: () => Result): Promise<Result> {
  await beginImmediate(db);
  try {
    const result = work();
    db.exec('COMMIT');
    await delay(PAUSE_MS);
    return result;
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
