/** The own tables and indexes of a large table of records: their names, and statements that create and drop them. */
import { MAX_INDEXED_CHARACTERS } from '../../../domain/limits.js';
import { IndexedTexts, LEFT_OUT } from '../shared/fieldRules.js';
import { type CellValue, cellColumns, columnsOf, type FieldLayout, type TableLayout, TIME_COLUMNS } from './layout.js';

export const recordsTable = (id: number): string => `r${id}`;
export const docTable = (id: number): string => `d${id}`;
export const batchTable = (id: number): string => `b${id}`;
export const trigramTable = (id: number, index: number): string => `r${id}_t${index}`;
export const indexOf = (id: number, column: string): string => `r${id}_${column}`;

/** The trigram index's column for a column of the records. Its name differs, as the two are joined. */
export const trigramColumn = (column: string): string => `t${column}`;

/** The columns of the records that one trigram index covers. */
export const trigramColumns = (fields: readonly FieldLayout[], index: number): readonly string[] =>
  fields.flatMap((field) => (field.trigrams === index && field.match !== undefined ? [field.match] : []));

/** Where the columns of each trigram index are among a record's cells. */
export function trigramPositions(layout: TableLayout): readonly (readonly number[])[] {
  const columns = cellColumns(layout);
  return Array.from({ length: layout.trigramIndexes }, (_, index) =>
    trigramColumns(layout.fields, index).map((name) => columns.indexOf(name)),
  );
}

/** The texts of a record as each trigram index has them. @param positions of `trigramPositions` */
export function trigramTexts(
  positions: readonly (readonly number[])[],
  cells: readonly CellValue[],
): readonly (readonly CellValue[])[] {
  const indexed = new IndexedTexts();
  const shown = (text: CellValue): CellValue => (typeof text !== 'string' || indexed.has(text) ? text : LEFT_OUT);
  return positions.map((own) => own.map((position) => shown(cells[position] ?? null)));
}

/** The bytes of a record's texts for the trigram indexes: at least as many as its characters. */
function trigramBytes({ fields }: TableLayout): string {
  const columns = fields.flatMap(({ trigrams, match }) =>
    trigrams !== undefined && match !== undefined ? [match] : [],
  );
  return columns.length === 0 ? '0' : columns.map((column) => `ifnull(octet_length(${column}), 0)`).join(' + ');
}

/** Selects the rows whose texts may not all fit into the trigram indexes. `indexStatements` leaves them out. */
export const longRows = (id: number, layout: TableLayout): string =>
  `SELECT row FROM ${recordsTable(id)} WHERE ${trigramBytes(layout)} > ${MAX_INDEXED_CHARACTERS}`;

const HEADS = 'id BLOB NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,';

/** Creates a table's own tables and indexes. */
export const tableStatements = (id: number, layout: TableLayout): readonly string[] => [
  ...bareStatements(id, layout),
  ...timeIndexes(id),
  ...fieldStatements(id, layout),
];

/** Creates them without those of `indexStatements`. */
export function bareStatements(id: number, layout: TableLayout): readonly string[] {
  const table = recordsTable(id);
  const columns = [
    'updated_at INTEGER NOT NULL',
    ...(layout.unique === undefined ? [] : ['u TEXT']),
    ...layout.fields.flatMap(columnsOf).map(({ name, affinity }) => `${name} ${affinity}`),
  ];
  return [
    `CREATE TABLE ${table} (
       row INTEGER PRIMARY KEY,
       id BLOB NOT NULL,
       created_at INTEGER NOT NULL,
       ${columns.join(', ')}
     )`,
    // `doc`: the record's own fields as JSON text without braces; `width`: how many fields of the layout it covers.
    `CREATE TABLE ${docTable(id)} (row INTEGER PRIMARY KEY, ${HEADS} width INTEGER NOT NULL, doc TEXT NOT NULL)`,
    `CREATE TABLE ${batchTable(id)} (row INTEGER PRIMARY KEY, batch INTEGER NOT NULL)`,
    `CREATE UNIQUE INDEX ${indexOf(id, 'id')} ON ${table} (id)`,
    ...(layout.unique === undefined ? [] : [`CREATE UNIQUE INDEX ${indexOf(id, 'u')} ON ${table} (u)`]),
  ];
}

