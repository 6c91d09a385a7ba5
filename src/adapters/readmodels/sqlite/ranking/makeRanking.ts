/** Reads a ranking from its index. */

import { LIVE } from '../ddl.js';
import { indexOf, recordsTable } from '../ownTables.js';
import type { ReadConnection } from '../read/readConnection.js';
import type { MadeRanking } from './ranking.js';
import type { RankingName } from './rankings.js';

/** Bytes of a row number: a table whose numbers need more has no ranking. */
export const BYTES_A_ROW = Uint32Array.BYTES_PER_ELEMENT;
const MAX_ROW = 2 ** (8 * BYTES_A_ROW) - 1;

/** `onPiece` is called after so many rows. */
const ROWS_A_PIECE = 10_000;

const STATE = `SELECT row_count, changes, next_row FROM catalog WHERE id = ? AND copy = ${LIVE} AND made = 1 AND small = 0`;

/**
 * Reads one snapshot.
 * @param onPiece may throw, which ends the work
 * @returns undefined if the table is gone or has more than `mostRows` rows
 */
export function makeRanking(
  connection: ReadConnection,
  name: RankingName,
  { mostRows, onPiece }: { readonly mostRows: number; readonly onPiece: () => void },
): MadeRanking | undefined {
  const { table, column } = name;
  return connection.inSnapshot(() => {
    const [state] = connection.all<{ row_count: number; changes: number; next_row: number }>(STATE, [table]);
    if (state === undefined || state.row_count > mostRows || state.next_row > MAX_ROW) return undefined;
    const rows = new Uint32Array(new SharedArrayBuffer(state.row_count * BYTES_A_ROW));
    let [count, lastRow] = [0, 0];
    const inOrder = `SELECT row AS value FROM ${recordsTable(table)} INDEXED BY ${indexOf(table, column)} ORDER BY ${column}, id`;
    connection.forEach<number>(inOrder, [], (row) => {
      rows[count] = row;
      count += 1;
      lastRow = Math.max(lastRow, row);
      if (count % ROWS_A_PIECE === 0) onPiece();
    });
    if (count !== state.row_count)
      throw new Error(`Table ${table} has ${count} rows, its catalog says ${state.row_count}.`);
    return { ...name, rows, lastRow, changes: state.changes };
  });
}
