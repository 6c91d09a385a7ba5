/** The proof beyond single records: do all tables and indexes exist, are they sound, and do the counts agree? */
import type { Database } from '../../../openSqlite.js';
import type { Finding } from '../../shared/proof.js';
import { columnsOf, TIME_COLUMNS } from '../layout.js';
import { indexOf, trigramTable } from '../ownTables.js';
import { type StorageTable, type StoredTable, storageOf } from '../tableStorage.js';

/** Findings of one kind in one table. */
const MOST_NAMED = 100;

const trigramTables = ({ id, layout }: StoredTable): readonly string[] =>
  Array.from({ length: layout.trigramIndexes }, (_, index) => trigramTable(id, index));

const partsIn = (table: StoredTable): readonly StorageTable[] => {
  const { records, docs, batches } = storageOf(table);
  return [records, docs, batches];
};

const about = (place: string, kind: Finding['kind'], detail: string): Finding => ({
  place,
  record: null,
  kind,
  detail,
});

/** Missing tables, without which no record can be proven. */
export function missingTables(db: Database, table: StoredTable): readonly Finding[] {
  const trigrams = trigramTables(table).flatMap((name) => [name, `${name}_docsize`]);
  const wanted = [...partsIn(table).map((part) => part.table), ...trigrams];
  return missing(db, 'table', wanted).map((name) => about(name, 'missing', 'The table is missing.'));
}

function missing(db: Database, type: 'table' | 'index', names: readonly string[]): readonly string[] {
  const find = db.prepare<[string, string], number>('SELECT 1 FROM sqlite_master WHERE type = ? AND name = ?').pluck();
  return names.filter((name) => find.get(type, name) === undefined);
}

/** The quick part: counts the rows beside the records, and finds missing indexes. */
export function wholeCopy(db: Database, table: StoredTable): readonly Finding[] {
  const { records, docs, batches } = storageOf(table);
  const count = (name: string): number => db.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0;
  const counted = count(records.rows);
  const miscounted = [docs, batches].filter(({ rows }) => count(rows) !== counted).map((part) => part.table);
  const tooLarge = trigramTables(table).filter((name) => count(`${name}_docsize`) > counted);
  return [
    ...[...miscounted, ...tooLarge].map((name) => about(name, 'different', `It does not have an entry a record.`)),
    ...missingIndexes(db, table),
  ];
}

/** @param rowCount as the catalog has it */
export function wholeTable(db: Database, table: StoredTable, rowCount: number): readonly Finding[] {
  const { records, docs, batches } = storageOf(table);
  const own = partsIn(table).filter(({ owner }) => owner === undefined);
  const counted = db.prepare<[], number>(`SELECT count(*) FROM ${records.rows}`).pluck().get() ?? 0;
  return [
    ...(counted === rowCount
      ? []
      : [about('catalog', 'different', `It counts ${rowCount} records, and ${records.table} has ${counted}.`)]),
    ...missingIndexes(db, table),
    ...[docs, batches].flatMap((part) => strayRows(db, part.table, part.rows, 'row', records.rows)),
    ...trigramTables(table).flatMap((name) => strayRows(db, name, `${name}_docsize`, 'id', records.rows)),
    // The shared tables of small ones are proven once (`shared`).
    ...[...own.map((part) => part.table), ...trigramTables(table)].flatMap((name) => unsound(db, name)),
  ];
}

const missingIndexes = (db: Database, table: StoredTable): readonly Finding[] =>
  missing(db, 'index', indexNames(table)).map((name) => about(name, 'missing', 'The index is missing.'));

function indexNames({ id, layout }: StoredTable): readonly string[] {
  if (layout.isSmall === true) return [];
  const indexed = layout.fields.flatMap(columnsOf).filter((column) => column.indexed);
  const columns = ['id', ...TIME_COLUMNS, ...(layout.unique === undefined ? [] : ['u'])];
  return [...columns, ...indexed.map(({ name }) => name)].map((column) => indexOf(id, column));
}

/** Rows beside the records that belong to none. */
function strayRows(
  db: Database,
  place: string,
  table: string,
  column: 'row' | 'id',
  records: string,
): readonly Finding[] {
  const rows = db
    .prepare<[], number>(
      `SELECT s.${column} FROM ${table} AS s LEFT JOIN ${records} AS r ON r.row = s.${column}
       WHERE r.row IS NULL LIMIT ${MOST_NAMED}`,
    )
    .pluck()
    .all();
  return rows.map((row) => about(place, 'unexpected', `Its row ${row} is of no record.`));
}

/** SQLite's own check of a table and its indexes: entries that are missing, out of order or have other values. */
export function unsound(db: Database, table: string): readonly Finding[] {
  const found = db.prepare<[], string>(`PRAGMA integrity_check('${table}')`).pluck().all();
  return found.filter((text) => text !== 'ok').map((text) => about(table, 'different', text));
}
