/** Parts of SQL that reach rows of a table and test them. */
import type { Cell, ReadTable } from '../read/readConnection.js';
import { type Condition, STILL_WANTED } from './conditions.js';
import type { RowSet } from './rowSet.js';

/** A way to the matching rows of the table, which has the name `r`. */
export type Source = { readonly from: string; readonly where: string; readonly cells: readonly Cell[] };

/** The table's rows as `r`. */
export const allRows = ({ shape }: ReadTable): string => `${shape.parts.records.rows} AS r`;

/** The same, by the index of a column. */
export const rowsBy = (table: ReadTable, column: string): string =>
  `${allRows(table)} ${table.shape.parts.indexedBy(column)}`;

export function indexSource(table: ReadTable, conditions: readonly Condition[], first: Condition): Source {
  const tests = scanTests([first, ...conditions.filter((condition) => condition !== first)]);
  return { from: rowsBy(table, first.index ?? 'id'), where: tests.sql, cells: tests.cells };
}

/** @param json row numbers */
export const listedSource = (table: ReadTable, json: string): Source => ({
  from: `json_each(?) AS j CROSS JOIN ${allRows(table)} ON r.row = j.value`,
  where: '1',
  cells: [json],
});

export const isIn = (row: string, { sql, cells }: Pick<RowSet, 'sql' | 'cells'>): Pick<Condition, 'sql' | 'cells'> => ({
  sql: `${row} IN (${sql})`,
  cells,
});

/** Tests that throw when the question is cancelled. */
export const guarded = (sql: string): string => `${STILL_WANTED} AND ${sql}`;

/** Tests of rows one by one. With few values a scan ends soon, and a guard would take a fifth of its time. */
export function scanTests(conditions: readonly Condition[]): ReturnType<typeof allOf> {
  const { sql, cells } = allOf(conditions);
  return { sql: cells.length > FEW_VALUES ? guarded(sql) : sql, cells };
}

const FEW_VALUES = 8;

/** Conditions as one SQL text. */
export function allOf(conditions: readonly Pick<Condition, 'sql' | 'cells'>[]): Pick<Condition, 'sql' | 'cells'> {
  return {
    sql: conditions.length === 0 ? '1' : conditions.map(({ sql }) => sql).join(' AND '),
    cells: conditions.flatMap(({ cells }) => cells),
  };
}
