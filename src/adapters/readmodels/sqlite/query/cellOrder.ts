/** A value to compare. Text is its bytes, as SQLite's may be no valid string of JavaScript. */
export type OrderedCell = number | null | Buffer;

/** SQL that reads it from a column. */
export const orderedCell = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END`;

/** Negative if SQLite sorts `one` before `other`: null, then numbers, then text. */
export function compareCells(one: OrderedCell, other: OrderedCell): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other)) return Buffer.compare(one, other);
  return kindOf(one) - kindOf(other);
}

const kindOf = (cell: OrderedCell): number => (cell === null ? 0 : typeof cell === 'number' ? 1 : 2);
