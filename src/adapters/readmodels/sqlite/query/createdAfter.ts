/** Finds the records behind another one in the order of creation: any depth costs as much as the first page. */
import type { CreationKey, ListBehind, RecordJson } from '../../../../ports/readModels.js';
import { PageRoom } from '../../shared/answerSize.js';
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import { recordReader } from '../read/recordReads.js';
import { idBytes, idText, microseconds, timeText } from '../rowFormat.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import type { Matches } from './matches.js';
import { guarded, rowsBy, scanTests } from './rowSources.js';

type Search = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly costs: Costs;
  readonly conditions: readonly Condition[];
  /** Undefined without conditions. */
  readonly matches: Matches | undefined;
};

/** @returns numbers of rows in order, at most `wanted` */
export function rowsBehind(search: Search, { direction, behind }: ListBehind, wanted: number): readonly number[] {
  const { connection, table, conditions, matches } = search;
  const isAscending = direction === 'asc';
  const order = isAscending ? 'r.created_at, r.id' : 'r.created_at DESC, r.id DESC';
  const range = behind === undefined ? '1' : `(r.created_at, r.id) ${isAscending ? '>' : '<'} (?, ?)`;
  const start: readonly Cell[] = behind === undefined ? [] : [microseconds(behind.createdAt), idBytes(behind.id) ?? ''];
  const inOrder = `FROM ${rowsBy(table, 'created_at')} WHERE ${range} ORDER BY ${order}`;
  if (matches === undefined) {
    return connection.column<number>(`SELECT r.row ${inOrder} LIMIT ?`, [...start, wanted]);
  }

  const affordable = rowsToWalk(search, matches, wanted);
  if (affordable > 0) {
    const tests = scanTests(conditions);
    const walked = connection.column<number>(
      `SELECT row FROM (SELECT r.row AS row, ${tests.sql} AS hit ${inOrder} LIMIT ?) WHERE hit LIMIT ?`,
      [...tests.cells, ...start, affordable, wanted],
    );
    const isWhole = () => connection.number(`SELECT 1 ${inOrder} LIMIT 1 OFFSET ?`, [...start, affordable]) === 0;
    if (walked.length === wanted || isWhole()) return walked;
  }
  const { from, where, cells } = matches.source;
  const collected = `SELECT r.row FROM ${from} WHERE ${guarded(where)} AND ${range} ORDER BY ${order} LIMIT ?`;
  return connection.column<number>(collected, [...cells, ...start, wanted]);
}

/** How many rows a walk may test one by one; 0 if to collect all matches is cheaper. */
function rowsToWalk({ table, costs }: Search, { cost, total }: Matches, wanted: number): number {
  const expected = (wanted * table.rowCount) / Math.max(1, total);
  const affordable = Math.ceil((cost * costs.walkShare) / costs.fetched);
  return expected > affordable ? 0 : affordable;
}

/** The first of these records that fit on a page. */
export function fittingTexts(connection: ReadConnection, table: ReadTable, rows: readonly number[]): RecordJson[] {
  const read = recordReader(connection, table, 'row');
  const room = new PageRoom();
  const texts: RecordJson[] = [];
  for (const row of rows) {
    const text = read(row) ?? '';
    if (!room.take(text)) break;
    texts.push(text);
  }
  return texts;
}

export function creationKey(connection: ReadConnection, table: ReadTable, row: number): CreationKey | undefined {
  const select = `SELECT created_at, id FROM ${table.shape.parts.records.rows} WHERE row = ?`;
  const [createdAt, id] = connection.tuples<[number, Buffer]>(select).get(row) ?? [];
  return createdAt === undefined || id === undefined ? undefined : { createdAt: timeText(createdAt), id: idText(id) };
}
