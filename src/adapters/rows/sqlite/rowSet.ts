/** A set of rows of a space, as bits of their numbers. */
export class RowSet {
  readonly #words: Uint32Array;
  #count = 0;

  /** @param next above the numbers of all rows */
  constructor(next: number) {
    this.#words = new Uint32Array(Math.ceil(next / 32));
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  add(n: number): void {
    const [word, bit] = [n >>> 5, 1 << (n & 31)];
    const before = this.#words[word] ?? 0;
    if ((before & bit) !== 0) return;
    this.#words[word] = before | bit;
    this.#count += 1;
  }

  has(n: number): boolean {
    return ((this.#words[n >>> 5] ?? 0) & (1 << (n & 31))) !== 0;
  }

  /** Leaves those that the other has, or has not, too. */
  keep(other: RowSet, isIn = true): void {
    let count = 0;
    for (const [i, word] of this.#words.entries()) {
      const theirs = other.#words[i] ?? 0;
      const left = word & (isIn ? theirs : ~theirs);
      this.#words[i] = left;
      count += bitsOf(left);
    }
    this.#count = count;
  }

  /** Numbers in order, without the first `offset` ones. */
  *numbers(direction: 'asc' | 'desc' = 'asc', offset = 0): Iterable<number> {
    const isUp = direction === 'asc';
    let left = offset;
    for (let step = 0; step < this.#words.length; step += 1) {
      const i = isUp ? step : this.#words.length - 1 - step;
      const word = this.#words[i] ?? 0;
      if (word === 0) continue;
      const count = bitsOf(word);
      if (count <= left) {
        left -= count;
        continue;
      }
      for (let bit = 0; bit < 32; bit += 1) {
        const place = isUp ? bit : 31 - bit;
        if ((word & (1 << place)) === 0) continue;
        if (left > 0) left -= 1;
        else yield i * 32 + place;
      }
    }
  }
}

function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return (((fours + (fours >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}
