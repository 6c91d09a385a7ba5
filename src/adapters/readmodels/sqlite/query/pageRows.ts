/**
 * Finds the rows of a page, in order: carries out its plan (plan.ts). A page of a sort of several terms consists of parts:
 * rows that the first term orders, and runs of rows that are equal in it, which are planned by the other terms.
 */
import type { Ranking, Rankings } from '../ranking/ranking.js';
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import type { Condition } from './conditions.js';
import type { Matches } from './matches.js';
import { type IndexWay, type PageFacts, planPage, planText, rankingWay, type Way } from './plan.js';
import { RowSet } from './rowSet.js';
import { allOf, guarded, isIn, listedSource, rowsBy, scanTests } from './rowSources.js';
import { cellsOf, orderBy, reversed, type Term } from './sortTerms.js';

/** The values that one sort term is limited to. */
type Range = Pick<Condition, 'sql' | 'cells'>;

/** A run of the sorted matches. There must be `skip + wanted` of them. */
export type Run = Omit<PageFacts, 'table' | 'filters' | 'ranges' | 'terms' | 'matches'> & {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly filters: readonly Condition[];
  readonly ranges: readonly Range[];
  readonly terms: readonly Term[];
  /** Within the ranges `total` may be an estimate. `rows` are the matches of the filters, in the ranges that `within` names. */
  readonly matches: Matches & { readonly within?: readonly Range[] };
  readonly rankings?: Rankings | undefined;
  /** Called with each plan as text. */
  readonly explain?: (plan: () => string) => void;
};

/** A position in the order: the record's value of the first term, and its row. */
type IndexPosition = readonly [value: Cell, row: number];

type Part =
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'run'; readonly run: Run; readonly isReversed: boolean };

/** @returns row numbers */
export function pageRows(run: Run): readonly number[] {
  const found: number[] = [];
  // A stack: the first part of the page is the last one.
  const parts: Part[] = [{ kind: 'run', run, isReversed: false }];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part.kind === 'rows') found.push(...part.rows);
    else if (part.run.wanted > 0) {
      const within = partsOf(part.run);
      parts.push(...(part.isReversed ? within.map(reversedPart) : within.toReversed()));
    }
  }
  return found;
}

const rowsPart = (rows: readonly number[]): Part => ({ kind: 'rows', rows });

const reversedPart = (part: Part): Part =>
  part.kind === 'rows' ? rowsPart(part.rows.toReversed()) : { ...part, isReversed: !part.isReversed };

/** Plans a run and carries the plan out. */
function partsOf(run: Run): readonly Part[] {
  const { connection, table, rankings, filters, costs } = run;
  const name = rankings && rankingWay(run)?.name;
  const ranking = name && rankings.get(connection, table, name);
  const plan = planPage(run, rankings && ranking !== undefined);
  run.explain?.(() => planText(run, plan));
  let { missing } = plan;
  const startedAt = performance.now();
  for (const way of plan.ways) {
    const parts = plan.leavesTies && isAlongIndex(way) ? tiedParts(run, way) : orderedParts(run, way, ranking);
    if (parts !== undefined) {
      const isSlow = filters.length === 0 || performance.now() - startedAt > costs.slowMs;
      if (missing !== undefined && isSlow) rankings?.want(missing);
      return parts;
    }
    // It has fewer rows than the table, so another one must be made.
    if (way.kind === 'ranking') missing = way.name;
  }
  return [];
}

const isAlongIndex = (way: Way): way is IndexWay => way.kind === 'range' || way.kind === 'walk';

/** Undefined if the way ends without a full page. */
function orderedParts(run: Run, way: Way, ranking: Ranking | undefined): readonly Part[] | undefined {
  const rows = isAlongIndex(way)
    ? positions(run, way, run.skip, run.wanted)?.map(rowAt)
    : way.kind === 'collect'
      ? collect(run)
      : ranking && byRanking(run, ranking);
  return rows && [rowsPart(rows)];
}

const rowAt = ([, row]: IndexPosition): number => row;

/** Positions in the order of the first term's index, with ties by id; undefined if a walk ends without so many. */
function positions(run: Run, way: IndexWay, skip: number, wanted: number): readonly IndexPosition[] | undefined {
  const { connection, table, terms, filters } = run;
  const [first] = terms;
  if (first === undefined) return undefined;
  const order = orderBy(first.sql === 'id' ? [first] : [first, { ...first, sql: 'id' }]);
  const from = rowsBy(table, first.sql);
  // These filters bound the part of the index that is read.
  const bounds = allOf(filters.filter(({ how, index }) => how === 'look up' && index === first.sql));
  if (way.kind === 'range') {
    const inOrder = `SELECT ${first.sql}, row FROM ${from} WHERE ${bounds.sql} ORDER BY ${order} LIMIT ? OFFSET ?`;
    return connection.tuples<IndexPosition>(inOrder).all(...bounds.cells, wanted, skip);
  }
  const tests = testsOf(run, way.test);
  const found = connection
    .tuples<IndexPosition>(
      `SELECT value, row FROM (
         SELECT ${first.sql} AS value, r.row AS row, ${tests.sql} AS hit FROM ${from} WHERE ${bounds.sql} ORDER BY ${order} LIMIT ?)
       WHERE hit LIMIT ? OFFSET ?`,
    )
    .all(...tests.cells, ...bounds.cells, way.most, wanted, skip);
  return found.length === wanted ? found : undefined;
}

