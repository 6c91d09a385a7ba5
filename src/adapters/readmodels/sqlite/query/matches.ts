/** How the records that fulfil a query's conditions are found and counted. */
import type { Partner } from '../partner.js';
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { indexOf, recordsTable, trigramTable } from '../schema.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import { type Rows, rowsFound, type Scan, scanAll } from './scan.js';

/** A way to reach the matching rows of the table, which goes by the name `r` in it. */
export type Source = { readonly from: string; readonly where: string; readonly cells: readonly Cell[] };

export type Matches = {
  readonly total: number;
  readonly source: Source;
  /** Microseconds to go through `source` and sort. */
  readonly cost: number;
  /** The matches as a set of row numbers, where it is cheap to have. */
  readonly members?: Members;
  /** The matches one by one, where they are few. */
  readonly rows?: Rows;
};

/** `condition` and `rest` together say the same as the conditions that were searched for. */
export type Members = { readonly count: number; readonly condition: Condition; readonly rest: readonly Condition[] };

/** Conditions as one SQL text. */
export function allOf(conditions: readonly Condition[]): { readonly sql: string; readonly cells: readonly Cell[] } {
  return {
    sql: conditions.length === 0 ? '1' : conditions.map(({ sql }) => sql).join(' AND '),
    cells: conditions.flatMap(({ cells }) => cells),
  };
}

type Search = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly conditions: readonly Condition[];
  readonly costs: Costs;
  /** Takes half of a scan. */
  readonly partner?: Partner | undefined;
};

/** Finds out how many records match, exactly, and how best to reach them. */
export function findMatches(search: Search): Matches {
  const { connection, table, conditions, costs } = search;
  if (conditions.length === 0) {
    const source = { from: `${recordsTable(table.id)} AS r`, where: '1', cells: [] };
    return { total: table.rowCount, source, cost: table.rowCount * costs.collected };
  }
  const lookUp = conditions.find(({ how, index }) => how === 'look up' && index !== undefined);
  if (lookUp !== undefined) {
    const source = indexSource(search, lookUp);
    const total = countOf(connection, source);
    return { total, source, cost: total * costs.fetched };
  }
  return byTrigrams(search) ?? byScan(search);
}

/** Intersects what one trigram index can answer; further conditions are tested on each row. */
function byTrigrams(search: Search): Matches | undefined {
  const { connection, table, conditions, costs } = search;
  const index = conditions.find(({ trigrams }) => trigrams !== undefined)?.trigrams?.index;
  if (index === undefined) return undefined;
  const answered = conditions.filter(({ trigrams }) => trigrams?.index === index);
  const rest = conditions.filter((condition) => !answered.includes(condition));
  const query = answered.map(({ trigrams }) => `(${trigrams?.query})`).join(' AND ');
  const trigrams = trigramTable(table.id, index);
  const found = () => connection.number(`SELECT count(*) FROM ${trigrams}(?)`, [query]);
  const scannable = rest.some((condition) => condition.index !== undefined);
  if (scannable && found() * costs.collected > table.rowCount * costs.scanned) return undefined;

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

const memberOf = (rows: string, cell: string): Condition => ({ sql: `r.row IN (${rows})`, cells: [cell], how: 'scan' });

const countOf = (connection: ReadConnection, source: Source): number =>
  connection.number(`SELECT count(*) FROM ${source.from} WHERE ${source.where}`, source.cells);

/** Scans an index that holds one condition's column, or where there is none the table. */
function byScan(search: Search): Matches {
  const { connection, table, costs, partner } = search;
  const scanned = scannedCondition(search);
  const source = scanned === undefined ? tableSource(search) : indexSource(search, scanned);
  const scanCost = table.rowCount * (scanned === undefined ? costs.collected : costs.scanned);

  const columns = scanned?.index === undefined ? ['row'] : [scanned.index, 'id'];
  const scan: Scan = { tableId: table.id, ...source, columns, kept: costs.keptRows };
  const { count, json } = scanAll(connection, table, scan, table.rowCount < costs.halvedScan ? undefined : partner);
  return json === undefined
    ? { total: count, source, cost: scanCost + count * costs.collected }
    : listed(search, { count, json });
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

function indexSource({ table, conditions }: Search, first: Condition): Source {
  const tests = allOf([first, ...conditions.filter((condition) => condition !== first)]);
  const index = indexOf(table.id, first.index ?? 'id');
  return { from: `${recordsTable(table.id)} AS r INDEXED BY ${index}`, where: tests.sql, cells: tests.cells };
}

/** Rows from a JSON array of their numbers. */
export const sourceOf = ({ id }: ReadTable, json: string): Source => ({
  from: `json_each(?) AS j CROSS JOIN ${recordsTable(id)} AS r ON r.row = j.value`,
  where: '1',
  cells: [json],
});

/** Matches that are known one by one. */
function listed({ table, costs }: Search, rows: Rows): Matches {
  const { count, json } = rows;
  return {
    total: count,
    rows,
    source: sourceOf(table, json),
    cost: count * costs.collected,
    members: { count, condition: memberOf('SELECT value FROM json_each(?)', json), rest: [] },
  };
}

function tableSource({ table, conditions }: Search): Source {
  const tests = allOf(conditions);
  return { from: `${recordsTable(table.id)} AS r NOT INDEXED`, where: tests.sql, cells: tests.cells };
}
