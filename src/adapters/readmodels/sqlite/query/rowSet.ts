/** Sets of rows: as a query of their numbers, and as bits in memory. */
import type { Cell, ReadConnection, ReadTable } from '../read/readConnection.js';

type RowQuery = {
  readonly count: number;
  /** A query of one column, `row`. */
  readonly sql: string;
  readonly cells: readonly Cell[];
  /** The same without a query, if they are in memory. */
  readonly loaded?: () => RowBits;
};

/** Rows by a query that indexes answer alone. Their bits are kept from the first use on. */
export class RowSet {
  readonly count: number;
  readonly sql: string;
  readonly cells: readonly Cell[];
  #loaded: (() => RowBits) | undefined;

  constructor({ count, sql, cells, loaded }: RowQuery) {
    this.count = count;
    this.sql = sql;
    this.cells = cells;
    this.#loaded = loaded;
  }

  /** Whether the bits cost no query. */
  get isLoaded(): boolean {
    return this.#loaded !== undefined;
  }

  /** @param table the rows' table, in the state in which they were found */
  bits(connection: ReadConnection, table: ReadTable): RowBits {
    const bits = this.#loaded?.() ?? this.#ask(connection, table);
    this.#loaded = () => bits;
    return bits;
  }

  #ask(connection: ReadConnection, { nextRow }: ReadTable): RowBits {
    const bits = new RowBits(nextRow);
    // One text: a hundred thousand values one by one take twice the time.
    const list = `SELECT CAST(group_concat(row) AS BLOB) FROM (${this.sql})`;
    for (const rows of connection.column<Buffer | null>(list, this.cells)) bits.addList(rows ?? Buffer.alloc(0));
    return bits;
  }
}

const COMMA = 0x2c;
const DIGIT_0 = 0x30;

/** Numbers of deleted rows are not used again: with more than so many numbers for each row, a set takes too much memory. */
const MOST_NUMBERS_A_ROW = 16;

/** A set of row numbers, with a bit for each number that the table has given: a million take 125 kB, and a test a nanosecond. */
export class RowBits {
  readonly #bits: Uint8Array;

  /** @param numbers above all that are added */
  constructor(numbers: number) {
    this.#bits = new Uint8Array(bytesFor(numbers));
  }

  add(row: number): void {
    this.#bits[row >>> 3] = this.#byte(row) | (1 << (row & 7));
  }

  /** @param list numbers as SQLite's group_concat writes them, "12,7,103" */
  addList(list: Uint8Array): void {
    if (list.length === 0) return;
    let number = 0;
    // An iterator takes twice the time.
    for (let index = 0; index <= list.length; index++) {
      const byte = list[index] ?? COMMA;
      if (byte === COMMA) {
        this.add(number);
        number = 0;
      } else number = number * 10 + byte - DIGIT_0;
    }
  }

  #byte(row: number): number {
    return this.#bits[row >>> 3] ?? 0;
  }

  has(row: number): boolean {
    return ((this.#byte(row) >>> (row & 7)) & 1) === 1;
  }
}

/** The bytes of a set of so many numbers. */
export const bytesFor = (numbers: number): number => Math.ceil(numbers / 8);

/** Whether sets of its rows take little memory. */
export const hasRowBits = ({ nextRow, rowCount }: Pick<ReadTable, 'nextRow' | 'rowCount'>): boolean =>
  nextRow <= rowCount * MOST_NUMBERS_A_ROW;
