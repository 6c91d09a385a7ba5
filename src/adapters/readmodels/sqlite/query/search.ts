/** What the ways to find matches share. */
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import type { Rows } from './scan.js';

/** A way to reach the matching rows of the table, which goes by the name `r` in it. */
export type Source = { readonly from: string; readonly where: string; readonly cells: readonly Cell[] };

export type Matches = {
  readonly total: number;
  readonly source: Source;
  /** Microseconds to go through `source` and sort. */
  readonly cost: number;
  /** The matches as a set of row numbers, where it is cheap to have. */
  readonly members?: Members;
  /** The matches one by one, where they are few. */
  readonly rows?: Rows;
};

/** `condition` and `rest` together say the same as the conditions that were searched for. */
export type Members = { readonly count: number; readonly condition: Condition; readonly rest: readonly Condition[] };

/** Conditions as one SQL text. */
export function allOf(conditions: readonly Condition[]): { readonly sql: string; readonly cells: readonly Cell[] } {
  return {
    sql: conditions.length === 0 ? '1' : conditions.map(({ sql }) => sql).join(' AND '),
    cells: conditions.flatMap(({ cells }) => cells),
  };
}

export type Search = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly conditions: readonly Condition[];
  readonly costs: Costs;
};

export const memberOf = (rows: string, cell: string): Condition => ({
  sql: `r.row IN (${rows})`,
  cells: [cell],
  how: 'scan',
});

export const countOf = (connection: ReadConnection, source: Source): number =>
  connection.number(`SELECT count(*) FROM ${source.from} WHERE ${source.where}`, source.cells);

/** By the index of one condition, or where it has none by the table. */
export const scanSource = (search: Search, scanned: Condition | undefined): Source =>
  scanned?.index === undefined ? tableSource(search) : indexSource(search, scanned);

/** Microseconds of a scan. */
export const scanCost = ({ table, costs }: Search, scanned: Condition | undefined): number =>
  table.rowCount * (scanned?.index === undefined ? costs.collected : costs.scanned);

export function indexSource({ table, conditions }: Pick<Search, 'table' | 'conditions'>, first: Condition): Source {
  const tests = allOf([first, ...conditions.filter((condition) => condition !== first)]);
  const index = indexOf(table.id, first.index ?? 'id');
  return { from: `${recordsTable(table.id)} AS r INDEXED BY ${index}`, where: tests.sql, cells: tests.cells };
}

/** Rows from a JSON array of their numbers. */
export const sourceOf = ({ id }: ReadTable, json: string): Source => ({
  from: `json_each(?) AS j CROSS JOIN ${recordsTable(id)} AS r ON r.row = j.value`,
  where: '1',
  cells: [json],
});

/** Matches that are known one by one. */
export function listed({ table, costs }: Search, rows: Rows): Matches {
  const { count, json } = rows;
  return {
    total: count,
    rows,
    source: sourceOf(table, json),
    cost: count * costs.collected,
    members: { count, condition: memberOf('SELECT value FROM json_each(?)', json), rest: [] },
  };
}

/** Matches that are only counted: a scan reaches them. */
export const counted = (search: Search, scanned: Condition | undefined, total: number): Matches => ({
  total,
  source: scanSource(search, scanned),
  cost: scanCost(search, scanned) + total * search.costs.collected,
});

function tableSource({ table, conditions }: Search): Source {
  const tests = allOf(conditions);
  return { from: `${recordsTable(table.id)} AS r NOT INDEXED`, where: tests.sql, cells: tests.cells };
}
