/**
 * Plans the page of a list: which way finds its rows, and which ways are tried if that one ends early. The plan is chosen
 * from figures alone, with the estimates of costs.ts; pageRows.ts carries it out.
 */
import type { RankingName } from '../ranking/ranking.js';
import type { ReadTable } from '../read/readConnection.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import type { Matches } from './matches.js';
import { hasRowBits, type RowSet } from './rowSet.js';
import { isOneIndex, type Term } from './sortTerms.js';

/** The figures that a plan is chosen from. */
export type PageFacts = {
  readonly costs: Costs;
  readonly table: Pick<ReadTable, 'id' | 'tenant' | 'rowCount' | 'nextRow'>;
  readonly filters: readonly Pick<Condition, 'how' | 'index'>[];
  /** Conditions on earlier sort terms, which rows must fulfil beside the filters. */
  readonly ranges: readonly unknown[];
  readonly terms: readonly Pick<Term, 'sql' | 'indexed' | 'descending'>[];
  readonly skip: number;
  readonly wanted: number;
  readonly matches: Pick<Matches, 'total' | 'cost'> & { readonly rows?: Pick<RowSet, 'count' | 'isLoaded'> };
};

/** A way to the rows of a page. `cost` is an estimate in microseconds. */
export type Way =
  /** The filters are a range of the sort's index, so the page is read from there. */
  | { readonly kind: 'range'; readonly cost: number }
  /** Entries of the sort's index are tested until the page is full, by their rows or by the set of the matches. */
  | { readonly kind: 'walk'; readonly test: 'row' | 'set'; readonly most: number; readonly cost: number }
  /** The page is read from a ranking in memory. */
  | { readonly kind: 'ranking'; readonly name: RankingName; readonly cost: number }
  /** All matches are read and sorted. */
  | { readonly kind: 'collect'; readonly cost: number };

export type RankingWay = Way & { readonly kind: 'ranking' };
export type IndexWay = Way & { readonly kind: 'range' | 'walk' };

export type Plan = {
  /** In the order in which they are tried: a walk may end without a full page, collecting never does. */
  readonly ways: readonly Way[];
  /** The list has more terms than an index of the sort: rows that are equal in the first term must be sorted further. */
  readonly leavesTies: boolean;
  /** A ranking that would help, and is not made yet. */
  readonly missing?: RankingName;
};

/** @param isMade whether the ranking of `rankingWay` is in memory; undefined without rankings */
export function planPage(facts: PageFacts, isMade?: boolean): Plan {
  const { matches, terms, filters } = facts;
  const collect: Way = { kind: 'collect', cost: matches.cost };
  const ways = [...alongIndex(facts, matches.cost), collect];
  if (!isOneIndex(terms)) return { ways, leavesTies: true };
  const ranking = isMade === undefined ? undefined : rankingWay(facts);
  if (ranking === undefined) return { ways, leavesTies: false };
  if (isMade !== true) return { ways, leavesTies: false, missing: ranking.name };
  const shortWalk = filters.length === 0 ? [] : alongIndex(facts, ranking.cost);
  return { ways: [...shortWalk, ranking, ...ways], leavesTies: false };
}

/** The way by a ranking; undefined if none helps: the row numbers of the matches must be known without reading rows. */
export function rankingWay(facts: PageFacts): RankingWay | undefined {
  const { table, costs, terms, filters, ranges, skip, matches } = facts;
  const [first] = terms;
  if (first === undefined || !isOneIndex(terms) || ranges.length > 0) return undefined;
  if (table.rowCount < costs.rankedRows || !hasRowBits(table)) return undefined;
  if (filters.length > 0 && isRange(facts, first)) return undefined;
  const isKnown = filters.length === 0 ? skip >= costs.far : matches.rows !== undefined;
  const cost = rankingCost(facts);
  if (!isKnown || cost >= matches.cost) return undefined;
  return { kind: 'ranking', name: { tenant: table.tenant, table: table.id, column: first.sql }, cost };
}

