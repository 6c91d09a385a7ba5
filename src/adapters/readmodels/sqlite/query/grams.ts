/** Filters by one or two characters. */
import { trigramRange } from '../gramCounts.js';
import { gramTable, recordsTable, trigramColumn, trigramTerms } from '../schema.js';
import type { Condition } from './conditions.js';
import { type Rows, rowsFound } from './scan.js';
import { allOf, counted, listed, type Matches, type Search, scanCost } from './search.js';

/**
 * The rarest gram: that its records are counted decides at once between looking its records up, where they are few, and
 * looking for them along the sort, where they are many.
 */
export function byGram(search: Search): Matches | undefined {
  const { conditions, costs } = search;
  const counts = conditions.flatMap((condition) => countsOf(search, condition));
  const rarest = counts.toSorted((a, b) => a.records - b.records)[0];
  if (rarest === undefined) return undefined;
  const { condition, records, terms } = rarest;
  const rest = conditions.filter((other) => other !== condition);
  const listing = terms * costs.listed + rest.length * records * costs.fetched;
  if (records < costs.keptRows && listing < scanCost(search, condition)) {
    return listed(search, rowsWith(search, rarest.gram, rest));
  }
  return rest.length > 0 ? undefined : counted(search, condition, records);
}

/** Records with the gram in its field, of which `rest` is true as well. */
function rowsWith({ connection, table }: Search, { index, field, text }: Gram, rest: readonly Condition[]): Rows {
  const tests = allOf(rest);
  const records = rest.length === 0 ? '' : `CROSS JOIN ${recordsTable(table.id)} AS r ON r.row = t.doc`;
  return rowsFound(
    connection,
    `SELECT t.doc AS row
     FROM (SELECT DISTINCT doc FROM ${trigramTerms(table.id, index)} WHERE term >= ? AND term <= ? AND col = ?) AS t
     ${records} WHERE ${tests.sql} ORDER BY t.doc`,
    [...trigramRange(text), trigramColumn(field), ...tests.cells],
  );
}

/** How many records have a condition's gram, and how many terms of the index are gone through to list them. */
function countsOf({ connection, table }: Search, condition: Condition): readonly GramCount[] {
  const { gram } = condition;
  if (gram === undefined) return [];
  const counts = connection.all<{ field: string; records: number }>(
    `SELECT field, records FROM ${gramTable(table.id)} WHERE gram = ?`,
    [gram.text],
  );
  const records = counts.find(({ field }) => field === gram.field)?.records ?? 0;
  return [{ condition, gram, records, terms: counts.reduce((sum, count) => sum + count.records, 0) }];
}

type Gram = NonNullable<Condition['gram']>;

type GramCount = {
  readonly condition: Condition;
  readonly gram: Gram;
  readonly records: number;
  readonly terms: number;
};
