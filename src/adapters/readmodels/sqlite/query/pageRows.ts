/** Finds the rows of one page, in order, by the cheapest way. */

import { cellsOf, isOneIndex, orderBy, type Term } from './sortTerms.js';
import { splitByTies } from './ties.js';
import { type Run, walk } from './walk.js';

/**
 * Either walks along the index of the sort, testing rows until the page is full (cheap where matches
 * are dense, given up after a budget), or collects all matches and sorts them (cheap where they are few).
 */
export function rowsOf(run: Run): readonly number[] {
  if (run.wanted <= 0) return [];
  if (isOneIndex(run.terms)) return walk<number>(run, 'row', run.skip, run.wanted) ?? collect(run);
  return splitByTies(run)?.flatMap(rowsOf) ?? collect(run);
}

function collect({ connection, terms, skip, wanted, matches: { source } }: Run): readonly number[] {
  return connection.column<number>(
    `SELECT r.row FROM ${source.from} WHERE ${source.where} ORDER BY ${orderBy(terms.map(qualified))} LIMIT ? OFFSET ?`,
    [...source.cells, ...cellsOf(terms), wanted, skip],
  );
}

const qualified = (term: Term): Term => (term.cells.length === 0 ? { ...term, sql: `r.${term.sql}` } : term);
