/** Amounts by group, and their total. A group with nothing is forgotten. */
export class Tally {
  #total = 0;
  readonly #amounts = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  of(group: string): number {
    return this.#amounts.get(group) ?? 0;
  }

  /** @param amount negative to subtract */
  add(group: string, amount: number): void {
    const left = this.of(group) + amount;
    this.#total += amount;
    if (left === 0) this.#amounts.delete(group);
    else this.#amounts.set(group, left);
  }
}
