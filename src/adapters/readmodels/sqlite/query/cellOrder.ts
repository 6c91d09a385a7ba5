/** A value as it is compared: of text its bytes, in which SQLite may have what no string of JavaScript keeps. */
export type OrderedCell = number | null | Buffer;

/** The SQL that reads it of a column. */
export const orderedCell = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END`;

/** Negative where SQLite sorts `one` before `other`: null, then numbers, then text. */
export function compareCells(one: OrderedCell, other: OrderedCell): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other)) return Buffer.compare(one, other);
  return kindOf(one) - kindOf(other);
}

const kindOf = (cell: OrderedCell): number => (cell === null ? 0 : typeof cell === 'number' ? 1 : 2);
