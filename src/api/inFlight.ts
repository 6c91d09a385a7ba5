/** Requests that are being answered, by whom they are for: one tenant, or one network, does not take the whole service. */
import { Tally } from '../supervision/tally.js';

export class InFlight {
  readonly #requests = new Tally();

  /** Counts one more. @returns what ends it; undefined when there are `most` already */
  enter(key: string, most: number): (() => void) | undefined {
    if (this.#requests.of(key) >= most) return undefined;
    this.#requests.add(key, 1);
    return () => this.#requests.add(key, -1);
  }
}
