/** Finds the rows of one page, in order, by the cheapest way. */
import type { Cell } from '../readConnection.js';
import type { Source } from './search.js';
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

function collect(run: Run): readonly number[] {
  const { connection, terms, skip, wanted } = run;
  const { query, cells } = sorted(terms, run.matches.source);
  return connection.column<number>(`${query} LIMIT ? OFFSET ?`, [...cells, wanted, skip]);
}

function sorted(terms: readonly Term[], source: Source): { readonly query: string; readonly cells: readonly Cell[] } {
  return {
    query: `SELECT r.row AS row FROM ${source.from} WHERE ${source.where} ORDER BY ${orderBy(terms.map(qualified))}`,
    cells: [...source.cells, ...cellsOf(terms)],
  };
}

const qualified = (term: Term): Term => (term.cells.length === 0 ? { ...term, sql: `r.${term.sql}` } : term);
