/** Counts requests in flight by tenant or network, so that none of them takes the whole service. */
import { Tally } from '../supervision/fairQueue.js';

export class InFlight {
  readonly #requests = new Tally();

  /** Counts one more. @returns a function that ends it; undefined if there are `most` already */
  enter(key: string, most: number): (() => void) | undefined {
    if (this.#requests.of(key) >= most) return undefined;
    this.#requests.add(key, 1);
    return () => this.#requests.add(key, -1);
  }
}
