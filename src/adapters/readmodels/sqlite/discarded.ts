/** Takes tables, histories and delivery logs out of service in one step, and clears them away bit by bit afterwards. */

import { setTimeout as delay } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { RebuildScope } from '../../../ports/readModelWriter.js';
import { dropStatements, LIVE } from './schema.js';
import { inTransaction } from './transactions.js';

/** Lets a waiting writer in between two steps. */
const PAUSE_MS = 5;
const ENTRIES_A_STEP = 10_000;

/** Where each projection's copies are listed. */
export const LISTS = { records: 'catalog', order_history: 'histories', deliveries: 'delivery_logs' } as const;

export const isDiscardable = (projection: string): projection is RebuildScope['projection'] =>
  Object.hasOwn(LISTS, projection);

/** Marks what is served as discarded (its copy becomes `-id`). Part of the caller's transaction. */
export function discardLive(db: Database.Database, { projection, tenant, table }: RebuildScope): void {
  const ofTable = projection === 'records' ? 'AND name = ifnull(@table, name)' : '';
  db.prepare(
    `UPDATE ${LISTS[projection]} SET copy = -id WHERE copy = ${LIVE} AND tenant = ifnull(@tenant, tenant) ${ofTable}`,
  ).run({ tenant: tenant ?? null, table: table ?? null });
}

/** Ends a rebuild: what it has filled is served from now on, or discarded. Part of the caller's transaction. */
export function endRebuild(db: Database.Database, copy: number, outcome: 'served' | 'discarded'): void {
  const copyAfter = outcome === 'served' ? LIVE : '-id';
  for (const list of Object.values(LISTS))
    db.prepare(`UPDATE ${list} SET copy = ${copyAfter} WHERE copy = ?`).run(copy);
  db.prepare('DELETE FROM rebuilds WHERE id = ?').run(copy);
}

/** Clears away what is discarded, in many short transactions, each of which leaves the file as it should be. */
export async function clearDiscarded(db: Database.Database): Promise<void> {
  const tables = db.prepare<[], { id: number; layout: string }>('SELECT id, layout FROM catalog WHERE copy < 0').all();
  for (const { id, layout } of tables) {
    for (const statement of dropStatements(id, JSON.parse(layout))) await step(db, () => db.exec(statement));
    await step(db, () => db.prepare('DELETE FROM catalog WHERE id = ?').run(id));
  }
  for (const { list, dependents } of ENTRIES) {
    const removals = dependents.map((sql) => db.prepare<[number, number]>(sql));
    for (const id of db.prepare<[], number>(`SELECT id FROM ${list} WHERE copy < 0`).pluck().all()) {
      for (const remove of removals) while ((await step(db, () => remove.run(id, ENTRIES_A_STEP))).changes > 0);
      await step(db, () => db.prepare(`DELETE FROM ${list} WHERE id = ?`).run(id));
    }
  }
}

/** The entries of each row of a list, and how some of them are removed. */
const ENTRIES = [
  {
    list: LISTS.order_history,
    dependents: [
      `DELETE FROM history_entries WHERE (history, order_id, revision) IN (
         SELECT history, order_id, revision FROM history_entries WHERE history = ? LIMIT ?)`,
    ],
  },
  {
    list: LISTS.deliveries,
    dependents: [
      'DELETE FROM deliveries WHERE row IN (SELECT row FROM deliveries WHERE log = ? LIMIT ?)',
      'DELETE FROM delivery_webhooks WHERE id IN (SELECT id FROM delivery_webhooks WHERE log = ? LIMIT ?)',
    ],
  },
] as const;

async function step<Result>(db: Database.Database, work: () => Result): Promise<Result> {
  const result = await inTransaction(db, work);
  await delay(PAUSE_MS);
  return result;
}
