/** Finds and counts the records that fulfil a query's filters. */

import { LEFT_OUT } from '../../shared/fieldRules.js';
import { trigramTable } from '../ownTables.js';
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import { hasRowBits, RowBits, RowSet } from './rowSet.js';
import { allOf, allRows, indexSource, isIn, listedSource, type Source, scanTests } from './rowSources.js';

/** Row numbers as the text "12,7,103": as values they would cost twice as much to read, and ten times as much to bind. */
type Rows = { readonly count: number; readonly list: Buffer };

export type Matches = {
  /** How they were found. */
  readonly by: 'all rows' | 'look-up' | 'trigrams' | 'scan';
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
  const trigrams = trigramQuery(search);
  if (trigrams === undefined) return lookUp === undefined ? byScan(search) : byLookUp(search, lookUp);
  return lookUp !== undefined && findsFewer(search, lookUp, trigramCount(search, trigrams))
    ? byLookUp(search, lookUp)
    : byTrigrams(search, trigrams);
}

const isLookUp = ({ how, index }: Condition): boolean => how === 'look up' && index !== undefined;

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

/** A query of one trigram index, and the conditions that it does not answer. */
type TrigramQuery = { readonly table: string; readonly query: string; readonly rest: readonly Condition[] };

function trigramQuery({ connection, table, conditions }: Search): TrigramQuery | undefined {
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
    const { column, phrases, size, isExact } = trigrams;
    index = trigrams.index;
    left -= size;
    const leftOut = `${column} : ${LEFT_OUT}`;
    const hasLeftOut = connection.number(`SELECT 1 FROM ${trigramTable(table.id, index)}(?) LIMIT 1`, [leftOut]) > 0;
    queries.push(hasLeftOut ? `(${column} : (${phrases} OR ${LEFT_OUT}))` : `(${column} : (${phrases}))`);
    if (hasLeftOut || !isExact) rest.push(condition);
  }
  return index === undefined ? undefined : { table: trigramTable(table.id, index), query: queries.join(' AND '), rest };
}

const trigramCount = ({ connection }: Search, { table, query }: TrigramQuery): number =>
  connection.number(`SELECT count(*) FROM ${table}(?)`, [query]);

/** Whether to fetch the look-up's rows is cheaper than to test each row of the trigrams by the look-up. */
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

function byTrigrams(search: Search, trigrams: TrigramQuery): Matches {
  const { connection, table, costs } = search;
  const lookUps = trigrams.rest.filter((condition) => isGathered(search, trigrams, condition));
  const rest = trigrams.rest.filter((condition) => !lookUps.includes(condition) || condition.inIndex !== undefined);
  // Without the plus SQLite would query the trigrams for each row of the set.
  const found = allOf(lookUps.map((lookUp) => isIn('+t.rowid', rowsInIndex(table, lookUp))));
  const indexed = `${trigrams.table}(?) AS t`;
  const inIndexes = { from: indexed, where: found.sql, cells: [trigrams.query, ...found.cells] };
  const tests = scanTests(rest);
  const source = {
    from: `${indexed} CROSS JOIN ${allRows(table)} ON r.row = t.rowid`,
    where: `${found.sql} AND ${tests.sql}`,
    cells: [...inIndexes.cells, ...tests.cells],
  };
  if (rest.length === 0) return byRowids(search, inIndexes, source);
  // Few matches are listed: to query the indexes again for the page may cost as much as the first time.
  const first = `SELECT t.rowid AS row FROM ${source.from} WHERE ${source.where} LIMIT ?`;
  const rows = rowsFound(connection, first, [...source.cells, costs.listedRows]);
  if (rows.count < costs.listedRows) return listed(search, 'trigrams', rows);
  return {
    by: 'trigrams',
    total: countOf(connection, source),
    source,
    cost: countOf(connection, inIndexes) * costs.collected,
  };
}

/** The indexes find exactly the matches. They are read into memory as they are counted, unless they are many of a very large table. */
function byRowids(search: Search, inIndexes: Source, source: Source): Matches {
  const { connection, table, costs } = search;
  const { from, where, cells } = inIndexes;
  const sql = `SELECT t.rowid AS row FROM ${from} WHERE ${where}`;
  const hasLimit = table.rowCount > costs.unlimitedRows;
  const most = Math.max(costs.listedRows, Math.ceil(table.rowCount * costs.markedShare));
  const found = hasLimit
    ? rowsFound(connection, `${sql} LIMIT ?`, [...cells, most])
    : rowsFound(connection, sql, cells);
  if (found.count < costs.listedRows) return listed(search, 'trigrams', found);
  const isWhole = !hasLimit || found.count < most;
  const total = isWhole ? found.count : countOf(connection, inIndexes);
  const bits = isWhole && hasRowBits(table) ? bitsOf(found, table) : undefined;
  const rows = new RowSet({ count: total, sql, cells, ...(bits === undefined ? {} : { loaded: () => bits }) });
  return { by: 'trigrams', total, source, cost: total * costs.collected, rows };
}

function bitsOf({ list }: Rows, { nextRow }: ReadTable): RowBits {
  const bits = new RowBits(nextRow);
  bits.addList(list);
  return bits;
}

/** Whether to put the look-up's rows into a set is cheaper than to fetch those of the trigrams. */
function isGathered(search: Search, trigrams: TrigramQuery, condition: Condition): boolean {
  const { costs } = search;
  if (!isLookUp(condition)) return false;
  const most = Math.ceil((trigramCount(search, trigrams) * costs.read) / costs.gathered);
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
