/**
 * Where a table of records has its rows: in its own tables or, while it is small, in those that all small tables of the file
 * share (docs/decisions/0037). Queries that select from `rows` are the same for both.
 */
import { SMALL_CELLS } from './ddl.js';
import type { TableLayout } from './layout.js';
import { cellColumns } from './layout.js';
import { bareStatements, batchTable, docTable, indexOf, indexStatements, recordsTable } from './ownTables.js';

export type StoredTable = { readonly id: number; readonly layout: TableLayout };

export type StorageTable = {
  /** Name to write to; `of` begins each condition on its rows. */
  readonly table: string;
  readonly of: string;
  /** In a shared table: the id of the table that the rows belong to. */
  readonly owner?: number;
  /** Table or query to select from. Its columns have the names of an own table's. */
  readonly rows: string;
};

export type TableStorage = {
  readonly records: StorageTable;
  readonly docs: StorageTable;
  readonly batches: StorageTable;
  /** The columns of `docs.rows`; in a table of its own with the record's id and times, so that a page is read from one table. */
  readonly docColumns: readonly string[];
  /** The column in `records.table` for a column of `rows`. */
  column(name: string): string;
  /** To be put behind `records.rows`: SQLite then uses this column's index. */
  indexedBy(column: string): string;
};

const ownPart = (table: string): StorageTable => ({ table, of: '', rows: table });

const sharedPart = (owner: number, table: string, columns: readonly string[]): StorageTable => ({
  table,
  of: `owner = ${owner} AND`,
  owner,
  rows: `(SELECT ${columns} FROM ${table} WHERE owner = ${owner})`,
});

export function storageOf({ id, layout }: StoredTable): TableStorage {
  return layout.isSmall === true ? sharedParts(id, layout) : ownParts(id);
}

const DOC_COLUMNS = ['row', 'width', 'doc'];
/** The columns of a record that are not its fields. */
export const HEAD_COLUMNS = ['id', 'created_at', 'updated_at'];
const OWN_DOC_COLUMNS: readonly string[] = [...DOC_COLUMNS, ...HEAD_COLUMNS];

/** Whether they are beside each document, as in a large table. */
export const hasHeads = ({ docColumns }: TableStorage): boolean => docColumns === OWN_DOC_COLUMNS;

function ownParts(id: number): TableStorage {
  return {
    records: ownPart(recordsTable(id)),
    docs: ownPart(docTable(id)),
    batches: ownPart(batchTable(id)),
    docColumns: OWN_DOC_COLUMNS,
    column: (name) => name,
    indexedBy: (column) => `INDEXED BY ${indexOf(id, column)}`,
  };
}

/** The records that clean-ups deleted, of all tables. */
export const CLEANED_UP_RECORDS = 'cleaned_up_records';
const CLEANED_UP_COLUMNS = ['row', 'u', 'id', 'revision', 'batch', 'width', 'doc', 'at'];

export const cleanedUpStorage = (id: number): StorageTable => sharedPart(id, CLEANED_UP_RECORDS, CLEANED_UP_COLUMNS);

/** Columns of the shared table that every small table uses. */
const FIXED = ['row', ...HEAD_COLUMNS, 'u'];

const fieldColumns = (layout: TableLayout): readonly string[] => cellColumns(layout).filter((name) => name !== 'u');

function sharedParts(id: number, layout: TableLayout): TableStorage {
  const cells = new Map(fieldColumns(layout).map((name, index) => [name, `v${index}`]));
  const part = (table: string, columns: readonly string[]): StorageTable => sharedPart(id, table, columns);
  return {
    records: part('small_records', [...FIXED, ...[...cells].map(([name, cell]) => `${cell} AS ${name}`)]),
    docs: part('small_docs', DOC_COLUMNS),
    batches: part('small_batches', ['row', 'batch']),
    docColumns: DOC_COLUMNS,
    column: (name) => cells.get(name) ?? name,
    indexedBy: () => '',
  };
}

/** Inserts a row. Each of these columns has a bound value. */
export const insertStatement = (part: StorageTable, columns: readonly string[]): string =>
  `INSERT INTO ${part.table} (${owned(part, 'owner', columns)}) VALUES (${owned(
    part,
    part.owner,
    columns.map(() => '?'),
  )})`;

/**
 * Begins a statement that inserts selected rows.
 * @param expressions one for each column; the caller adds FROM
 */
export const insertSelected = (
  part: StorageTable,
  columns: readonly string[],
  expressions: readonly string[],
  verb: 'INSERT' | 'INSERT OR REPLACE' = 'INSERT',
): string =>
  `${verb} INTO ${part.table} (${owned(part, 'owner', columns)}) SELECT ${owned(part, part.owner, expressions)}`;

const owned = <First>(
  { owner }: StorageTable,
  first: First,
  columns: readonly string[],
): readonly (First | string)[] => (owner === undefined ? columns : [first, ...columns]);

/** Whether the shared table has enough columns for it. */
export const fitsSmall = (layout: TableLayout): boolean => fieldColumns(layout).length <= SMALL_CELLS;

/** The shared tables of records. */
export const SMALL_TABLES = ['small_records', 'small_docs', 'small_batches'];

/** Deletes a small table's rows. */
export const removeStatements = (id: number): readonly string[] =>
  SMALL_TABLES.map((table) => `DELETE FROM ${table} WHERE owner = ${id};`);

/** Moves a small table's rows to its own tables, and creates its indexes. @param layout as a large table */
export const growStatements = (id: number, layout: TableLayout): readonly string[] => [
  ...bareStatements(id, layout),
  ...copyStatements(sharedParts(id, layout), ownParts(id), layout),
  ...removeStatements(id),
  ...indexStatements(id, layout),
];

function copyStatements(from: TableStorage, to: TableStorage, layout: TableLayout): readonly string[] {
  const columns = ['row', ...HEAD_COLUMNS, ...cellColumns(layout)];
  return [
    `${insertSelected(to.records, columns.map(to.column), columns)} FROM ${from.records.rows} ORDER BY row`,
    `${insertSelected(
      to.docs,
      to.docColumns,
      to.docColumns.map((name) => `${HEAD_COLUMNS.includes(name) ? 'r' : 'd'}.${name}`),
    )} FROM ${from.docs.rows} AS d JOIN ${from.records.rows} AS r ON r.row = d.row ORDER BY d.row`,
    `${insertSelected(to.batches, ['row', 'batch'], ['row', 'batch'])} FROM ${from.batches.rows} ORDER BY row`,
  ];
}
