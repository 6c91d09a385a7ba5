/** Finds the rows of one page, in order, by the cheapest way. */

import { byRanking, rankingFor } from '../ranking/byRanking.js';
import type { Cell } from '../read/readConnection.js';
import { type IndexPosition, type Range, type Run, rangesBeyond, setFirst, walkIndex } from './indexWalk.js';
import { RowSet } from './rowSet.js';
import { allOf, guarded, listedSource, rowsBy, scanTests } from './rowSources.js';
import { cellsOf, isOneIndex, orderBy, reversed, type Term } from './sortTerms.js';

/**
 * Either walks along the index of the sort, testing rows until the page is full (cheap where matches are dense), or
 * collects all matches and sorts them (cheap where they are few), or asks a ranking of a large table, which has its price
 * wherever the matches are.
 */
export function rowsOf(run: Run): readonly number[] {
  if (run.wanted <= 0) return [];
  return isOneIndex(run.terms) ? byOneIndex(run) : (byFirstTerm(run) ?? collect(run));
}

function byOneIndex(run: Run): readonly number[] {
  const { connection, table, filters, rankings, costs } = run;
  const use = rankings && rankingFor(run);
  if (rankings === undefined || use === undefined) return byIndex(run);
  const ranking = rankings.get(connection, table, use.name);
  const found = ranking === undefined ? undefined : (shortWalk(run, use.cost) ?? byRanking(run, ranking));
  if (found !== undefined) return found;
  const startedAt = performance.now();
  const rows = byIndex(run);
  if (filters.length === 0 || performance.now() - startedAt > costs.slowMs) rankings.want(use.name);
  return rows;
}

const byIndex = (run: Run): readonly number[] => walkIndex(run, run.skip, run.wanted)?.map(rowAt) ?? collect(run);

/** Undefined where it might cost more than this. */
function shortWalk(run: Run, cost: number): readonly number[] | undefined {
  if (run.filters.length === 0) return undefined;
  return walkIndex({ ...run, matches: { ...run.matches, cost } }, run.skip, run.wanted)?.map(rowAt);
}

const rowAt = ([, row]: IndexPosition): number => row;

function collect({ connection, terms, skip, wanted, matches }: Run): readonly number[] {
  const { from, where, cells } = matches.source;
  return connection.column<number>(
    `SELECT r.row AS row FROM ${from} WHERE ${guarded(where)} ORDER BY ${orderBy(terms.map(qualified))} LIMIT ? OFFSET ?`,
    [...cells, ...cellsOf(terms), wanted, skip],
  );
}

const qualified = (term: Term): Term => (term.cells.length === 0 ? { ...term, sql: `r.${term.sql}` } : term);

/**
 * A page of a sort of several terms: the first term's index finds the ties of that term, and only those are sorted
 * further. The rows of the ties that the page holds whole are known then; those of the ties that it begins in and ends in are
 * found by one term less. Undefined when to collect all matches is cheaper.
 */
function byFirstTerm(run: Run): readonly number[] | undefined {
  const { terms, skip, wanted } = run;
  const [first] = terms;
  if (first === undefined) return undefined;

  const isFiltered = run.filters.length + run.ranges.length > 0;
  const start = isFiltered ? 0 : skip;
  const places = walkIndex(run, start, skip + wanted - start);
  const begin = places?.[skip - start];
  if (places === undefined || begin === undefined) return undefined;
  const values = places.map(([value]) => value);
  const from = begin[0];
  const to = values.at(-1) ?? null;
  // In the run's order: where the ties of the page's first record begin, and where those of its last.
  const before = isFiltered ? values.indexOf(from) : skip - tiesBefore(run, first, begin);
  if (from === to) return tiesOf(run, first, to, skip - before, wanted);

  const lastTies = start + values.indexOf(to);
  const alignedStart = before >= start ? before : start + values.lastIndexOf(from) + 1;
  const head = before >= start ? [] : tiesOf(run, first, from, skip - before, alignedStart - skip);
  const middle = sorted(run, places.slice(alignedStart - start, lastTies - start).map(rowAt));
  const tail = tiesOf(run, first, to, 0, skip + wanted - lastTies);
  return [...head, ...middle.slice(Math.max(0, skip - alignedStart)), ...tail];
}

/** How many ties come before this place. */
const tiesBefore = (run: Run, first: Term, [value, row]: IndexPosition): number => {
  const { sql, cells } = ofValue(first, value);
  const test = `${sql} AND id ${first.descending ? '>' : '<'} (SELECT id FROM ${run.table.shape.parts.records.rows} WHERE row = ?)`;
  return countInIndex(run, first, { sql: test, cells: [...cells, row] });
};

const sorted = (run: Run, rows: readonly number[]): readonly number[] =>
  rows.length === 0
    ? []
    : collect({
        ...run,
        skip: 0,
        wanted: rows.length,
        matches: { ...run.matches, source: listedSource(run.table, JSON.stringify(rows)) },
      });

const ofValue = ({ sql }: Term, value: Cell): Range =>
  value === null ? { sql: `${sql} IS NULL`, cells: [] } : { sql: `${sql} = ?`, cells: [value] };

/** Of a run, those rows among the ones that have `value` in the first term. */
function tiesOf(run: Run, first: Term, value: Cell, skip: number, wanted: number): readonly number[] {
  const { table, terms } = run;
  const range = ofValue(first, value);
  const ties = countInIndex(run, first, range);
  // The far half is reached sooner from its end; how many matches there are among ties is known where every row is one.
  const fromEnd = run.filters.length + run.ranges.length === 0 && skip > ties / 2;
  const others = terms.slice(1);
  const rest = fromEnd
    ? { ...run, terms: reversed(others), skip: ties - skip - wanted, wanted }
    : { ...run, terms: others, skip, wanted };
  // Where all rows are ties, the term decides nothing.
  const rows = rowsOf(ties === table.rowCount ? rest : narrowed(rest, first, range, ties));
  return fromEnd ? rows.toReversed() : rows;
}

/** @param rows how many rows the range has */
function narrowed(run: Run, first: Term, range: Range, rows: number): Run {
  const { table, costs, filters } = run;
  const from = rowsBy(table, first.sql);
  // Where nothing else is to be fulfilled, the range itself is a set of rows.
  const isSet = filters.length + run.ranges.length === 0;
  const inRange = new RowSet({
    count: rows,
    sql: `SELECT r.row FROM ${from} WHERE ${range.sql}`,
    cells: range.cells,
  });
  const matches = isSet ? { ...run.matches, rows: inRange, within: [range] } : run.matches;
  const ranges = [...run.ranges, range];
  const total = (rows * matches.total) / Math.max(1, table.rowCount);
  const found = isSet ? undefined : matches.rows;
  const bySet = found !== undefined && found.count * costs.gathered < rows * costs.fetched;
  const tests = allOf([
    range,
    bySet ? setFirst(found, rangesBeyond(matches, run.ranges)) : allOf([scanTests(filters), ...run.ranges]),
  ]);
  const cost = bySet ? found.count * costs.gathered + total * costs.fetched : rows * costs.fetched;
  return {
    ...run,
    ranges,
    matches: { ...matches, total, cost, source: { from, where: tests.sql, cells: tests.cells } },
  };
}

const countInIndex = ({ connection, table }: Run, term: Term, { sql, cells }: Range): number =>
  connection.number(`SELECT count(*) FROM ${rowsBy(table, term.sql)} WHERE ${sql}`, cells);
