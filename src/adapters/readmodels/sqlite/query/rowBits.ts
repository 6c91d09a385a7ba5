const COMMA = 0x2c;
const DIGIT_0 = 0x30;

/** A set of row numbers, a bit for each number up to the largest: a million take 125 kB, and to ask for one a nanosecond. */
export class RowBits {
  #bits: Uint8Array;

  /** @param atFirst room for numbers below this one; it grows */
  constructor(rows: Iterable<number> = [], atFirst = 0) {
    this.#bits = new Uint8Array((atFirst >>> 3) + 1);
    for (const row of rows) this.add(row);
  }

  add(row: number): void {
    const index = row >>> 3;
    if (index >= this.#bits.length) this.#grow(index);
    this.#bits[index] = this.#byte(index) | (1 << (row & 7));
  }

  /** @param list numbers as SQLite's group_concat has them, "12,7,103" */
  addList(list: Uint8Array): void {
    let number = 0;
    for (const byte of list) {
      if (byte === COMMA) {
        this.add(number);
        number = 0;
      } else number = number * 10 + byte - DIGIT_0;
    }
    if (list.length > 0) this.add(number);
  }

  #grow(index: number): void {
    const grown = new Uint8Array(2 * index + 1);
    grown.set(this.#bits);
    this.#bits = grown;
  }

  #byte(index: number): number {
    return this.#bits[index] ?? 0;
  }

  has(row: number): boolean {
    return ((this.#byte(row >>> 3) >>> (row & 7)) & 1) === 1;
  }
}
