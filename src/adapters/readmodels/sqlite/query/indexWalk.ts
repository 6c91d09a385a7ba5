/** Reads the page of a list along the index of its sort, testing each row until the page is full. */
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import { allOf, type Matches, scanTests } from './matches.js';
import type { Term } from './sortTerms.js';

/** Values that one sort term is limited to. */
export type Range = Pick<Condition, 'sql' | 'cells'>;

/** A run of the sorted matches. The caller knows that there are `skip + wanted` of them. */
export type Run = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly costs: Costs;
  /** What a record has to fulfil: the filters, and the ranges of sort terms that are decided already. */
  readonly filters: readonly Condition[];
  readonly ranges: readonly Range[];
  readonly terms: readonly Term[];
  readonly skip: number;
  readonly wanted: number;
  /** Within the ranges `total` may be an estimate. `rows` are the matches of the filters. */
  readonly matches: Matches;
};

/**
 * The values of an expression over a run's rows, in the order of the first term's index (its ties by id);
 * undefined when that order has no index, or to collect the matches is cheaper.
 */
export function walkIndex<Value>(run: Run, what: string, skip: number, wanted: number): readonly Value[] | undefined {
  const { connection, table, terms, filters, ranges, costs, matches } = run;
  const [first] = terms;
  if (first === undefined || !first.indexed) return undefined;
  const direction = first.descending ? ' DESC' : '';
  const order = first.sql === 'id' ? `id${direction}` : `${first.sql}${direction}, id${direction}`;
  const from = `${recordsTable(table.id)} AS r INDEXED BY ${indexOf(table.id, first.sql)}`;
  // The index itself begins and ends where these say.
  const inIndex = allOf(filters.filter(({ how, index }) => how === 'look up' && index === first.sql));
  if (ranges.length === 0 && filters.every(({ how, index }) => how === 'look up' && index === first.sql)) {
    const inOrder = `SELECT ${what} FROM ${from} WHERE ${inIndex.sql} ORDER BY ${order} LIMIT ? OFFSET ?`;
    return connection.column<Value>(inOrder, [...inIndex.cells, wanted, skip]);
  }

  const rows = ((skip + wanted) * table.rowCount) / Math.max(1, matches.total);
  const { setUp, unit, tests } = cheapestTest(run, first, rows);
  // The matches may all lie at the far end: then collecting them is still to come.
  const affordable = Math.ceil((matches.cost * costs.walkShare - setUp) / unit);
  if (rows > affordable) return undefined;
  const most = Math.min(table.rowCount, affordable);
  const cells: Cell[] = [...tests.cells, ...inIndex.cells, most, wanted, skip];
  const found = connection.column<Value>(
    `SELECT value FROM (SELECT ${what} AS value, ${tests.sql} AS hit FROM ${from} WHERE ${inIndex.sql} ORDER BY ${order} LIMIT ?)
     WHERE hit LIMIT ? OFFSET ?`,
    cells,
  );
  return found.length === wanted ? found : undefined;
}

type Test = { readonly setUp: number; readonly unit: number; readonly tests: ReturnType<typeof allOf> };

/** How to test `rows` rows of a walk: by what each row says, or by whether it is in the set of the matches. */
function cheapestTest({ filters, ranges, costs, matches }: Run, first: Term, rows: number): Test {
  const isCovered = ranges.length === 0 && filters.every(({ index, how }) => how === 'scan' && index === first.sql);
  const byRow = {
    setUp: 0,
    unit: isCovered ? costs.scanned : costs.fetched,
    tests: allOf([scanTests(filters), ...ranges]),
  };
  if (matches.rows === undefined) return byRow;
  const bySet = {
    setUp: matches.rows.count * costs.gathered,
    unit: costs.probed,
    tests: setFirst(matches.rows.json, ranges),
  };
  // Matches are seldom spread evenly, and each row more costs less by the set: so it may look dearer.
  return bySet.setUp + rows * bySet.unit < 2 * rows * byRow.unit ? bySet : byRow;
}

export const IN_SET = 'r.row IN (SELECT value FROM json_each(?))';

/** SQLite would test the ranges first, as they hold no subquery, and fetch every row for it. */
function setFirst(json: string, ranges: readonly Range[]): ReturnType<typeof allOf> {
  const tests = allOf(ranges);
  const sql = ranges.length === 0 ? IN_SET : `CASE WHEN ${IN_SET} THEN ${tests.sql} ELSE 0 END`;
  return { sql, cells: [json, ...tests.cells] };
}
