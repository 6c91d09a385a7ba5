/** Adds up how much each group has of something, and all together. A group with nothing is forgotten. */
export class Tally {
  #total = 0;
  readonly #amounts = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  of(group: string): number {
    return this.#amounts.get(group) ?? 0;
  }

  /** @param amount below 0 takes it away */
  add(group: string, amount: number): void {
    const left = this.of(group) + amount;
    this.#total += amount;
    if (left === 0) this.#amounts.delete(group);
    else this.#amounts.set(group, left);
  }
}