const timeIndexes = (id: number): readonly string[] =>
  TIME_COLUMNS.map((name) => `CREATE INDEX ${indexOf(id, name)} ON ${recordsTable(id)} (${name}, id)`);

/** Creates the other indexes, and fills them from the records but for those of `longRows`. */
export function indexStatements(id: number, layout: TableLayout): readonly string[] {
  const filled = Array.from({ length: layout.trigramIndexes }, (_, index) => {
    const columns = trigramColumns(layout.fields, index);
    if (columns.length === 0) return '';
    return `INSERT INTO ${trigramTable(id, index)} (rowid, ${columns.map(trigramColumn)})
      SELECT row, ${columns} FROM ${recordsTable(id)}
      WHERE coalesce(${columns}, NULL) IS NOT NULL AND ${trigramBytes(layout)} <= ${MAX_INDEXED_CHARACTERS} ORDER BY row`;
  });
  return [...timeIndexes(id), ...fieldStatements(id, layout), ...filled];
}

/** Adds fields to a table that exists. */
export function addedFieldStatements(id: number, before: TableLayout, after: TableLayout): readonly string[] {
  const added = after.fields.slice(before.fields.length);
  return [
    ...added
      .flatMap(columnsOf)
      .map(({ name, affinity }) => `ALTER TABLE ${recordsTable(id)} ADD COLUMN ${name} ${affinity}`),
    ...fieldStatements(id, { ...after, fields: added }),
  ];
}

function fieldStatements(id: number, { fields, trigramIndexes }: TableLayout): readonly string[] {
  const indexes = fields
    .flatMap(columnsOf)
    .filter((column) => column.indexed)
    .map(({ name }) => `CREATE INDEX ${indexOf(id, name)} ON ${recordsTable(id)} (${name}, id)`);
  const trigrams: string[] = [];
  for (let index = 0; index < trigramIndexes; index++) {
    const columns = trigramColumns(fields, index);
    if (columns.length === 0) continue;
    const table = trigramTable(id, index);
    // Without content, which the row has. The text is folded, so a quoted phrase finds exactly the texts that contain it.
    trigrams.push(
      `CREATE VIRTUAL TABLE ${table} USING fts5 (
         ${columns.map(trigramColumn).join(', ')}, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1')`,
      // Percent of a segment. With the default of ten, merges would take a third of the time of a clean-up.
      `INSERT INTO ${table} (${table}, rank) VALUES ('deletemerge', 50)`,
    );
  }
  return [...indexes, ...trigrams];
}

export type OwnObject = { readonly kind: 'TABLE' | 'INDEX'; readonly name: string };

const table = (name: string): OwnObject => ({ kind: 'TABLE', name });

/** A table's own tables and indexes, in the order in which they are dropped. */
export function ownObjects(id: number, layout: TableLayout): readonly OwnObject[] {
  const columns = ['created_at', 'updated_at', 'id', ...(layout.unique === undefined ? [] : ['u'])];
  const indexed = layout.fields.flatMap(columnsOf).filter((column) => column.indexed);
  return [
    ...Array.from({ length: layout.trigramIndexes }, (_, index) => table(trigramTable(id, index))),
    ...[...columns, ...indexed.map(({ name }) => name)].map(
      (name): OwnObject => ({ kind: 'INDEX', name: indexOf(id, name) }),
    ),
    ...[batchTable(id), docTable(id), recordsTable(id)].map(table),
  ];
}

/** Drops a table's own tables and indexes, one in each statement. */
export const dropStatements = (id: number, layout: TableLayout): readonly string[] =>
  ownObjects(id, layout).map(dropStatement);

export const dropStatement = ({ kind, name }: OwnObject): string => `DROP ${kind} IF EXISTS ${name}`;
