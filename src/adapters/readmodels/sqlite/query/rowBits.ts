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
