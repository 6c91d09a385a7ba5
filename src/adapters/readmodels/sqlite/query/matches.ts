/** Finds and counts the records that fulfil a query's filters. */

import { LEFT_OUT } from '../../shared/fieldRules.js';
import { trigramTable } from '../ownTables.js';
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import { type Condition, isLookUp } from './conditions.js';
import type { Costs } from './costs.js';
import { hasRowBits, RowBits, RowSet } from './rowSet.js';
import { allOf, allRows, guarded, indexSource, isIn, listedSource, type Source, scanTests } from './rowSources.js';

/** Row numbers as the text "12,7,103": as values they would cost twice as much to read, and ten times as much to bind. */
type Rows = { readonly count: number; readonly list: Buffer };

export type Matches = {
  /** How they were found. */
  readonly by: 'all rows' | 'look-up' | 'trigrams' | 'union' | 'scan';
  readonly total: number;
  readonly source: Source;
  /** Microseconds to read `source` and sort. */
  readonly cost: number;
  /** The matches, if they are found without reading rows. */
  readonly rows?: RowSet;
};

type Search = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly conditions: readonly Condition[];
  readonly costs: Costs;
};

/** Counts the records that match, exactly, and finds the best way to reach them. */
export function findMatches(search: Search): Matches {
  const { table, conditions, costs } = search;
  if (conditions.length === 0) {
    const source = { from: allRows(table), where: '1', cells: [] };
    return { by: 'all rows', total: table.rowCount, source, cost: table.rowCount * costs.collected };
  }
  const lookUp = bestLookUp(search);
  const query = trigramQuery(search) ?? unionQuery(search);
  if (query === undefined) return lookUp === undefined ? byScan(search) : byLookUp(search, lookUp);
  return lookUp !== undefined && findsFewer(search, lookUp, query.count())
    ? byLookUp(search, lookUp)
    : byIndexes(search, query);
}

/** The part of a look-up that its index answers, without documents. */
const inIndex = (lookUp: Condition): Condition => ({ ...lookUp, ...lookUp.inIndex });

/** The look-up that finds the fewest rows; undefined if each finds many, which other conditions would have to test. */
function bestLookUp({ connection, table, conditions, costs }: Search): Condition | undefined {
  let best: Condition | undefined;
  let most = Math.ceil(table.rowCount * costs.lookUpShare);
  for (const lookUp of conditions.filter(isLookUp)) {
    const ofIndex = conditions.filter((condition) => isLookUp(condition) && condition.index === lookUp.index);
    if (ofIndex.length === conditions.length) return lookUp;
    const { from, where, cells } = indexSource(
      table,
      ofIndex.filter((one) => one !== lookUp).map(inIndex),
      inIndex(lookUp),
    );
    const found = connection.number(`SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ?)`, [
      ...cells,
      most,
    ]);
    if (found >= most) continue;
    best = lookUp;
    most = found;
  }
  return best;
}

/** A query of a trigram index cannot be cancelled: so many trigrams take half a second at 1,000,000 records. */
const MOST_TRIGRAMS = 1_000;

/** A query of indexes, and the conditions that it does not answer. */
type IndexQuery = {
  readonly by: 'trigrams' | 'union';
  /** Each row once, with its number as `t.rowid`. */
  readonly from: string;
  readonly cells: readonly Cell[];
  readonly rest: readonly Condition[];
  /** How many rows it finds. */
  readonly count: () => number;
};

function indexQuery(connection: ReadConnection, query: Omit<IndexQuery, 'count'>): IndexQuery {
  let counted: number | undefined;
  const count = (): number => {
    counted ??= connection.number(`SELECT count(*) FROM ${query.from}`, query.cells);
    return counted;
  };
  return { ...query, count };
}

/** The conditions that one trigram index answers. */
function trigramQuery(search: Search): IndexQuery | undefined {
  const { connection, table, conditions } = search;
  let left = MOST_TRIGRAMS;
  let index: number | undefined;
  const queries: string[] = [];
  const rest: Condition[] = [];
  for (const condition of conditions) {
    const { trigrams } = condition;
    const isAsked = trigrams !== undefined && trigrams.index === (index ?? trigrams.index) && trigrams.size <= left;
    if (!isAsked) {
      rest.push(condition);
      continue;
    }
    index = trigrams.index;
    left -= trigrams.size;
    const { text, isExact } = textQuery(search, trigrams);
    queries.push(text);
    if (!isExact) rest.push(condition);
  }
  if (index === undefined) return undefined;
  const from = `${trigramTable(table.id, index)}(?) AS t`;
  return indexQuery(connection, { by: 'trigrams', from, cells: [queries.join(' AND ')], rest });
}

type Trigrams = NonNullable<Condition['trigrams']>;

