/** Finds the rows of a page by a ranking of a large table, if that costs less than to collect all matches. */
import type { Run } from '../query/indexWalk.js';
import { hasRowBits } from '../query/rowBits.js';
import type { Ranking, RankingName } from './ranking.js';

/** A ranking that may serve a run, and what it costs, in microseconds. */
export type RankingUse = { readonly name: RankingName; readonly cost: number };

/** Undefined if no ranking helps: the row numbers of the matches must be known without reading rows. */
export function rankingFor(run: Run): RankingUse | undefined {
  const { table, costs, terms, filters, ranges, skip, matches } = run;
  const [first] = terms;
  if (first === undefined || !first.indexed || ranges.length > 0) return undefined;
  if (table.rowCount < costs.rankedRows || !hasRowBits(table)) return undefined;
  // Such filters are a range of the index: a walk along it is cheaper.
  if (filters.length > 0 && filters.every(({ how, index }) => how === 'look up' && index === first.sql))
    return undefined;
  const isKnown = filters.length === 0 ? skip >= costs.far : matches.rows !== undefined;
  const cost = costOf(run);
  return isKnown && cost < matches.cost
    ? { name: { tenant: table.tenant, table: table.id, column: first.sql }, cost }
    : undefined;
}

/** Loads the set of the matches, and goes through the order until the page is full. */
function costOf({ costs, filters, matches: { rows, total }, table, skip, wanted }: Run): number {
  if (filters.length === 0 || rows === undefined) return 0;
  const passed = Math.min(1, (skip + wanted) / Math.max(1, total)) * table.rowCount;
  return (rows.isLoaded ? 0 : rows.count * costs.marked) + passed * costs.ranked;
}

/** Undefined if the ranking does not have so many rows. */
export function byRanking(run: Run, ranking: Ranking): readonly number[] | undefined {
  const { connection, terms, skip, wanted, filters, matches } = run;
  const { total } = matches;
  const isDescending = terms[0]?.descending === true;
  const from = isDescending ? total - skip - wanted : skip;
  const bits = filters.length === 0 ? undefined : matches.rows?.bits(connection, run.table);
  const matching = bits === undefined ? undefined : { rows: bits, total };
  const rows = ranking.page(run, { from, to: from + wanted }, matching);
  return isDescending ? rows?.toReversed() : rows;
}
