import type { ReadTable } from '../read/readConnection.js';

const COMMA = 0x2c;
const DIGIT_0 = 0x30;

/** Numbers of rows that were deleted are not used again: where more than so many are numbered for each that is there, a set takes too much. */
const MOST_NUMBERS_A_ROW = 16;

/** A set of row numbers, a bit for each number that the table has given: a million take 125 kB, and to ask for one a nanosecond. */
export class RowBits {
  readonly #bits: Uint8Array;

  /** @param numbers all that are added are below it */
  constructor(numbers: number) {
    this.#bits = new Uint8Array(bytesFor(numbers));
  }

  add(row: number): void {
    this.#bits[row >>> 3] = this.#byte(row) | (1 << (row & 7));
  }

  /** @param list numbers as SQLite's group_concat has them, "12,7,103" */
  addList(list: Uint8Array): void {
    if (list.length === 0) return;
    let number = 0;
    // By index: an iterator takes twice the time.
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

/** What a set of a table's rows takes. */
export const bytesFor = (numbers: number): number => Math.ceil(numbers / 8);

/** Do sets of its rows take little? */
export const hasRowBits = ({ nextRow, rowCount }: ReadTable): boolean => nextRow <= rowCount * MOST_NUMBERS_A_ROW;