/** A query of a trigram index, and whether it finds exactly the rows that fulfil the condition. */
function textQuery(
  { connection, table }: Search,
  { index, columns, phrases, isExact }: Trigrams,
): { readonly text: string; readonly isExact: boolean } {
  const column = `{${columns.join(' ')}}`;
  const leftOut = `${column} : ${LEFT_OUT}`;
  const hasLeftOut = connection.number(`SELECT 1 FROM ${trigramTable(table.id, index)}(?) LIMIT 1`, [leftOut]) > 0;
  return hasLeftOut
    ? { text: `(${column} : (${phrases} OR ${LEFT_OUT}))`, isExact: false }
    : { text: `(${column} : (${phrases}))`, isExact };
}

/** The alternatives of one condition, each from its index. */
function unionQuery(search: Search): IndexQuery | undefined {
  const { connection, table, conditions } = search;
  const asked = conditions.find(({ union = [] }) => union.length > 0 && trigramsIn(union) <= MOST_TRIGRAMS);
  if (asked?.union === undefined) return undefined;
  const parts = asked.union.map(({ trigrams, ...lookUp }) => {
    if (trigrams !== undefined) {
      const { text, isExact } = textQuery(search, trigrams);
      return { sql: `SELECT rowid AS rowid FROM ${trigramTable(table.id, trigrams.index)}(?)`, cells: [text], isExact };
    }
    const { from, where, cells } = indexSource(table, [], inIndex(lookUp));
    const sql = `SELECT r.row AS rowid FROM ${from} WHERE ${guarded(where)}`;
    return { sql, cells, isExact: lookUp.inIndex === undefined };
  });
  const isExact = parts.every((part) => part.isExact);
  return indexQuery(connection, {
    by: 'union',
    from: `(${parts.map(({ sql }) => sql).join(' UNION ')}) AS t`,
    cells: parts.flatMap(({ cells }) => cells),
    rest: isExact ? conditions.filter((condition) => condition !== asked) : conditions,
  });
}

const trigramsIn = (union: readonly Condition[]): number =>
  union.reduce((sum, { trigrams }) => sum + (trigrams?.size ?? 0), 0);

/** Whether to fetch the look-up's rows is cheaper than to test each row of the other indexes by the look-up. */
function findsFewer(search: Search, lookUp: Condition, found: number): boolean {
  const most = Math.ceil((found * search.costs.probed) / search.costs.fetched);
  return countInIndex(search, lookUp, most + 1) <= most;
}

/** How many rows the index of a look-up finds, at most `most`. */
function countInIndex({ connection, table }: Search, lookUp: Condition, most: number): number {
  const { from, where, cells } = indexSource(table, [], inIndex(lookUp));
  return connection.number(`SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ?)`, [...cells, most]);
}

/** Fetches all rows that the index finds, and tests them by the other conditions. */
function byLookUp({ connection, table, conditions, costs }: Search, lookUp: Condition): Matches {
  const source = indexSource(table, conditions, lookUp);
  const total = countOf(connection, source);
  const isSet = conditions.every(({ index, inIndex: part }) => index === lookUp.index && part === undefined);
  const sql = `SELECT r.row FROM ${source.from} WHERE ${source.where}`;
  const rows = new RowSet({ count: total, sql, cells: source.cells });
  return { by: 'look-up', total, source, cost: total * costs.fetched, ...(isSet ? { rows } : {}) };
}

function byIndexes(search: Search, query: IndexQuery): Matches {
  const { connection, table, costs } = search;
  const lookUps = query.rest.filter((condition) => isGathered(search, query, condition));
  const rest = query.rest.filter((condition) => !lookUps.includes(condition) || condition.inIndex !== undefined);
  // Without the plus SQLite would query the trigrams for each row of the set.
  const found = allOf(lookUps.map((lookUp) => isIn('+t.rowid', rowsInIndex(table, lookUp))));
  const inIndexes = { from: query.from, where: found.sql, cells: [...query.cells, ...found.cells] };
  const tests = scanTests(rest);
  const source = {
    from: `${query.from} CROSS JOIN ${allRows(table)} ON r.row = t.rowid`,
    where: `${found.sql} AND ${tests.sql}`,
    cells: [...inIndexes.cells, ...tests.cells],
  };
  if (rest.length === 0) return byRowids(search, query.by, inIndexes, source);
  // Few matches are listed: to query the indexes again for the page may cost as much as the first time.
  const first = `SELECT t.rowid AS row FROM ${source.from} WHERE ${source.where} LIMIT ?`;
  const rows = rowsFound(connection, first, [...source.cells, costs.listedRows]);
  if (rows.count < costs.listedRows) return listed(search, query.by, rows);
  return {
    by: query.by,
    total: countOf(connection, source),
    source,
    cost: countOf(connection, inIndexes) * costs.collected,
  };
}

