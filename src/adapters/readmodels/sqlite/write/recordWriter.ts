/** Writes the rows of one table of records. */
import type { Fields } from '../../../../domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '../../../../domain/referenceTable/changes.js';
import { codeOf, type Database, type Statement } from '../../../openSqlite.js';
import { RecordText } from '../../shared/recordText.js';
import type { TableLayout } from '../layout.js';
import { type CellValue, cellColumns, cellsOf } from '../layout.js';
import { longRows, trigramColumn, trigramColumns, trigramPositions, trigramTable, trigramTexts } from '../ownTables.js';
import type { Cell } from '../read/readConnection.js';
import type { RecordEvents } from '../recordEvents.js';
import { idBytes, microseconds } from '../rowFormat.js';
import {
  HEAD_COLUMNS,
  hasHeads,
  insertStatement,
  type StoredTable,
  storageOf,
  type TableStorage,
} from '../tableStorage.js';
import { type CleanUp, RecordCleanUp } from './recordCleanUp.js';

type OfCells = Statement<Cell[]>;
type TrigramIndex = { readonly insert: OfCells; readonly remove: OfCells };
type WriterDeps = {
  readonly batchNumber: (batchId: string | null) => number;
  /** Called with each row before it is changed or deleted. */
  readonly rowChanged: (row: number) => void;
  readonly recordEvents: RecordEvents | undefined;
};
type StoredRow = { readonly row: number; readonly width: number; readonly doc: string };

/** SQLite cannot store the record as a change makes it: it is too large, or a constraint other than a unique key forbids it. */
export class RecordRefusedError extends Error {
  constructor(
    readonly id: string,
    options: ErrorOptions,
  ) {
    super(`The record ${id} cannot be stored.`, options);
  }
}

const OF_KEYS: readonly string[] = [
  'SQLITE_CONSTRAINT_UNIQUE',
  'SQLITE_CONSTRAINT_PRIMARYKEY',
  'SQLITE_CONSTRAINT_ROWID',
];

/** The driver refuses too large a text itself, by a RangeError. */
const isRefusal = (error: unknown): boolean =>
  error instanceof RangeError ||
  codeOf(error) === 'SQLITE_TOOBIG' ||
  (codeOf(error).startsWith('SQLITE_CONSTRAINT') && !OF_KEYS.includes(codeOf(error)));

/** @throws RecordRefusedError */
function storing<Result>(id: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    throw isRefusal(error) ? new RecordRefusedError(id, { cause: error }) : error;
  }
}

export class RecordWriter {
  readonly #db: Database;
  readonly #id: number;
  readonly #layout: TableLayout;
  readonly #text: RecordText;
  readonly #columns: readonly string[];
  readonly #parts: TableStorage;
  readonly #hasHeads: boolean;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #trigrams: readonly TrigramIndex[];
  readonly #trigramPositions: readonly (readonly number[])[];
  readonly #updates = new Map<string, OfCells>();
  readonly #by: WriterDeps;
  readonly #recordCleanUp: RecordCleanUp;

  constructor(db: Database, table: StoredTable, by: WriterDeps) {
    const { id, layout } = table;
    this.#db = db;
    this.#id = id;
    this.#layout = layout;
    this.#by = by;
    this.#text = new RecordText(layout);
    this.#columns = cellColumns(layout);
    this.#parts = storageOf(table);
    this.#hasHeads = hasHeads(this.#parts);
    this.#statements = prepare(db, this.#parts, this.#columns);
    this.#recordCleanUp = new RecordCleanUp(db, table, by.recordEvents, (row) => this.#removeRow(row));
    this.#trigramPositions = trigramPositions(layout);
    this.#trigrams = Array.from({ length: layout.trigramIndexes }, (_, index) => this.#trigramIndex(index));
  }

