/** Deletes the records that a clean-up does not keep, and stores a copy of them (docs/decisions/0022, 0026). */

import { forgottenBefore } from '../../../../domain/referenceTable/deletionHistory.js';
import type { AppliedEvent } from '../../../../ports/readModelWriter.js';
import type { Database, Statement } from '../../../openSqlite.js';
import type { TableLayout } from '../layout.js';
import { dropStatements, tableStatements, trigramTable } from '../ownTables.js';
import type { Cell } from '../read/readConnection.js';
import type { RecordEvents } from '../recordEvents.js';
import {
  cleanedUpStorage,
  insertSelected,
  removeStatements,
  type StorageTable,
  type StoredTable,
  storageOf,
  type TableStorage,
} from '../tableStorage.js';

/** When a larger share of a table's records goes, its indexes are dropped before and created again after. */
const MANY = 0.28;

/** So many deleted records are stored in the time in which one is deleted from all indexes. */
const KEPT_PER_DELETED = 8;

/** Bytes of documents that one piece of a clean-up stores, at least one document: five milliseconds. */
const PIECE_BYTES = 1_000_000;

/** For each deleted record that is stored, so many expired ones are removed: so their number falls, however large it was. */
const FORGOTTEN_PER_KEPT = 2;

const KEPT = ['u', 'id', 'revision', 'batch', 'width', 'doc', 'at'];

/** The event of the clean-up. */
export type CleanUp = Pick<AppliedEvent, 'revision' | 'at' | 'noted'>;

export class RecordCleanUp {
  readonly #db: Database;
  readonly #id: number;
  readonly #layout: TableLayout;
  readonly #parts: TableStorage;
  readonly #cleanedUp: StorageTable;
  readonly #recordEvents: RecordEvents | undefined;
  readonly #removeRow: (row: number) => void;
  readonly #outside: Statement<[number, number, number], { readonly row: number; readonly bytes: number }>;

