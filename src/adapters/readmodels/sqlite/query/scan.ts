/** Scans for matches: some are listed, all are counted, and a partner does half of the work where there is one. */

import type { Partner } from '../partner.js';
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { recordsTable } from '../schema.js';

/** Row numbers as a JSON array, which is what takes them into the next query; as values they would cost ten times that. */
export type Rows = { readonly count: number; readonly json: string };

/** What to scan: row `r` of `from`, in the order of `columns`. Plain data, so that another thread can be asked for it. */
export type Scan = {
  readonly tableId: number;
  readonly from: string;
  readonly where: string;
  readonly cells: readonly Cell[];
  /** Columns of the index that is scanned; the first one halves the work. */
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

/** Makes a scan of a table, half of it by the partner where there is one. */
export function scanAll(connection: ReadConnection, table: ReadTable, scan: Scan, partner?: Partner): Scanned {
  const scanned = partner === undefined ? scanHere(connection, scan) : scanHalves(connection, table, scan, partner);
  return scanned.json === undefined ? scanned : { ...scanned, json: inRowOrder(scanned.json) };
}

/** Rows that lie together are fetched together. */
const inRowOrder = (json: string): string => `[${Float64Array.from(JSON.parse(json)).sort().join()}]`;

function scanHalves(connection: ReadConnection, table: ReadTable, scan: Scan, partner: Partner): Scanned {
  const [column = 'row'] = scan.columns;
  const middle = middleOf(connection, table, column);
  if (middle === null) return scanHere(connection, scan);
  const half = (comparison: '<' | '>='): Scan => ({
    ...scan,
    where: `r.${column} ${comparison} ? AND ${scan.where}`,
    cells: [middle, ...scan.cells],
  });
  const pending = partner.start(table, { kind: 'scan', scan: half('>=') });
  const first = scanHere(connection, half('<'));
  const second = pending.finish() ?? scanHere(connection, half('>='));
  return together(first, second, scan.kept);
}

function together(first: Scanned, second: Scanned, kept: number): Scanned {
  const count = first.count + second.count;
  if (first.json === undefined || second.json === undefined || count >= kept) return { count };
  const lists = [first.json, second.json].map((json) => json.slice(1, -1)).filter((list) => list !== '');
  return { count, json: `[${lists.join()}]` };
}

/**
 * Few matches are listed, so that the page need not scan again. Where they are many, the scan goes on behind the last of
 * them, and only counts.
 */
export function scanHere(connection: ReadConnection, { tableId, from, where, cells, columns, kept }: Scan): Scanned {
  const order = columns.map((column) => `r.${column}`).join(', ');
  const query = `SELECT r.row AS row FROM ${from} WHERE ${where} ORDER BY ${order} LIMIT ?`;
  const rows = rowsFound(connection, query, [...cells, kept]);
  if (rows.count < kept) return rows;
  const last = Number(/\d+(?=\]$)/.exec(rows.json)?.[0]);
  const behind = connection.number(
    `SELECT count(*) FROM ${from} WHERE ${where} AND (${order}) >
       (SELECT ${order} FROM ${recordsTable(tableId)} AS r WHERE r.row = ?)`,
    [...cells, last],
  );
  return { count: rows.count + behind };
}

const SAMPLES = 31;

/** About the median of a column's values, from rows spread over the table; null where that is no value. */
function middleOf(connection: ReadConnection, { id }: ReadTable, column: string): Cell {
  const last = connection.number(`SELECT max(row) FROM ${recordsTable(id)}`);
  const values = Array.from({ length: SAMPLES }, (_, i) => {
    const row = Math.ceil(((i + 0.5) / SAMPLES) * last);
    return connection.column<string | number | null>(
      `SELECT ${column} FROM ${recordsTable(id)} WHERE row >= ? ORDER BY row LIMIT 1`,
      [row],
    )[0];
  }).filter((value) => value !== null && value !== undefined);
  return values.toSorted((a, b) => (a < b ? -1 : 1))[values.length >> 1] ?? null;
}
