import type { Cell } from '../readConnection.js';

/** Negative where SQLite sorts `one` before `other`: null, then numbers, then text by its UTF-8 bytes, then bytes. */
export function compareCells(one: Cell, other: Cell): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return kindOf(one) - kindOf(other) || Buffer.compare(bytesOf(one), bytesOf(other));
}

const kindOf = (cell: Cell): number =>
  cell === null ? 0 : typeof cell === 'number' ? 1 : typeof cell === 'string' ? 2 : 3;

const bytesOf = (cell: Cell): Buffer => (Buffer.isBuffer(cell) ? cell : Buffer.from(String(cell ?? '')));
