/** Scans for matches: all are counted, and listed where they are few. */

import type { Cell, ReadConnection } from '../readConnection.js';
import { recordsTable } from '../schema.js';

/** Row numbers as a JSON array, which is what takes them into the next query; as values they would cost ten times that. */
export type Rows = { readonly count: number; readonly json: string };

/** What to scan: row `r` of `from`, in the order of `columns`. */
export type Scan = {
  readonly tableId: number;
  readonly from: string;
  readonly where: string;
  readonly cells: readonly Cell[];
  /** Columns of the index that is scanned. */
  readonly columns: readonly string[];
  /** Fewer matches than this are listed. */
  readonly kept: number;
};

/** `json` only when there are fewer than `kept`. */
export type Scanned = { readonly count: number; readonly json?: string };

/** @param query of one column named `row` */
export function rowsFound(connection: ReadConnection, query: string, cells: readonly Cell[]): Rows {
  const [rows] = connection.all<Rows>(`SELECT count(*) AS count, json_group_array(row) AS json FROM (${query})`, cells);
  return rows ?? { count: 0, json: '[]' };
}

/** Rows that lie together are fetched together. */
const inRowOrder = (json: string): string => `[${Float64Array.from(JSON.parse(json)).sort().join()}]`;

/**
 * Few matches are listed, so that the page need not scan again. Where they are many, the scan goes on behind the last of
 * them, and only counts.
 */
export function scanAll(connection: ReadConnection, { tableId, from, where, cells, columns, kept }: Scan): Scanned {
  const order = columns.map((column) => `r.${column}`).join(', ');
  const query = `SELECT r.row AS row FROM ${from} WHERE ${where} ORDER BY ${order} LIMIT ?`;
  const rows = rowsFound(connection, query, [...cells, kept]);
  if (rows.count < kept) return { count: rows.count, json: inRowOrder(rows.json) };
  const last = Number(/\d+(?=\]$)/.exec(rows.json)?.[0]);
  const behind = connection.number(
    `SELECT count(*) FROM ${from} WHERE ${where} AND (${order}) >
       (SELECT ${order} FROM ${recordsTable(tableId)} AS r WHERE r.row = ?)`,
    [...cells, last],
  );
  return { count: rows.count + behind };
}
