/** The history of orders of one copy (what is served, or what a rebuild fills). */
import type Database from 'better-sqlite3';
import type { HistoryEntry } from '../../../ports/readModels.js';
import { LIVE } from './schema.js';

export class HistoryTable {
  readonly #copy: number;
  readonly #find: Database.Statement<[string, number], number>;
  readonly #add: Database.Statement<[string, number]>;
  readonly #insert: Database.Statement<[number, string, number, string]>;

  constructor(db: Database.Database, copy: number) {
    this.#copy = copy;
    this.#find = db.prepare<[string, number], number>('SELECT id FROM histories WHERE tenant = ? AND copy = ?').pluck();
    this.#add = db.prepare('INSERT INTO histories (tenant, copy) VALUES (?, ?)');
    this.#insert = db.prepare(
      'INSERT OR IGNORE INTO history_entries (history, order_id, revision, entry) VALUES (?, ?, ?, ?)',
    );
  }

  add(tenant: string, orderId: string, entries: readonly HistoryEntry[]): void {
    const history = this.#find.get(tenant, this.#copy) ?? Number(this.#add.run(tenant, this.#copy).lastInsertRowid);
    for (const entry of entries) this.#insert.run(history, orderId, entry.revision, JSON.stringify(entry));
  }
}

export type HistoryReader = (
  tenant: string,
  orderId: string,
  page: { readonly offset: number; readonly limit: number },
) => { readonly entries: readonly HistoryEntry[]; readonly total: number };

/** Reads the history of one order, oldest entry first. */
export function historyReader(db: Database.Database): HistoryReader {
  const find = db.prepare<[string], number>(`SELECT id FROM histories WHERE tenant = ? AND copy = ${LIVE}`).pluck();
  const count = db
    .prepare<[number, string], number>('SELECT count(*) FROM history_entries WHERE history = ? AND order_id = ?')
    .pluck();
  const select = db
    .prepare<[number, string, number, number], string>(
      'SELECT entry FROM history_entries WHERE history = ? AND order_id = ? ORDER BY revision LIMIT ? OFFSET ?',
    )
    .pluck();
  return db.transaction((tenant, orderId, { offset, limit }) => {
    const history = find.get(tenant);
    if (history === undefined) return { entries: [], total: 0 };
    const entries = select.all(history, orderId, limit, offset).map((entry): HistoryEntry => JSON.parse(entry));
    return { entries, total: count.get(history, orderId) ?? 0 };
  });
}