  constructor(
    db: Database,
    { id, layout }: StoredTable,
    recordEvents: RecordEvents | undefined,
    removeRow: (row: number) => void,
  ) {
    this.#db = db;
    this.#recordEvents = recordEvents;
    this.#id = id;
    this.#layout = layout;
    this.#parts = storageOf({ id, layout });
    this.#cleanedUp = cleanedUpStorage(id);
    this.#removeRow = removeRow;
    const { batches, docs } = this.#parts;
    this.#outside = db.prepare(
      `SELECT b.row, octet_length(d.doc) AS bytes FROM ${batches.rows} AS b CROSS JOIN ${docs.rows} AS d ON d.row = b.row
       WHERE b.row > ? AND b.batch <> ? ORDER BY b.row LIMIT ?`,
    );
  }

  /**
   * @param keep number of the batch whose records stay
   * @returns how many records went, of `rowCount` that there were
   */
  deleteOutside(keep: number, cleanUp: CleanUp, rowCount: number): number {
    const { records, docs, batches } = this.#parts;
    const outside = `SELECT row FROM ${batches.rows} WHERE batch <> ?`;
    const gone = this.#countOutside(keep);
    if (gone === 0) return 0;
    this.#keep(cleanUp, 'b.batch <> ?', keep);
    this.#forget(cleanUp, gone * FORGOTTEN_PER_KEPT);
    if (gone === rowCount) {
      this.#removeAll();
      return gone;
    }
    for (let index = 0; index < this.#layout.trigramIndexes; index++) {
      this.#db.prepare(`DELETE FROM ${trigramTable(this.#id, index)} WHERE rowid IN (${outside})`).run(keep);
    }
    this.#db.prepare(`DELETE FROM ${docs.table} WHERE ${docs.of} row IN (${outside})`).run(keep);
    const deleteRows = () =>
      this.#db.prepare(`DELETE FROM ${records.table} WHERE ${records.of} row IN (${outside})`).run(keep);
    // To delete many entries from each index takes twice as long as to create it again (docs/decisions/0013).
    if (gone > rowCount * MANY && this.#layout.isSmall !== true) this.#withoutIndexes(records.table, deleteRows);
    else deleteRows();
    this.#db.prepare(`DELETE FROM ${batches.table} WHERE ${batches.of} batch <> ?`).run(keep);
    return gone;
  }

  #countOutside(batch: number): number {
    const count = this.#db.prepare<[number], number>(
      `SELECT count(*) FROM ${this.#parts.batches.rows} WHERE batch <> ?`,
    );
    return count.pluck().get(batch) ?? 0;
  }

  #keep({ revision, at, noted }: CleanUp, where: string, ...cells: readonly Cell[]): void {
    const { records, docs, batches } = this.#parts;
    const deleted = `FROM ${batches.rows} AS b CROSS JOIN ${records.rows} AS r ON r.row = b.row WHERE ${where}`;
    if (typeof noted === 'number') this.#recordEvents?.noteSelected(this.#id, noted, `SELECT r.id ${deleted}`, cells);
    if (this.#layout.unique === undefined) return;
    this.#db
      .prepare<Cell[]>(
        `${insertSelected(this.#cleanedUp, KEPT, ['r.u', 'r.id', '?', 'b.batch', 'd.width', 'd.doc', '?'], 'INSERT OR REPLACE')}
         FROM ${batches.rows} AS b CROSS JOIN ${records.rows} AS r ON r.row = b.row CROSS JOIN ${docs.rows} AS d ON d.row = b.row
         WHERE r.u IS NOT NULL AND ${where}`,
      )
      .run(revision, at, ...cells);
  }

  /** Removes expired ones, the oldest first, at most `most`. */
  #forget({ at }: CleanUp, most: number): void {
    if (this.#layout.unique === undefined) return;
    const { table, rows } = this.#cleanedUp;
    const before = forgottenBefore(at);
    const oldest = this.#db.prepare<[], string>(`SELECT at FROM ${rows} ORDER BY revision LIMIT 1`).pluck().get();
    if (oldest === undefined || oldest >= before) return;
    this.#db
      .prepare<[number, string]>(
        `DELETE FROM ${table} WHERE row IN
           (SELECT row FROM (SELECT row, at FROM ${rows} ORDER BY revision LIMIT ?) WHERE at < ?)`,
      )
      .run(most, before);
  }

  #removeAll(): void {
    const recreated = [...dropStatements(this.#id, this.#layout), ...tableStatements(this.#id, this.#layout)];
    const statements = this.#layout.isSmall === true ? removeStatements(this.#id) : recreated;
    for (const statement of statements) this.#db.exec(statement);
  }

  /** Rows of one piece, behind `from`. @returns whether there are no more */
  #piece(from: number, keep: number, most: number): { readonly rows: readonly number[]; readonly isLast: boolean } {
    const found = this.#outside.all(from, keep, most);
    let bytes = 0;
    const enough = found.findIndex((each) => {
      bytes += each.bytes;
      return bytes >= PIECE_BYTES;
    });
    const taken = enough === -1 ? found : found.slice(0, enough + 1);
    return { rows: taken.map(({ row }) => row), isLast: taken.length === found.length && found.length < most };
  }

  /**
   * Deletes at most `limit` records behind the row `after`. When all records of the table go, they are stored in pieces
   * first (`after` is negative meanwhile), and then the table is emptied at once.
   * @returns how many went, and the row to go on behind; `next` is undefined at the end
   */
  cleanUpSome(
    keep: number,
    cleanUp: CleanUp,
    {
      limit,
      after,
      rowCount,
    }: { readonly limit: number; readonly after?: number | undefined; readonly rowCount: number },
  ): { readonly gone: number; readonly next: number | undefined } {
    const isAll = after === undefined ? this.#countOutside(keep) === rowCount : after < 0;
    const from = Math.abs(after ?? 0);
    const { rows, isLast } = this.#piece(from, keep, isAll ? limit * KEPT_PER_DELETED : limit);
    const last = rows.at(-1) ?? from;
    this.#forget(cleanUp, rows.length * FORGOTTEN_PER_KEPT);
    this.#keep(cleanUp, 'b.row > ? AND b.row <= ? AND b.batch <> ?', from, last, keep);
    if (isAll) {
      if (!isLast) return { gone: 0, next: -last };
      this.#removeAll();
      return { gone: rowCount, next: undefined };
    }
    for (const row of rows) this.#removeRow(row);
    return { gone: rows.length, next: isLast ? undefined : last };
  }

  #withoutIndexes(table: string, work: () => unknown): void {
    const indexes = this.#db
      .prepare<[string], { name: string; sql: string }>(
        `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?`,
      )
      .all(table);
    for (const { name } of indexes) this.#db.exec(`DROP INDEX ${name}`);
    work();
    for (const { sql } of indexes) this.#db.exec(sql);
  }
}