/** Loads the set of the matches, and goes through the order until the page is full. */
function rankingCost({ costs, filters, matches: { rows, total }, table, skip, wanted }: PageFacts): number {
  if (filters.length === 0 || rows === undefined) return 0;
  const passed = Math.min(1, (skip + wanted) / Math.max(1, total)) * table.rowCount;
  return (rows.isLoaded ? 0 : rows.count * costs.marked) + passed * costs.ranked;
}

type FirstTerm = PageFacts['terms'][number];

/** The filters are a range of the term's index. */
const isRange = ({ filters, ranges }: PageFacts, first: FirstTerm): boolean =>
  ranges.length === 0 && filters.every(({ how, index }) => how === 'look up' && index === first.sql);

/** The way along the index of the first term, if there is one and it costs less than the other way. */
function alongIndex(facts: PageFacts, otherCost: number): readonly IndexWay[] {
  const { table, terms, filters, costs, matches, skip, wanted } = facts;
  const [first] = terms;
  if (first === undefined || !first.indexed) return [];
  if (isRange(facts, first)) return [{ kind: 'range', cost: (skip + wanted) * costs.scanned }];
  const entries = ((skip + wanted) * table.rowCount) / Math.max(1, matches.total);
  const { test, setUp, unit } = cheapestTest(facts, first, entries);
  // All matches may lie at the far end: then the walk is lost time.
  const affordable = Math.ceil((otherCost * costs.walkShare - setUp) / unit);
  // Matches of a filter on the sorted column lie together, and more often far off.
  const isTogether = !isCovered(facts, first) && filters.some(({ index }) => index === first.sql);
  const isExpected = (isTogether ? 2 * entries : entries) <= affordable;
  if (!isExpected) return [];
  return [{ kind: 'walk', test, most: Math.min(table.rowCount, affordable), cost: setUp + entries * unit }];
}

/** Rows are numbered as they are created, which is the order of their ids as well. */
const IN_ROW_ORDER = ['id', 'created_at'];

/** The entries of the term's index have all that is tested. */
const isCovered = ({ filters, ranges }: PageFacts, first: FirstTerm): boolean =>
  ranges.length === 0 && filters.every(({ index, how }) => how === 'scan' && index === first.sql);

type Test = { readonly test: 'row' | 'set'; readonly setUp: number; readonly unit: number };

/** How to test so many entries of the index: by their rows, or by whether they are in the set of the matches. */
function cheapestTest(facts: PageFacts, first: FirstTerm, entries: number): Test {
  const { costs, matches } = facts;
  const isInEntries = isCovered(facts, first);
  const fetched = IN_ROW_ORDER.includes(first.sql) ? costs.read : costs.fetched;
  const byRow: Test = { test: 'row', setUp: 0, unit: isInEntries ? costs.scanned : fetched };
  // The text is in the entry itself: a set would only cost more.
  if (matches.rows === undefined || isInEntries) return byRow;
  const bySet: Test = { test: 'set', setUp: matches.rows.count * costs.gathered, unit: costs.probed };
  // Matches are seldom spread evenly, and further entries cost less by the set: so it may look dearer.
  return bySet.setUp + entries * bySet.unit < 2 * entries * byRow.unit ? bySet : byRow;
}

/** A plan in one line: `by c2, id desc; walk by set to 1200 entries (4.2 ms), else collect (20.0 ms)`. */
export function planText({ terms, ranges }: PageFacts, { ways, missing }: Plan): string {
  const order = terms.map(({ sql, descending }) => `${sql}${descending ? ' desc' : ''}`).join(', ');
  const within = ranges.length === 0 ? '' : ` within ${ranges.length} ranges`;
  const without = missing === undefined ? '' : `; a ranking by ${missing.column} is missing`;
  return `by ${order}${within}: ${ways.map(wayText).join(', else ')}${without}`;
}

function wayText(way: Way): string {
  const cost = `(${(way.cost / 1_000).toFixed(1)} ms)`;
  return way.kind === 'walk' ? `walk by ${way.test} to ${way.most} entries ${cost}` : `${way.kind} ${cost}`;
}
