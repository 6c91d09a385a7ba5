import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';
import { RowBits } from './rowBits.js';

type RowQuery = {
  readonly count: number;
  /** Of one column, `row`. */
  readonly sql: string;
  readonly cells: readonly Cell[];
  /** The same without a query, where they are in memory. */
  readonly atHand?: () => RowBits;
};

/** Rows as a query of their numbers, which indexes alone answer; also as bits, which are kept from the first need on. */
export class RowSet {
  readonly count: number;
  readonly sql: string;
  readonly cells: readonly Cell[];
  #atHand: (() => RowBits) | undefined;

  constructor({ count, sql, cells, atHand }: RowQuery) {
    this.count = count;
    this.sql = sql;
    this.cells = cells;
    this.#atHand = atHand;
  }

  /** Do the bits cost no query? */
  get isLoaded(): boolean {
    return this.#atHand !== undefined;
  }

  /** @param table of which they are, in the state that they are of */
  bits(connection: ReadConnection, table: ReadTable): RowBits {
    const bits = this.#atHand?.() ?? this.#ask(connection, table);
    this.#atHand = () => bits;
    return bits;
  }

  #ask(connection: ReadConnection, { nextRow }: ReadTable): RowBits {
    const bits = new RowBits(nextRow);
    // As one text: a hundred thousand values one by one take twice the time.
    const list = `SELECT CAST(group_concat(row) AS BLOB) FROM (${this.sql})`;
    for (const rows of connection.column<Buffer | null>(list, this.cells)) bits.addList(rows ?? Buffer.alloc(0));
    return bits;
  }
}