  #trigramIndex(index: number): TrigramIndex {
    const columns = trigramColumns(this.#layout.fields, index);
    const table = trigramTable(this.#id, index);
    return {
      insert: this.#db.prepare(
        `INSERT INTO ${table} (rowid, ${columns.map(trigramColumn)}) VALUES (?, ${columns.map(() => '?')})`,
      ),
      remove: this.#db.prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    };
  }

  /**
   * @returns about the bytes of the document
   * @throws Error when the id or the unique field's value is there already; RecordRefusedError
   */
  insert(row: number, change: RecordChange & { kind: 'insert' }): number {
    return storing(change.id, () => this.#insert(row, change));
  }

  #insert(row: number, change: RecordChange & { kind: 'insert' }): number {
    const at = microseconds(change.at);
    const head = [this.#idOf(change.id), at, at];
    const cells = cellsOf(this.#layout, change.fields);
    this.#statements.insert.run(row, ...head, ...cells);
    const doc = this.#text.write(change.fields);
    this.#statements.insertDoc.run(row, this.#text.width, doc, ...(this.#hasHeads ? head : []));
    this.#statements.insertBatch.run(row, this.#by.batchNumber(change.batchId));
    this.#index(row, this.#trigramTexts(cells));
    return doc.length;
  }

  /** For each trigram index. */
  #trigramTexts(cells: readonly CellValue[]): readonly (readonly CellValue[])[] {
    return trigramTexts(this.#trigramPositions, cells);
  }

  #idOf(id: string): Buffer {
    const bytes = idBytes(id);
    if (bytes === undefined) throw new Error(`${id} is no UUID.`);
    return bytes;
  }

  /** @param before of the row as it is indexed; its indexes with the same texts stay */
  #index(row: number, texts: readonly (readonly CellValue[])[], before?: readonly (readonly CellValue[])[]): void {
    for (const [index, { insert, remove }] of this.#trigrams.entries()) {
      const [own = [], ownBefore] = [texts[index], before?.[index]];
      if (ownBefore !== undefined) {
        if (own.every((text, column) => text === ownBefore[column])) continue;
        remove.run(row);
      }
      if (own.some((text) => text !== null)) insert.run(row, ...own);
    }
  }

  /** Puts the rows into the trigram indexes that their statements have left out (`longRows`). */
  indexLongRows(): void {
    if (this.#trigrams.length === 0) return;
    const rows = this.#db.prepare<[], number>(longRows(this.#id, this.#layout)).pluck().all();
    const cells = this.#db
      .prepare<[number], CellValue[]>(`SELECT ${this.#columns} FROM ${this.#parts.records.rows} WHERE row = ?`)
      .raw();
    for (const row of rows) this.#index(row, this.#trigramTexts(cells.get(row) ?? []));
  }

  /** @returns about the bytes of the document @throws Error when there is no such record; RecordRefusedError */
  patch(change: RecordChange & { kind: 'patch' }): number {
    return storing(change.id, () => this.#patch(change));
  }

  #patch(change: RecordChange & { kind: 'patch' }): number {
    const stored = this.#statements.select.get(this.#idOf(change.id));
    if (stored === undefined) throw new Error(`There is no record ${change.id} to patch.`);
    const before: Fields = this.#text.fields(stored.width, stored.doc);
    const after: Fields = { ...before, ...change.set };
    const cells = cellsOf(this.#layout, after);
    const cellsBefore = cellsOf(this.#layout, before);
    const changed = cells.flatMap((cell, index) => (cell === cellsBefore[index] ? [] : [index]));

    this.#by.rowChanged(stored.row);
    const at = microseconds(change.at);
    this.#update(changed).run(...changed.map((index) => cells[index] ?? null), at, stored.row);
    const doc = this.#text.write(after);
    this.#statements.updateDoc.run(this.#text.width, doc, ...(this.#hasHeads ? [at] : []), stored.row);
    if (change.batchId !== undefined) this.#statements.setBatch.run(this.#by.batchNumber(change.batchId), stored.row);
    this.#index(stored.row, this.#trigramTexts(cells), this.#trigramTexts(cellsBefore));
    return doc.length;
  }

  /** Sets only the columns that change: SQLite rewrites the index entries of every column that is set. */
  #update(changed: readonly number[]): OfCells {
    const key = changed.join();
    let statement = this.#updates.get(key);
    if (statement === undefined) {
      const { records, column } = this.#parts;
      const columns = [...changed.map((index) => column(this.#columns[index] ?? '')), 'updated_at'];
      statement = this.#db.prepare(
        `UPDATE ${records.table} SET ${columns.map((name) => `${name} = ?`)} WHERE ${records.of} row = ?`,
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
    this.#by.rowChanged(row);
    for (const { remove } of this.#trigrams) remove.run(row);
    for (const statement of this.#statements.remove) statement.run(row);
  }

  seen(change: RecordChange & { kind: 'seen' }): void {
    const batch = this.#by.batchNumber(change.batchId);
    for (const id of change.ids) {
      const { changes } = this.#statements.seen.run(batch, this.#idOf(id));
      if (changes !== 1) throw new Error(`There is no record ${id} to be seen again.`);
    }
  }

  /** @returns how many records went, of `rowCount` that there were */
  deleteOutside({ batchId }: RecordChange & { kind: 'cleanUp' }, cleanUp: CleanUp, rowCount: number): number {
    return this.#recordCleanUp.deleteOutside(this.#by.batchNumber(batchId), cleanUp, rowCount);
  }

  /** See `RecordCleanUp`. */
  cleanUpSome(
    batchId: string,
    cleanUp: CleanUp,
    piece: Parameters<RecordCleanUp['cleanUpSome']>[2],
  ): ReturnType<RecordCleanUp['cleanUpSome']> {
    return this.#recordCleanUp.cleanUpSome(this.#by.batchNumber(batchId), cleanUp, piece);
  }
}

function prepare(db: Database, parts: TableStorage, ownColumns: readonly string[]) {
  const { records, docs, docColumns, batches, column } = parts;
  const columns = ['row', ...HEAD_COLUMNS, ...ownColumns.map(column)];
  const updated = ['width', 'doc', 'updated_at'].filter((name) => docColumns.includes(name));
  return {
    insert: db.prepare<Cell[]>(insertStatement(records, columns)),
    insertDoc: db.prepare<Cell[]>(insertStatement(docs, docColumns)),
    updateDoc: db.prepare<Cell[]>(
      `UPDATE ${docs.table} SET ${updated.map((name) => `${name} = ?`)} WHERE ${docs.of} row = ?`,
    ),
    insertBatch: db.prepare<Cell[]>(insertStatement(batches, ['row', 'batch'])),
    select: db.prepare<Cell[], StoredRow>(
      `SELECT d.row, d.width, d.doc FROM ${records.rows} AS r JOIN ${docs.rows} AS d ON d.row = r.row WHERE r.id = ?`,
    ),
    remove: [records, docs, batches].map(({ table, of }) =>
      db.prepare<Cell[]>(`DELETE FROM ${table} WHERE ${of} row = ?`),
    ),
    setBatch: db.prepare<Cell[]>(`UPDATE ${batches.table} SET batch = ? WHERE ${batches.of} row = ?`),
    seen: db.prepare<Cell[]>(
      `UPDATE ${batches.table} SET batch = ? WHERE ${batches.of} row = (SELECT row FROM ${records.rows} WHERE id = ?)`,
    ),
  };
}
