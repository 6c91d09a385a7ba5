/** Walks along the index of a sort. */
import type { Cell, ReadConnection, ReadTable } from '../readConnection.js';
import { indexOf, recordsTable } from '../schema.js';
import type { Condition } from './conditions.js';
import type { Costs } from './costs.js';
import { allOf, type Matches } from './matches.js';
import type { Term } from './sortTerms.js';

/** A run of the sorted matches. The caller knows that there are `skip + wanted` of them. */
export type Run = {
  readonly connection: ReadConnection;
  readonly table: ReadTable;
  readonly costs: Costs;
  /** What a row of the table has to fulfil. */
  readonly conditions: readonly Condition[];
  readonly terms: readonly Term[];
  readonly skip: number;
  readonly wanted: number;
  /** `total` may be an estimate here. */
  readonly matches: Matches;
};

/**
 * The values of an expression over a run's rows, in the order of the first term's index (its ties by id);
 * undefined when that order has no index, or to collect the matches is cheaper.
 */
export function walk<Value>(run: Run, what: string, skip: number, wanted: number): readonly Value[] | undefined {
  const { connection, table, terms, conditions, costs, matches } = run;
  const [first] = terms;
  if (first === undefined || !first.indexed) return undefined;
  const direction = first.descending ? ' DESC' : '';
  const order = first.sql === 'id' ? `id${direction}` : `${first.sql}${direction}, id${direction}`;
  const from = `${recordsTable(table.id)} INDEXED BY ${indexOf(table.id, first.sql)}`;
  if (conditions.length === 0) {
    return connection.column<Value>(`SELECT ${what} FROM ${from} ORDER BY ${order} LIMIT ? OFFSET ?`, [wanted, skip]);
  }

  const covered = conditions.every(({ index, how }) => how === 'scan' && index === first.sql);
  const unit = covered ? costs.scanned : costs.fetched;
  const expected = ((skip + wanted) * table.rowCount * unit) / Math.max(1, matches.total);
  if (expected > Math.max(matches.cost, costs.leastWalk * unit)) return undefined;
  // The matches may all lie at the far end: then collecting them is still to come.
  const budget = Math.max(costs.leastWalk, Math.ceil(matches.cost / unit));
  const tests = allOf(conditions);
  const cells: Cell[] = [...tests.cells, budget, wanted, skip];
  const found = connection.column<Value>(
    `SELECT value FROM (SELECT ${what} AS value, ${tests.sql} AS hit FROM ${from} ORDER BY ${order} LIMIT ?)
     WHERE hit LIMIT ? OFFSET ?`,
    cells,
  );
  return found.length === wanted ? found : undefined;
}
