import type { Database, Statement } from '../../../openSqlite.js';
/**
 * Notes which rows of large tables were changed or deleted, by the table's count of changes: so a ranking in memory
 * (ranking.ts) follows its table without reading all rows again.
 */

/** Only the latest are kept of each table: with more, to read all rows again is cheaper. */
export const MAX_CHANGED_ROWS = 1_024;
/** After so many notes, all but the latest are deleted. */
const CHANGES_BETWEEN_THINNING = 4 * MAX_CHANGED_ROWS;

/** Stands for all rows: row numbers begin at 1. */
export const ALL_ROWS = 0;

export const ROWS_CHANGED_SINCE = 'SELECT row FROM changed_rows WHERE owner = ? AND change > ? LIMIT ?';

/** A table's count of changes, and how many rows were noted since old notes were deleted. */
export type ChangingTable = { readonly id: number; changes: number; noted: number };

/** For a table that was just opened: how many rows were noted before is unknown. */
export const NOT_KNOWN = CHANGES_BETWEEN_THINNING;

export class ChangedRows {
  readonly #insert: Statement<[number, number, number]>;
  readonly #thinOut: Statement<[number, number, number]>;

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT OR IGNORE INTO changed_rows (owner, change, row) VALUES (?, ?, ?)');
    this.#thinOut = db.prepare(
      `DELETE FROM changed_rows WHERE owner = ? AND change <
         (SELECT change FROM changed_rows WHERE owner = ? ORDER BY change DESC LIMIT 1 OFFSET ?)`,
    );
  }

  /** Part of the transaction that applies the change. */
  note(table: ChangingTable, row: number): void {
    this.#insert.run(table.id, table.changes + 1, row);
    table.noted += 1;
    if (table.noted <= CHANGES_BETWEEN_THINNING) return;
    this.#thinOut.run(table.id, table.id, MAX_CHANGED_ROWS);
    table.noted = 0;
  }
}
