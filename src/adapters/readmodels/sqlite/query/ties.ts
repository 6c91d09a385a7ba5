/** Pages of sorts of several terms: the first term's index finds the ties, and only those are sorted further. */
import type { Cell } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import { allOf } from './search.js';
import type { Term } from './sortTerms.js';
import { type Run, walk } from './walk.js';

type Range = { readonly sql: string; readonly cells: readonly Cell[] };

/**
 * Splits a run into up to three, whose rows one after another are those of the run: the rest of the ties
 * it begins in, the ties that it holds whole, and the beginning of the ties it ends in. The first and the
 * last are sorted by one term less. Undefined when to collect all matches is cheaper.
 */
export function splitByTies(run: Run): readonly Run[] | undefined {
  const { terms, skip, wanted, matches, costs } = run;
  const [first] = terms;
  if (first === undefined || matches.total <= costs.sortedTies) return undefined;

  // The first term's value on each place of the run, and how many matches come before the first of these ties.
  const filtered = run.conditions.length > 0;
  const walked = walk<Cell>(run, first.sql, filtered ? 0 : skip, filtered ? skip + wanted : wanted);
  if (walked === undefined) return undefined;
  const values = filtered ? walked.slice(skip) : walked;
  const from = values[0] ?? null;
  const to = values.at(-1) ?? null;
  const before = filtered ? walked.indexOf(from) : countBefore(run, first, from);

  const ofFirst = values.lastIndexOf(from) + 1;
  const head = tiesOf(run, first, from, skip - before, ofFirst);
  if (from === to) return [head];
  const ofLast = wanted - values.indexOf(to);
  const middle = within(run, first, between(first, from, to), wanted - ofFirst - ofLast);
  return [head, middle, tiesOf(run, first, to, 0, ofLast)];
}

/** The run among the rows that have `value` in the first term. */
function tiesOf(run: Run, first: Term, value: Cell, skip: number, wanted: number): Run {
  const { connection, table, terms, matches } = run;
  const range: Range =
    value === null ? { sql: `${first.sql} IS NULL`, cells: [] } : { sql: `${first.sql} = ?`, cells: [value] };
  const ties = connection.number(
    `SELECT count(*) FROM ${recordsTable(table.id)} INDEXED BY ${indexOf(table.id, first.sql)} WHERE ${range.sql}`,
    range.cells,
  );
  const rest = { ...run, terms: terms.slice(1), skip, wanted };
  // Where all rows are ties, the term decides nothing.
  if (ties === table.rowCount) return rest;
  const share = matches.total / Math.max(1, table.rowCount);
  return narrowed(rest, first, range, { rows: ties, total: ties * share });
}

/** The run that holds all matches of a range of the first term. */
function within(run: Run, first: Term, range: Range, total: number): Run {
  const { table, matches } = run;
  const rows = (total * table.rowCount) / Math.max(1, matches.total);
  return narrowed({ ...run, skip: 0, wanted: total }, first, range, { rows, total });
}

/** `rows`: how many rows the range has; `total`: how many of them match. */
function narrowed(run: Run, first: Term, range: Range, { rows, total }: { rows: number; total: number }): Run {
  const { table, costs, matches } = run;
  const inRange = { ...range, how: 'look up' as const };
  const conditions = [...run.conditions, inRange];
  const members = matches.members && { ...matches.members, rest: [...matches.members.rest, inRange] };
  const bySet = members !== undefined && members.count * costs.gathered < rows * costs.fetched;
  const tests = allOf(bySet ? [members.condition, ...members.rest] : conditions);
  const source = {
    from: `${recordsTable(table.id)} AS r INDEXED BY ${indexOf(table.id, first.sql)}`,
    where: tests.sql,
    cells: tests.cells,
  };
  const cost = bySet ? members.count * costs.gathered + total * costs.fetched : rows * costs.fetched;
  return { ...run, conditions, matches: { total, source, cost, ...(members === undefined ? {} : { members }) } };
}

/** How many rows come before the first that has `value`, in the direction of the term. */
function countBefore({ connection, table }: Run, { sql, descending }: Term, value: Cell): number {
  const count = (where: string, cells: readonly Cell[]): number =>
    connection.number(
      `SELECT count(*) FROM ${recordsTable(table.id)} INDEXED BY ${indexOf(table.id, sql)} WHERE ${where}`,
      cells,
    );
  if (value === null) return descending ? count(`${sql} IS NOT NULL`, []) : 0;
  return descending ? count(`${sql} > ?`, [value]) : count(`${sql} IS NULL`, []) + count(`${sql} < ?`, [value]);
}

/** What lies between two values, neither included, in the direction of the term. */
function between({ sql, descending }: Term, from: Cell, to: Cell): Range {
  const [low, high] = descending ? [to, from] : [from, to];
  if (low === null) return { sql: `${sql} < ?`, cells: [high] };
  return { sql: `(${sql} > ? AND ${sql} < ?)`, cells: [low, high] };
}
