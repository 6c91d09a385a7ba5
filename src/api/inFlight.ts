/** Requests that are being answered, by whom they are for: one tenant, or one network, does not take the whole service. */
export class InFlight {
  readonly #counts = new Map<string, number>();

  /** Counts one more. @returns what ends it; undefined when there are `most` already */
  enter(key: string, most: number): (() => void) | undefined {
    const before = this.#counts.get(key) ?? 0;
    if (before >= most) return undefined;
    this.#counts.set(key, before + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }
}
