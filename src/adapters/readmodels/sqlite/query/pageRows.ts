/** Finds the rows of one page, in order, by the cheapest way. */
import type { Cell } from '../readConnection.js';
import { rowsFound } from './scan.js';
import { type Source, sourceOf } from './search.js';
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
  const { query, cells } = sorted(terms, firstOfHalves(run) ?? run.matches.source);
  return connection.column<number>(`${query} LIMIT ? OFFSET ?`, [...cells, wanted, skip]);
}

/** Those of the matches among which the page is: the first of one half, and those of the other, found by the partner. */
function firstOfHalves({ connection, table, terms, skip, wanted, matches, costs, partner }: Run): Source | undefined {
  const most = skip + wanted;
  const { rows } = matches;
  if (partner === undefined || rows === undefined || rows.count < Math.max(costs.halvedSort, 4 * most))
    return undefined;
  const middle = rows.json.indexOf(',', rows.json.length / 2);
  const first = (json: string) => {
    const { query, cells } = sorted(terms, sourceOf(table, json));
    return { query: `${query} LIMIT ?`, cells: [...cells, most] };
  };
  const there = first(`[${rows.json.slice(middle + 1)}`);
  const pending = partner.start(table, { kind: 'rows', ...there, most });
  const here = first(`${rows.json.slice(0, middle)}]`);
  const found = rowsFound(connection, here.query, here.cells).json;
  const foundThere = pending.finish()?.json ?? rowsFound(connection, there.query, there.cells).json;
  return sourceOf(table, `${found.slice(0, -1)},${foundThere.slice(1)}`);
}

function sorted(terms: readonly Term[], source: Source): { readonly query: string; readonly cells: readonly Cell[] } {
  return {
    query: `SELECT r.row AS row FROM ${source.from} WHERE ${source.where} ORDER BY ${orderBy(terms.map(qualified))}`,
    cells: [...source.cells, ...cellsOf(terms)],
  };
}

const qualified = (term: Term): Term => (term.cells.length === 0 ? { ...term, sql: `r.${term.sql}` } : term);
