/** Finds the rows of one page, in order, by the cheapest way. */
import type { Cell } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import { IN_SET, type Range, type Run, walkIndex } from './indexWalk.js';
import { allOf, guarded, scanTests } from './matches.js';
import { cellsOf, isOneIndex, orderBy, type Term } from './sortTerms.js';

/**
 * Either walks along the index of the sort, testing rows until the page is full (cheap where matches are dense), or
 * collects all matches and sorts them (cheap where they are few).
 */
export function rowsOf(run: Run): readonly number[] {
  if (run.wanted <= 0) return [];
  if (isOneIndex(run.terms)) return walkIndex<number>(run, 'row', run.skip, run.wanted) ?? collect(run);
  return splitByFirstTerm(run)?.flatMap(rowsOf) ?? collect(run);
}

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
 * further. Splits the run into up to three, whose rows one after another are those of the run: the rest of the ties it
 * begins in, the ties that it holds whole, and the beginning of the ties it ends in. The first and the last are sorted by
 * one term less. Undefined when to collect all matches is cheaper.
 */
function splitByFirstTerm(run: Run): readonly Run[] | undefined {
  const { terms, skip, wanted } = run;
  const [first] = terms;
  if (first === undefined) return undefined;

  // The first term's value on each place of the run, and how many matches come before the first of these ties.
  const isFiltered = run.filters.length + run.ranges.length > 0;
  const walked = walkIndex<Cell>(run, first.sql, isFiltered ? 0 : skip, isFiltered ? skip + wanted : wanted);
  if (walked === undefined) return undefined;
  const values = isFiltered ? walked.slice(skip) : walked;
  const from = values[0] ?? null;
  const to = values.at(-1) ?? null;
  const before = isFiltered ? walked.indexOf(from) : countBefore(run, first, from);

  const ofFirst = values.lastIndexOf(from) + 1;
  const head = tiesOf(run, first, from, skip - before, ofFirst);
  if (from === to) return [head];
  const ofLast = wanted - values.indexOf(to);
  const middle = within(run, first, between(first, from, to), wanted - ofFirst - ofLast);
  return [head, middle, tiesOf(run, first, to, 0, ofLast)];
}

/** The run among the rows that have `value` in the first term. */
function tiesOf(run: Run, first: Term, value: Cell, skip: number, wanted: number): Run {
  const { table, terms, matches } = run;
  const range: Range =
    value === null ? { sql: `${first.sql} IS NULL`, cells: [] } : { sql: `${first.sql} = ?`, cells: [value] };
  const ties = countInIndex(run, first, range);
  const rest = { ...run, terms: terms.slice(1), skip, wanted };
  // Where all rows are ties, the term decides nothing.
  if (ties === table.rowCount) return rest;
  const share = matches.total / Math.max(1, table.rowCount);
  return narrowed(rest, first, range, { rows: ties, total: ties * share });
}

/** The run that holds all matches of a range of the first term. */
function within(run: Run, first: Term, range: Range, total: number): Run {
  const rows = (total * run.table.rowCount) / Math.max(1, run.matches.total);
  return narrowed({ ...run, skip: 0, wanted: total }, first, range, { rows, total });
}

/** `rows`: how many rows the range has; `total`: how many of them match. */
function narrowed(run: Run, first: Term, range: Range, { rows, total }: { rows: number; total: number }): Run {
  const { table, costs, matches, filters } = run;
  const ranges = [...run.ranges, range];
  const found = matches.rows;
  const bySet = found !== undefined && found.count * costs.gathered < rows * costs.fetched;
  const tests = allOf([bySet ? { sql: IN_SET, cells: [found.json] } : scanTests(filters), ...ranges]);
  const source = {
    from: `${recordsTable(table.id)} AS r INDEXED BY ${indexOf(table.id, first.sql)}`,
    where: tests.sql,
    cells: tests.cells,
  };
  const cost = bySet ? found.count * costs.gathered + total * costs.fetched : rows * costs.fetched;
  return { ...run, ranges, matches: { ...matches, total, source, cost } };
}

/** How many rows come before the first that has `value`, in the direction of the term. */
function countBefore(run: Run, term: Term, value: Cell): number {
  const { sql, descending } = term;
  const count = (where: string, cells: readonly Cell[]): number => countInIndex(run, term, { sql: where, cells });
  if (value === null) return descending ? count(`${sql} IS NOT NULL`, []) : 0;
  return descending ? count(`${sql} > ?`, [value]) : count(`${sql} IS NULL`, []) + count(`${sql} < ?`, [value]);
}

const countInIndex = ({ connection, table }: Run, term: Term, { sql, cells }: Range): number =>
  connection.number(
    `SELECT count(*) FROM ${recordsTable(table.id)} INDEXED BY ${indexOf(table.id, term.sql)} WHERE ${sql}`,
    cells,
  );

/** What lies between two values, neither included, in the direction of the term. */
function between({ sql, descending }: Term, from: Cell, to: Cell): Range {
  const [low, high] = descending ? [to, from] : [from, to];
  if (low === null) return { sql: `${sql} < ?`, cells: [high] };
  return { sql: `(${sql} > ? AND ${sql} < ?)`, cells: [low, high] };
}