function testsOf({ filters, ranges, matches }: Run, by: 'row' | 'set'): Range {
  if (by === 'row' || matches.rows === undefined) return allOf([scanTests(filters), ...ranges]);
  return setFirst(matches.rows, rangesBeyond(matches, ranges));
}

/** The ranges that a set of the matches does not answer. */
const rangesBeyond = ({ within = [] }: Run['matches'], ranges: readonly Range[]): readonly Range[] =>
  ranges.filter((range) => !within.includes(range));

/** SQLite would test the ranges first, as they have no subquery, and fetch every row for them. */
function setFirst(rows: RowSet, ranges: readonly Range[]): Range {
  const { sql, cells } = isIn('r.row', rows);
  if (ranges.length === 0) return { sql, cells };
  const tests = allOf(ranges);
  return { sql: `CASE WHEN ${sql} THEN ${tests.sql} ELSE 0 END`, cells: [...cells, ...tests.cells] };
}

function collect({ connection, terms, skip, wanted, matches }: Run): readonly number[] {
  const { from, where, cells } = matches.source;
  return connection.column<number>(
    `SELECT r.row AS row FROM ${from} WHERE ${guarded(where)} ORDER BY ${orderBy(terms.map(qualified))} LIMIT ? OFFSET ?`,
    [...cells, ...cellsOf(terms), wanted, skip],
  );
}

const qualified = (term: Term): Term => (term.cells.length === 0 ? { ...term, sql: `r.${term.sql}` } : term);

/** Undefined if the ranking does not have so many rows. */
function byRanking(run: Run, ranking: Ranking): readonly number[] | undefined {
  const { connection, terms, skip, wanted, filters, matches } = run;
  const { total } = matches;
  const isDescending = terms[0]?.descending === true;
  const from = isDescending ? total - skip - wanted : skip;
  const bits = filters.length === 0 ? undefined : matches.rows?.bits(connection, run.table);
  const matching = bits === undefined ? undefined : { rows: bits, total };
  const rows = ranking.page(run, { from, to: from + wanted }, matching);
  return isDescending ? rows?.toReversed() : rows;
}

/**
 * The parts of a page of a sort of several terms. The first term's index has its ties in the order of ids. The rows of ties
 * that the page has completely are known, and only need sorting; those of the ties that it begins in and ends in are runs of
 * one term less. Undefined if the way ends without a full page.
 */
function tiedParts(run: Run, way: IndexWay): readonly Part[] | undefined {
  const { terms, skip, wanted } = run;
  const [first] = terms;
  if (first === undefined) return undefined;
  const isFiltered = run.filters.length + run.ranges.length > 0;
  const start = isFiltered ? 0 : skip;
  const found = positions(run, way, start, skip + wanted - start);
  const begin = found?.[skip - start];
  if (found === undefined || begin === undefined) return undefined;
  const values = found.map(([value]) => value);
  const from = begin[0];
  const to = values.at(-1) ?? null;
  // Positions in the run: where the ties of the page's first record begin, and where those of its last one do.
  const firstTies = isFiltered ? values.indexOf(from) : skip - tiesBefore(run, first, begin);
  if (from === to) return [tiesPart(run, first, to, skip - firstTies, wanted)];

  const lastTies = start + values.indexOf(to);
  const isBegun = firstTies < start;
  const alignedStart = isBegun ? start + values.lastIndexOf(from) + 1 : firstTies;
  const head = isBegun ? [tiesPart(run, first, from, skip - firstTies, alignedStart - skip)] : [];
  const middle = sorted(run, found.slice(alignedStart - start, lastTies - start).map(rowAt));
  const tail = tiesPart(run, first, to, 0, skip + wanted - lastTies);
  return [...head, rowsPart(middle.slice(Math.max(0, skip - alignedStart))), tail];
}

/** How many ties come before this position. */
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

/** Some of the run's rows that have `value` in the first term. */
function tiesPart(run: Run, first: Term, value: Cell, skip: number, wanted: number): Part {
  const { table, terms } = run;
  const range = ofValue(first, value);
  const ties = countInIndex(run, first, range);
  // The second half is found sooner from the end. How many of the ties match is known only if all do.
  const isReversed = run.filters.length + run.ranges.length === 0 && skip > ties / 2;
  const others = terms.slice(1);
  const rest = isReversed
    ? { ...run, terms: reversed(others), skip: ties - skip - wanted, wanted }
    : { ...run, terms: others, skip, wanted };
  // If all rows are ties, the term decides nothing.
  return { kind: 'run', run: ties === table.rowCount ? rest : narrowed(rest, first, range, ties), isReversed };
}

/** @param rows how many rows the range has */
function narrowed(run: Run, first: Term, range: Range, rows: number): Run {
  const { table, costs, filters } = run;
  const from = rowsBy(table, first.sql);
  // Without other conditions the range itself is a set of rows.
  const isSet = filters.length + run.ranges.length === 0;
  const inRange = new RowSet({ count: rows, sql: `SELECT r.row FROM ${from} WHERE ${range.sql}`, cells: range.cells });
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
