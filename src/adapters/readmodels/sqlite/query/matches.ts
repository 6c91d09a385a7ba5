/** How the records that fulfil a query's conditions are found and counted. */
import { recordsTable, trigramTable } from '../schema.js';
import type { Condition } from './conditions.js';
import { rowsFound, type Scan, scanAll } from './scan.js';
import {
  allOf,
  counted,
  countOf,
  indexSource,
  listed,
  type Matches,
  memberOf,
  type Search,
  scanSource,
} from './search.js';

/** Finds out how many records match, exactly, and how best to reach them. */
export function findMatches(search: Search): Matches {
  const { table, conditions, costs } = search;
  if (conditions.length === 0) {
    const source = { from: `${recordsTable(table.id)} AS r`, where: '1', cells: [] };
    return { total: table.rowCount, source, cost: table.rowCount * costs.collected };
  }
  const lookUp = conditions.find(({ how, index }) => how === 'look up' && index !== undefined);
  if (lookUp === undefined) {
    return byTrigrams(search, () => table.rowCount * costs.scanned) ?? byScan(search);
  }
  return byTrigrams(search, () => costOf(search, lookUp)) ?? byLookUp(search, lookUp);
}

/** All that an index finds is fetched and tested. */
function costOf({ connection, table, costs }: Search, lookUp: Condition): number {
  const source = indexSource({ table, conditions: [lookUp] }, lookUp);
  return countOf(connection, source) * costs.fetched;
}

function byLookUp(search: Search, lookUp: Condition): Matches {
  const { connection, costs } = search;
  const source = indexSource(search, lookUp);
  const total = countOf(connection, source);
  return { total, source, cost: total * costs.fetched };
}

/**
 * Intersects what one trigram index can answer; further conditions are tested on each row.
 * @param otherwise what it costs to begin with one of the further conditions, where one has an index
 */
function byTrigrams(search: Search, otherwise: () => number): Matches | undefined {
  const { connection, table, conditions, costs } = search;
  const index = conditions.find(({ trigrams }) => trigrams !== undefined)?.trigrams?.index;
  if (index === undefined) return undefined;
  const answered = conditions.filter(({ trigrams }) => trigrams?.index === index);
  const rest = conditions.filter((condition) => !answered.includes(condition));
  const query = answered.map(({ trigrams }) => `(${trigrams?.query})`).join(' AND ');
  const trigrams = trigramTable(table.id, index);
  const found = () => connection.number(`SELECT count(*) FROM ${trigrams}(?)`, [query]);
  if (rest.some((condition) => condition.index !== undefined) && found() * costs.collected > otherwise())
    return undefined;

  const tests = allOf(rest);
  const records = `CROSS JOIN ${recordsTable(table.id)} AS r ON r.row = t.rowid`;
  const cells = [query, ...tests.cells];
  const source = { from: `${trigrams}(?) AS t ${records}`, where: tests.sql, cells };
  // Few are kept: to ask the trigrams again for the page may cost as much as the first time.
  const from = rest.length === 0 ? `${trigrams}(?) AS t` : source.from;
  const first = `SELECT t.rowid AS row FROM ${from} WHERE ${tests.sql} LIMIT ?`;
  const rows = rowsFound(connection, first, [...cells, costs.keptRows]);
  if (rows.count < costs.keptRows) return listed(search, rows);
  const members = { count: found(), condition: memberOf(`SELECT rowid FROM ${trigrams}(?)`, query), rest };
  const total = rest.length === 0 ? members.count : countOf(connection, source);
  return { total, source, cost: members.count * costs.collected, members };
}

/** Scans an index that holds one condition's column, or where there is none the table. */
function byScan(search: Search): Matches {
  const { connection, table, costs } = search;
  const scanned = scannedCondition(search);
  const columns = scanned?.index === undefined ? ['row'] : [scanned.index, 'id'];
  const scan: Scan = { tableId: table.id, ...scanSource(search, scanned), columns, kept: costs.keptRows };
  const { count, json } = scanAll(connection, scan);
  return json === undefined ? counted(search, scanned, count) : listed(search, { count, json });
}

/**
 * The condition whose index is scanned; the others are tested on rows fetched for it. Where too many
 * would have to be fetched (a guess from the first rows), reading the whole table in order is cheaper.
 */
function scannedCondition({ connection, table, conditions }: Search): Condition | undefined {
  const indexed = conditions.filter(({ index }) => index !== undefined);
  if (conditions.length === 1) return indexed[0];
  const share = (condition: Condition): number =>
    connection.number(
      `SELECT count(*) FROM (SELECT ${condition.sql} AS hit FROM ${recordsTable(table.id)} AS r LIMIT ${SAMPLE}) WHERE hit`,
      condition.cells,
    ) / SAMPLE;
  const shares = indexed.map((condition) => ({ condition, share: share(condition) }));
  const rarest = shares.toSorted((a, b) => a.share - b.share)[0];
  return rarest !== undefined && rarest.share < WORTH_FETCHING ? rarest.condition : undefined;
}

const SAMPLE = 1_000;
const WORTH_FETCHING = 0.2;
