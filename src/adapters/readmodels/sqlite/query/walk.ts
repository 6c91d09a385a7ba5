/** Walks along the index of a sort. */
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import { allOf, type Matches, type Members } from './search.js';
import type { Term } from './sortTerms.js';

/** A run of the sorted matches. The caller knows that there are `skip + wanted` of them. */
export type Run = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly costs: Costs;
  /** What a row of the table has to fulfil. */
  readonly conditions: readonly Condition[];
  readonly terms: readonly Term[];
  readonly skip: number;
  readonly wanted: number;
  /** `total` may be an estimate here. */
  readonly matches: Matches;
};

/**
 * The values of an expression over a run's rows, in the order of the first term's index (its ties by id);
 * undefined when that order has no index, or to collect the matches is cheaper.
 */
export function walk<Value>(run: Run, what: string, skip: number, wanted: number): readonly Value[] | undefined {
  const { connection, table, terms, conditions, costs, matches } = run;
  const [first] = terms;
  if (first === undefined || !first.indexed) return undefined;
  const direction = first.descending ? ' DESC' : '';
  const order = first.sql === 'id' ? `id${direction}` : `${first.sql}${direction}, id${direction}`;
  const from = `${recordsTable(table.id)} AS r INDEXED BY ${indexOf(table.id, first.sql)}`;
  if (conditions.length === 0) {
    return connection.column<Value>(`SELECT ${what} FROM ${from} ORDER BY ${order} LIMIT ? OFFSET ?`, [wanted, skip]);
  }

  const rows = ((skip + wanted) * table.rowCount) / Math.max(1, matches.total);
  const { setUp, unit, tests } = cheapestTest(run, first, rows);
  // The matches may all lie at the far end: then collecting them is still to come.
  const affordable = Math.max(costs.leastWalk, Math.ceil((matches.cost * costs.dared - setUp) / unit));
  if (rows > affordable) return undefined;
  const budget = Math.min(table.rowCount, affordable);
  const cells: Cell[] = [...tests.cells, budget, wanted, skip];
  const found = connection.column<Value>(
    `SELECT value FROM (SELECT ${what} AS value, ${tests.sql} AS hit FROM ${from} ORDER BY ${order} LIMIT ?)
     WHERE hit LIMIT ? OFFSET ?`,
    cells,
  );
  return found.length === wanted ? found : undefined;
}

type Test = { readonly setUp: number; readonly unit: number; readonly tests: ReturnType<typeof allOf> };

/** How to test `rows` rows of a walk: by what each row says, or by whether it is in the set of the matches. */
function cheapestTest({ conditions, costs, matches }: Run, first: Term, rows: number): Test {
  const covered = conditions.every(({ index, how }) => how === 'scan' && index === first.sql);
  const byRow = { setUp: 0, unit: covered ? costs.scanned : costs.fetched, tests: allOf(conditions) };
  const { members } = matches;
  if (members === undefined) return byRow;
  const bySet = {
    setUp: members.count * costs.gathered,
    unit: costs.probed,
    tests: setFirst(members),
  };
  // Matches are seldom spread evenly, and each row more costs less by the set: so it may look dearer.
  return bySet.setUp + rows * bySet.unit < 2 * rows * byRow.unit ? bySet : byRow;
}

/** SQLite would test the rest first, as it holds no subquery, and fetch every row for it. */
function setFirst({ condition, rest }: Members): ReturnType<typeof allOf> {
  if (rest.length === 0) return allOf([condition]);
  const tests = allOf(rest);
  return {
    sql: `CASE WHEN ${condition.sql} THEN ${tests.sql} ELSE 0 END`,
    cells: [...condition.cells, ...tests.cells],
  };
}
