/** Writes the history of orders of one copy (the served one, or the one that a rebuild fills), and reads the served one. */

import type { HistoryEntry, HistoryReads } from '../../../ports/orderHistory.js';
import type { Database, Statement } from '../../openSqlite.js';
import { entryText, type PlaceOfPage, placeOfPage } from '../shared/historyPages.js';
import { APPROVED } from '../shared/recordText.js';
import { LIVE } from './ddl.js';
import type { ReadConnection } from './read/readConnection.js';

export class HistoryTable {
  readonly #copy: number;
  readonly #find: Statement<[string, number], number>;
  readonly #add: Statement<[string, number]>;
  readonly #insert: Statement<[number, string, number, string]>;

  constructor(db: Database, copy: number) {
    this.#copy = copy;
    this.#find = db.prepare<[string, number], number>('SELECT id FROM histories WHERE tenant = ? AND copy = ?').pluck();
    this.#add = db.prepare('INSERT INTO histories (tenant, copy) VALUES (?, ?)');
    this.#insert = db.prepare(
      'INSERT OR IGNORE INTO history_entries (history, order_id, revision, entry) VALUES (?, ?, ?, ?)',
    );
  }

  add(tenant: string, orderId: string, entries: readonly HistoryEntry[]): void {
    const history = this.#find.get(tenant, this.#copy) ?? Number(this.#add.run(tenant, this.#copy).lastInsertRowid);
    for (const entry of entries) this.#insert.run(history, orderId, entry.revision, entryText(entry));
  }
}

const OF_ORDER = `FROM history_entries
  WHERE history = (SELECT id FROM histories WHERE tenant = ? AND copy = ${LIVE}) AND order_id = ?`;

/** A page of the history of one order, each entry as JSON text. */
export function readHistory(
  connection: ReadConnection,
  tenant: string,
  orderId: string,
  page: Parameters<HistoryReads['history']>[2],
): PlaceOfPage & { readonly entries: readonly string[] } {
  return connection.inSnapshot(() => {
    // SQLite knows the bytes of a text without reading it.
    const sizes = connection.column<number>(`SELECT octet_length(entry) ${OF_ORDER} ORDER BY revision`, [
      tenant,
      orderId,
    ]);
    const place = placeOfPage(sizes, page);
    const { count, before } = place;
    const shown = `SELECT entry ${OF_ORDER} ORDER BY revision LIMIT ? OFFSET ?`;
    return { ...place, entries: connection.column<string>(shown, [tenant, orderId, count, before]) };
  });
}

/** All approvals of these orders, oldest first: the order's id, and the entry as JSON text. */
export const readApprovals = (
  connection: ReadConnection,
  tenant: string,
  orderIds: readonly string[],
): readonly (readonly [orderId: string, entry: string])[] =>
  orderIds.flatMap((orderId) =>
    connection
      .column<string>(`SELECT entry ${OF_ORDER} AND entry LIKE ? ORDER BY revision`, [tenant, orderId, `%${APPROVED}%`])
      .map((entry) => [orderId, entry] as const),
  );
