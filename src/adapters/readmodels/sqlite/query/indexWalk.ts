/** Reads the page of a list along the index of its sort, testing each row until the page is full. */

import type { Rankings } from '../ranking/ranking.js';
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import type { Matches } from './matches.js';
import type { RowSet } from './rowSet.js';
import { allOf, isIn, rowsBy, scanTests } from './rowSources.js';
import { orderBy, type Term } from './sortTerms.js';

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
  /** Within the ranges `total` may be an estimate. `rows` are the matches of the filters, in the ranges that `within` says. */
  readonly matches: Matches & { readonly within?: readonly Range[] };
  readonly rankings?: Rankings | undefined;
};

/** A place in the order: a value of the record there, and its row. */
export type IndexPosition = readonly [value: Cell, row: number];

/**
 * A run's places in the order of the first term's index (its ties by id), each with that term's value; undefined when that
 * order has no index, or to collect the matches is cheaper.
 */
export function walkIndex(run: Run, skip: number, wanted: number): readonly IndexPosition[] | undefined {
  const { connection, table, terms, filters, ranges, costs, matches } = run;
  const [first] = terms;
  if (first === undefined || !first.indexed) return undefined;
  const order = indexOrder(first);
  const from = rowsBy(table, first.sql);
  // The index itself begins and ends where these say.
  const inIndex = allOf(filters.filter(({ how, index }) => how === 'look up' && index === first.sql));
  if (ranges.length === 0 && filters.every(({ how, index }) => how === 'look up' && index === first.sql)) {
    const inOrder = `SELECT ${first.sql}, row FROM ${from} WHERE ${inIndex.sql} ORDER BY ${order} LIMIT ? OFFSET ?`;
    return connection.tuples<IndexPosition>(inOrder).all(...inIndex.cells, wanted, skip);
  }

  const rows = ((skip + wanted) * table.rowCount) / Math.max(1, matches.total);
  const { setUp, unit, tests } = cheapestTest(run, first, rows);
  // The matches may all lie at the far end: then collecting them is still to come.
  // One of several filters looks into the sorted column: what it finds lies together, and more often far off.
  const isTogether = !isCovered(run, first) && filters.some(({ index }) => index === first.sql);
  const affordable = Math.ceil((matches.cost * costs.walkShare - setUp) / unit);
  const isExpected = (isTogether ? 2 * rows : rows) <= affordable;
  if (!isExpected) return undefined;
  const most = Math.min(table.rowCount, affordable);
  const found = connection
    .tuples<IndexPosition>(
      `SELECT value, row FROM (
         SELECT ${first.sql} AS value, r.row AS row, ${tests.sql} AS hit FROM ${from} WHERE ${inIndex.sql} ORDER BY ${order} LIMIT ?)
       WHERE hit LIMIT ? OFFSET ?`,
    )
    .all(...tests.cells, ...inIndex.cells, most, wanted, skip);
  return found.length === wanted ? found : undefined;
}

/** The order of a term's index: ties by id, in its direction. */
const indexOrder = (term: Term): string => orderBy(term.sql === 'id' ? [term] : [term, { ...term, sql: 'id' }]);

/** Rows are numbered as they are created, which their ids tell as well. */
const IN_ROW_ORDER = ['id', 'created_at'];

type Test = { readonly setUp: number; readonly unit: number; readonly tests: ReturnType<typeof allOf> };

/** Do the entries of the term's index tell all that is to be tested? */
const isCovered = ({ filters, ranges }: Run, first: Term): boolean =>
  ranges.length === 0 && filters.every(({ index, how }) => how === 'scan' && index === first.sql);

/** How to test `rows` rows of a walk: by what each row says, or by whether it is in the set of the matches. */
function cheapestTest(run: Run, first: Term, rows: number): Test {
  const { filters, ranges, costs, matches } = run;
  const isInEntries = isCovered(run, first);
  const fetched = IN_ROW_ORDER.includes(first.sql) ? costs.read : costs.fetched;
  const byRow = {
    setUp: 0,
    unit: isInEntries ? costs.scanned : fetched,
    tests: allOf([scanTests(filters), ...ranges]),
  };
  // Its own text is beside each entry of the index: a set would only cost more.
  if (matches.rows === undefined || isInEntries) return byRow;
  const bySet = {
    setUp: matches.rows.count * costs.gathered,
    unit: costs.probed,
    tests: setFirst(matches.rows, rangesBeyond(matches, ranges)),
  };
  // Matches are seldom spread evenly, and each row more costs less by the set: so it may look dearer.
  return bySet.setUp + rows * bySet.unit < 2 * rows * byRow.unit ? bySet : byRow;
}

/** The ranges that a set of the matches does not answer. */
export const rangesBeyond = ({ within = [] }: Run['matches'], ranges: readonly Range[]): readonly Range[] =>
  ranges.filter((range) => !within.includes(range));

/** SQLite would test the ranges first, as they hold no subquery, and fetch every row for it. */
export function setFirst(rows: RowSet, ranges: readonly Range[]): ReturnType<typeof allOf> {
  const { sql, cells } = isIn('r.row', rows);
  if (ranges.length === 0) return { sql, cells };
  const tests = allOf(ranges);
  return { sql: `CASE WHEN ${sql} THEN ${tests.sql} ELSE 0 END`, cells: [...cells, ...tests.cells] };
}
