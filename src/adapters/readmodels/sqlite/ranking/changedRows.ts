/**
 * Which rows of large tables were changed or deleted lately, by the table's count of changes: who keeps a table's rows in an
 * order in memory (query/ranking.ts) goes on with them instead of reading all rows again.
 */
import type Database from 'better-sqlite3';

/** So many are kept of each table, the latest ones: with more, to read all rows again is cheaper. */
export const MAX_CHANGED_ROWS = 1_024;
/** They are thinned out when so many are new: as many are deleted at once. */
const CHANGES_BETWEEN_THINNING = 4 * MAX_CHANGED_ROWS;

/** Stands for all rows; those of a table begin at 1. */
export const ALL_ROWS = 0;

export const ROWS_CHANGED_SINCE = 'SELECT row FROM changed_rows WHERE owner = ? AND change > ? LIMIT ?';

/** A table as it counts its changes, and what was noted of it since its changed rows were last thinned out. */
export type ChangingTable = { readonly id: number; changes: number; noted: number };

/** Belongs to a table that is found anew: what was noted of it before is not known. */
export const NOT_KNOWN = CHANGES_BETWEEN_THINNING;

export class ChangedRows {
  readonly #insert: Database.Statement<[number, number, number]>;
  readonly #thinOut: Database.Statement<[number, number, number]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare('INSERT OR IGNORE INTO changed_rows (owner, change, row) VALUES (?, ?, ?)');
    this.#thinOut = db.prepare(
      `DELETE FROM changed_rows WHERE owner = ? AND change <
         (SELECT change FROM changed_rows WHERE owner = ? ORDER BY change DESC LIMIT 1 OFFSET ?)`,
    );
  }

  /** As part of the change that is being applied. */
  note(table: ChangingTable, row: number): void {
    this.#insert.run(table.id, table.changes + 1, row);
    table.noted += 1;
    if (table.noted <= CHANGES_BETWEEN_THINNING) return;
    this.#thinOut.run(table.id, table.id, MAX_CHANGED_ROWS);
    table.noted = 0;
  }
}
