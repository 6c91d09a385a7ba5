/** Writes the rows of one table of records. */
import type Database from 'better-sqlite3';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import { RecordText } from '../shared/recordText.js';
import { type CellValue, cellColumns, cellsOf } from './cells.js';
import type { TableLayout } from './layout.js';
import type { Cell } from './readConnection.js';
import { idBytes, microseconds } from './rowFormat.js';
import {
  batchTable,
  docTable,
  dropStatements,
  recordsTable,
  sweptTable,
  tableStatements,
  trigramColumn,
  trigramColumns,
  trigramTable,
} from './schema.js';

type Statement = Database.Statement<Cell[]>;
type TrigramIndex = {
  /** Of its columns among the cells. */
  readonly positions: readonly number[];
  readonly insert: Statement;
  readonly remove: Statement;
};
type StoredRow = { readonly row: number; readonly width: number; readonly doc: string };

/** The share of a table's records from which on a clean-up makes its indexes anew. */
const MANY = 0.28;

/** Ids are kept in the time in which one record is deleted, out of all indexes. */
const KEPT_PER_DELETED = 8;

export class RecordWriter {
  readonly #db: Database.Database;
  readonly #id: number;
  readonly #layout: TableLayout;
  readonly #text: RecordText;
  readonly #columns: readonly string[];
  readonly #statements: ReturnType<typeof prepare>;
  readonly #trigrams: readonly TrigramIndex[];
  readonly #updates = new Map<string, Statement>();
  readonly #batchNumber: (batchId: string | null) => number;

  constructor(
    db: Database.Database,
    table: { readonly id: number; readonly layout: TableLayout },
    batchNumber: (batchId: string | null) => number,
  ) {
    const { id, layout } = table;
    this.#db = db;
    this.#id = id;
    this.#layout = layout;
    this.#batchNumber = batchNumber;
    this.#text = new RecordText(layout);
    this.#columns = cellColumns(layout);
    this.#statements = prepare(db, id, this.#columns);
    this.#trigrams = Array.from({ length: layout.trigramIndexes }, (_, index) => this.#trigramIndex(index));
  }