/** The indexes find exactly the matches. They are read into memory as they are counted, unless they are many of a very large table. */
function byRowids(search: Search, by: Matches['by'], inIndexes: Source, source: Source): Matches {
  const { connection, table, costs } = search;
  const { from, where, cells } = inIndexes;
  const sql = `SELECT t.rowid AS row FROM ${from} WHERE ${where}`;
  const hasLimit = table.rowCount > costs.unlimitedRows;
  const most = Math.max(costs.listedRows, Math.ceil(table.rowCount * costs.markedShare));
  const found = hasLimit
    ? rowsFound(connection, `${sql} LIMIT ?`, [...cells, most])
    : rowsFound(connection, sql, cells);
  if (found.count < costs.listedRows) return listed(search, by, found);
  const isWhole = !hasLimit || found.count < most;
  const total = isWhole ? found.count : countOf(connection, inIndexes);
  const bits = isWhole && hasRowBits(table) ? bitsOf(found, table) : undefined;
  const rows = new RowSet({ count: total, sql, cells, ...(bits === undefined ? {} : { loaded: () => bits }) });
  return { by, total, source, cost: total * costs.collected, rows };
}

function bitsOf({ list }: Rows, { nextRow }: ReadTable): RowBits {
  const bits = new RowBits(nextRow);
  bits.addList(list);
  return bits;
}

/** Whether to put the look-up's rows into a set is cheaper than to fetch those of the query. */
function isGathered(search: Search, query: IndexQuery, condition: Condition): boolean {
  const { costs } = search;
  if (!isLookUp(condition)) return false;
  const most = Math.ceil((query.count() * costs.read) / costs.gathered);
  return countInIndex(search, condition, most) < most;
}

function rowsInIndex(table: ReadTable, lookUp: Condition): Pick<RowSet, 'sql' | 'cells'> {
  const { from, where, cells } = indexSource(table, [], inIndex(lookUp));
  return { sql: `SELECT r.row FROM ${from} WHERE ${where}`, cells };
}

/**
 * Scans the index of a single condition's column. Without one, or with several conditions, it scans the table: to fetch what
 * one of them finds takes longer, unless it is rare.
 */
function byScan(search: Search): Matches {
  const { connection, table, conditions, costs } = search;
  const [condition, ...others] = conditions;
  const index = others.length === 0 ? condition?.index : undefined;
  const tests = scanTests(conditions);
  const source =
    condition === undefined || index === undefined
      ? {
          from: `${allRows(table)} ${table.shape.layout.isSmall === true ? '' : 'NOT INDEXED'}`,
          where: tests.sql,
          cells: tests.cells,
        }
      : indexSource(table, conditions, condition);
  const order = index === undefined ? 'r.row' : `r.${index}, r.id`;
  const inOrder = `SELECT r.row AS row FROM ${source.from} WHERE ${source.where} ORDER BY ${order} LIMIT ?`;
  const rows = rowsFound(connection, inOrder, [...source.cells, costs.listedRows]);
  if (rows.count < costs.listedRows) return listed(search, 'scan', inRowOrder(rows));
  const total = rows.count + countBehind(search, source, order, rows);
  const scan = table.rowCount * (index === undefined ? costs.collected : costs.scanned);
  return { by: 'scan', total, source, cost: scan + total * costs.collected };
}

/** Goes on behind the last of these rows, and only counts. */
function countBehind({ connection, table }: Search, { from, where, cells }: Source, order: string, rows: Rows): number {
  const last = Number(rows.list.toString('latin1', rows.list.lastIndexOf(',') + 1));
  return connection.number(
    `SELECT count(*) FROM ${from} WHERE ${where} AND (${order}) >
       (SELECT ${order} FROM ${allRows(table)} WHERE r.row = ?)`,
    [...cells, last],
  );
}

/** Neighbouring rows are fetched together. */
const inRowOrder = ({ count, list }: Rows): Rows => ({
  count,
  list: Buffer.from(Float64Array.from(list.toString('latin1').split(','), Number).sort().join()),
});

/** The matches are a list of rows. */
function listed({ table, costs }: Search, by: Matches['by'], found: Rows): Matches {
  const { count, list } = found;
  const json = `[${list.toString('latin1')}]`;
  const sql = 'SELECT value AS row FROM json_each(?)';
  const rows = new RowSet({ count, sql, cells: [json], loaded: () => bitsOf(found, table) });
  return { by, total: count, rows, source: listedSource(table, json), cost: count * costs.collected };
}

const countOf = (connection: ReadConnection, { from, where, cells }: Source): number =>
  connection.number(`SELECT count(*) FROM ${from} WHERE ${where}`, cells);

/** @param query of one column named `row` */
function rowsFound(connection: ReadConnection, query: string, cells: readonly Cell[]): Rows {
  const rows = `SELECT count(*) AS count, CAST(ifnull(group_concat(row), '') AS BLOB) AS list FROM (${query})`;
  return connection.all<Rows>(rows, cells)[0] ?? { count: 0, list: Buffer.alloc(0) };
}
