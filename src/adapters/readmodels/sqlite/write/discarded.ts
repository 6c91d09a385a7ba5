/** Takes tables, histories, delivery logs and activity out of service in one step, and removes them in many short ones afterwards. */

import { setTimeout as delay } from 'node:timers/promises';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';
import type { Database } from '../../../openSqlite.js';
import { LIVE } from '../ddl.js';
import { dropStatement, type OwnObject, ownObjects } from '../ownTables.js';
import { RECORD_EVENTS } from '../recordEvents.js';
import { CLEANED_UP_RECORDS, SMALL_TABLES } from '../tableStorage.js';
import { inTransaction } from './transactions.js';

/** Between two steps a waiting writer gets its turn. */
const PAUSE_MS = 5;
const ENTRIES_A_STEP = 10_000;

/** The table that lists each projection's copies. */
export const LISTS = {
  records: 'catalog',
  order_history: 'histories',
  deliveries: 'delivery_logs',
  activity: 'activities',
} as const;

export const isDiscardable = (projection: string): projection is RebuildScope['projection'] =>
  Object.hasOwn(LISTS, projection);

/** Marks the served rows of the scope as discarded (their `copy` becomes `-id`). Part of the caller's transaction. */
export function discardLive(db: Database, { projection, tenant, table }: RebuildScope): void {
  const ofTable = projection === 'records' ? 'AND name = ifnull(@table, name)' : '';
  db.prepare(
    `UPDATE ${LISTS[projection]} SET copy = -id WHERE copy = ${LIVE} AND tenant = ifnull(@tenant, tenant) ${ofTable}`,
  ).run({ tenant: tenant ?? null, table: table ?? null });
}

/** Ends a rebuild: its copy is served from now on, or discarded. Part of the caller's transaction. */
export function endRebuild(db: Database, copy: number, outcome: 'served' | 'discarded'): void {
  const copyAfter = outcome === 'served' ? LIVE : '-id';
  for (const list of Object.values(LISTS))
    db.prepare(`UPDATE ${list} SET copy = ${copyAfter} WHERE copy = ?`).run(copy);
  db.prepare('DELETE FROM rebuilds WHERE id = ?').run(copy);
}

/** Marks a tenant's rows in a copy as discarded. Part of the caller's transaction. */
export function discardTenant(
  db: Database,
  copy: number,
  { projection, tenant }: { readonly projection: RebuildScope['projection']; readonly tenant: string },
): void {
  db.prepare(`UPDATE ${LISTS[projection]} SET copy = -id WHERE copy = ? AND tenant = ?`).run(copy, tenant);
}

/** Removes all that is discarded, in many short transactions, each of which leaves the file consistent. */
export async function clearDiscarded(db: Database): Promise<void> {
  while (await clearSome(db)) await delay(PAUSE_MS);
}

/** One such transaction. @returns whether anything was discarded */
export async function clearSome(db: Database): Promise<boolean> {
  const table = db
    .prepare<[], { id: number; layout: string }>('SELECT id, layout FROM catalog WHERE copy < 0 ORDER BY id LIMIT 1')
    .get();
  if (table !== undefined) {
    const { id, layout } = table;
    const next = ownObjects(id, JSON.parse(layout)).find((object) => isThere(db, object));
    if (next !== undefined) {
      await inTransaction(db, () => db.exec(dropStatement(next)));
      return true;
    }
  }
  for (const { list, dependents } of ENTRIES) {
    const id = db.prepare<[], number>(`SELECT id FROM ${list} WHERE copy < 0 ORDER BY id LIMIT 1`).pluck().get();
    if (id === undefined) continue;
    for (const sql of dependents) {
      const removal = db.prepare<[number, number]>(sql);
      if ((await inTransaction(db, () => removal.run(id, ENTRIES_A_STEP))).changes > 0) return true;
    }
    await inTransaction(db, () => db.prepare(`DELETE FROM ${list} WHERE id = ?`).run(id));
    return true;
  }
  return false;
}

/** Asks the schema in memory: `sqlite_master` lists the tables of all tenants, and a search through it is slow. */
const isThere = (db: Database, { kind, name }: OwnObject): boolean =>
  Array.from(db.prepare(`PRAGMA ${kind.toLowerCase()}_info(${name})`).all()).length > 0;

/** The statements that remove some entries of a discarded row of each list. */
const ENTRIES = [
  {
    list: LISTS.records,
    dependents: [
      ...[...SMALL_TABLES, CLEANED_UP_RECORDS].map(
        (table) =>
          `DELETE FROM ${table} WHERE (owner, row) IN (SELECT owner, row FROM ${table} WHERE owner = ? LIMIT ?)`,
      ),
      `DELETE FROM changed_rows WHERE (owner, change, row) IN
         (SELECT owner, change, row FROM changed_rows WHERE owner = ? LIMIT ?)`,
      `DELETE FROM ${RECORD_EVENTS} WHERE (owner, id, event) IN
         (SELECT owner, id, event FROM ${RECORD_EVENTS} WHERE owner = ? LIMIT ?)`,
    ],
  },
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
  {
    list: LISTS.activity,
    dependents: [
      'DELETE FROM activity_entries WHERE row IN (SELECT row FROM activity_entries WHERE owner = ? LIMIT ?)',
    ],
  },
] as const;