  #trigramIndex(index: number): TrigramIndex {
    const columns = trigramColumns(this.#layout.fields, index);
    const table = trigramTable(this.#id, index);
    return {
      positions: columns.map((name) => this.#columns.indexOf(name)),
      insert: this.#db.prepare(
        `INSERT INTO ${table} (rowid, ${columns.map(trigramColumn)}) VALUES (?, ${columns.map(() => '?')})`,
      ),
      remove: this.#db.prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    };
  }

  /** @throws Error when the id or the unique field's value is there already */
  insert(row: number, change: RecordChange & { kind: 'insert' }): void {
    const at = microseconds(change.at);
    const cells = cellsOf(this.#layout, change.fields);
    this.#statements.insert.run(row, this.#idOf(change.id), at, at, ...cells);
    this.#statements.insertDoc.run(row, this.#text.width, this.#text.write(change.fields));
    this.#statements.insertBatch.run(row, this.#batchNumber(change.batchId));
    for (const trigrams of this.#trigrams) this.#index(trigrams, row, cells);
  }

  #idOf(id: string): Buffer {
    const bytes = idBytes(id);
    if (bytes === undefined) throw new Error(`${id} is no UUID.`);
    return bytes;
  }

  #index(trigrams: TrigramIndex, row: number, cells: readonly CellValue[]): void {
    const texts = trigrams.positions.map((position) => cells[position] ?? null);
    if (texts.some((text) => text !== null)) trigrams.insert.run(row, ...texts);
  }

  patch(change: RecordChange & { kind: 'patch' }): void {
    const stored = this.#statements.select.get(this.#idOf(change.id));
    if (stored === undefined) throw new Error(`There is no record ${change.id} to patch.`);
    const before: Fields = this.#text.fields(stored.width, stored.doc);
    const after: Fields = { ...before, ...change.set };
    const cells = cellsOf(this.#layout, after);
    const cellsBefore = cellsOf(this.#layout, before);
    const changed = cells.flatMap((cell, index) => (cell === cellsBefore[index] ? [] : [index]));

    this.#update(changed).run(...changed.map((index) => cells[index] ?? null), microseconds(change.at), stored.row);
    this.#statements.updateDoc.run(this.#text.width, this.#text.write(after), stored.row);
    if (change.batchId !== undefined) this.#statements.setBatch.run(this.#batchNumber(change.batchId), stored.row);
    for (const trigrams of this.#trigrams) {
      if (!trigrams.positions.some((position) => changed.includes(position))) continue;
      trigrams.remove.run(stored.row);
      this.#index(trigrams, stored.row, cells);
    }
  }

  /** Sets only the columns that change: SQLite rewrites the index entries of every column that is set. */
  #update(changed: readonly number[]): Statement {
    const key = changed.join();
    let statement = this.#updates.get(key);
    if (statement === undefined) {
      const columns = [...changed.map((index) => this.#columns[index]), 'updated_at'];
      statement = this.#db.prepare(
        `UPDATE ${recordsTable(this.#id)} SET ${columns.map((column) => `${column} = ?`)} WHERE row = ?`,
      );
      this.#updates.set(key, statement);
    }
    return statement;
  }

  delete({ id }: RecordChange & { kind: 'delete' }): void {
    const stored = this.#statements.select.get(this.#idOf(id));
    if (stored === undefined) throw new Error(`There is no record ${id} to delete.`);
    this.#removeRow(stored.row);
  }

  #removeRow(row: number): void {
    for (const { remove } of this.#trigrams) remove.run(row);
    for (const statement of this.#statements.remove) statement.run(row);
  }

  seen(change: RecordChange & { kind: 'seen' }): void {
    const batch = this.#batchNumber(change.batchId);
    for (const id of change.ids) {
      const { changes } = this.#statements.seen.run(batch, this.#idOf(id));
      if (changes !== 1) throw new Error(`There is no record ${id} to be seen again.`);
    }
  }

  /** @returns how many records went, of `rowCount` that there were */
  sweep(change: RecordChange & { kind: 'sweep' }, rowCount: number): number {
    const keep = this.#batchNumber(change.batchId);
    const [records, batches] = [recordsTable(this.#id), batchTable(this.#id)];
    const outside = `SELECT row FROM ${batches} WHERE batch <> ?`;
    const gone = this.#outside(keep);
    if (gone === 0) return 0;
    this.#keepIds(`row IN (${outside})`, keep);
    if (gone === rowCount) {
      this.#removeAll();
      return gone;
    }
    for (let index = 0; index < this.#layout.trigramIndexes; index++) {
      this.#db.prepare(`DELETE FROM ${trigramTable(this.#id, index)} WHERE rowid IN (${outside})`).run(keep);
    }
    this.#db.prepare(`DELETE FROM ${docTable(this.#id)} WHERE row IN (${outside})`).run(keep);
    const deleteRows = () => this.#db.prepare(`DELETE FROM ${records} WHERE row IN (${outside})`).run(keep);
    // To take many entries out of each index takes twice as long as to make it anew (docs/decisions/0013).
    if (gone > rowCount * MANY) this.#withoutIndexes(records, deleteRows);
    else deleteRows();
    this.#db.prepare(`DELETE FROM ${batches} WHERE batch <> ?`).run(keep);
    return gone;
  }

  #outside(batch: number): number {
    const count = this.#db.prepare<[number], number>(`SELECT count(*) FROM ${batchTable(this.#id)} WHERE batch <> ?`);
    return count.pluck().get(batch) ?? 0;
  }

  /** Of the records to be deleted: a key that comes back gets its id back (docs/decisions/0022). */
  #keepIds(where: string, ...cells: readonly Cell[]): void {
    if (this.#layout.unique === undefined) return;
    const ids = `SELECT u, id FROM ${recordsTable(this.#id)} WHERE u IS NOT NULL AND ${where}`;
    this.#db.prepare<Cell[]>(`INSERT OR REPLACE INTO ${sweptTable(this.#id)} (u, id) ${ids}`).run(...cells);
  }

  #removeAll(): void {
    for (const statement of dropStatements(this.#id, this.#layout)) this.#db.exec(statement);
    for (const statement of tableStatements(this.#id, this.#layout)) this.#db.exec(statement);
  }

  /**
   * Sweeps at most `limit` records, of those behind the row `after`. Where all go, they go at once, once all of their ids
   * are kept: until then `after` is negative.
   * @returns how many went, and the row to go on behind; undefined where there are no more
   */
  sweepSome(
    batchId: string,
    {
      limit,
      after,
      rowCount,
    }: { readonly limit: number; readonly after?: number | undefined; readonly rowCount: number },
  ): { readonly gone: number; readonly next: number | undefined } {
    const keep = this.#batchNumber(batchId);
    const isAll = after === undefined ? this.#outside(keep) === rowCount : after < 0;
    const from = Math.abs(after ?? 0);
    const most = isAll ? limit * KEPT_PER_DELETED : limit;
    const rows = this.#statements.outside.all(from, keep, most);
    const last = rows.at(-1) ?? from;
    const outside = `SELECT row FROM ${batchTable(this.#id)} WHERE row > ? AND row <= ? AND batch <> ?`;
    this.#keepIds(`row IN (${outside})`, from, last, keep);
    if (isAll) {
      if (rows.length === most) return { gone: 0, next: -last };
      this.#removeAll();
      return { gone: rowCount, next: undefined };
    }
    for (const row of rows) this.#removeRow(row);
    return { gone: rows.length, next: rows.length < limit ? undefined : last };
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

function prepare(db: Database.Database, id: number, ownColumns: readonly string[]) {
  const [records, docs, batches] = [recordsTable(id), docTable(id), batchTable(id)];
  const columns = ['row', 'id', 'created_at', 'updated_at', ...ownColumns];
  return {
    insert: db.prepare<Cell[]>(`INSERT INTO ${records} (${columns}) VALUES (${columns.map(() => '?')})`),
    insertDoc: db.prepare<Cell[]>(`INSERT INTO ${docs} (row, width, doc) VALUES (?, ?, ?)`),
    updateDoc: db.prepare<Cell[]>(`UPDATE ${docs} SET width = ?, doc = ? WHERE row = ?`),
    insertBatch: db.prepare<Cell[]>(`INSERT INTO ${batches} (row, batch) VALUES (?, ?)`),
    select: db.prepare<Cell[], StoredRow>(
      `SELECT row, width, doc FROM ${records} JOIN ${docs} USING (row) WHERE id = ?`,
    ),
    outside: db
      .prepare<[number, number, number], number>(
        `SELECT row FROM ${batches} WHERE row > ? AND batch <> ? ORDER BY row LIMIT ?`,
      )
      .pluck(),
    remove: [records, docs, batches].map((table) => db.prepare<Cell[]>(`DELETE FROM ${table} WHERE row = ?`)),
    setBatch: db.prepare<Cell[]>(`UPDATE ${batches} SET batch = ? WHERE row = ?`),
    seen: db.prepare<Cell[]>(`UPDATE ${batches} SET batch = ? WHERE row = (SELECT row FROM ${records} WHERE id = ?)`),
  };
}
