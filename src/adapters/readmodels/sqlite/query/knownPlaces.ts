/** Where pages of an order have begun and ended: the page that comes next is gone to from there, not from the order's end. */
import { LRUCache } from 'lru-cache';
import { type Cell, type ReadTable, stateOf } from '../readConnection.js';
import type { Costs } from './costs.js';
import type { Term } from './sortTerms.js';

/** So many orders, each of one state of its table, and so many places of each: those that were noted last. */
const ORDERS = 64;
const PLACES = 64;

/** An entry of the index over (value, id). */
export type KnownPlace = {
  /** How many entries come before it. */
  readonly position: number;
  readonly value: Cell;
  readonly id: Cell;
};

export class KnownPlaces {
  readonly #near: number;
  readonly #orders = new LRUCache<string, Map<number, KnownPlace>>({ max: ORDERS });

  constructor({ near }: Costs) {
    this.#near = near;
  }

  /** The furthest one that is not behind this position. */
  upTo(table: ReadTable, term: Term, position: number): KnownPlace | undefined {
    if (position < this.#near) return undefined;
    let found: KnownPlace | undefined;
    for (const place of this.#orders.get(orderOf(table, term))?.values() ?? []) {
      if (place.position <= position && place.position > (found?.position ?? -1)) found = place;
    }
    return found;
  }

  note(table: ReadTable, term: Term, place: KnownPlace): void {
    // No value is compared with null.
    if (place.position < this.#near || place.value === null) return;
    const order = orderOf(table, term);
    const places = this.#orders.get(order) ?? new Map<number, KnownPlace>();
    this.#orders.set(order, places);
    places.delete(place.position);
    places.set(place.position, place);
    const [oldest] = places.keys();
    if (places.size > PLACES && oldest !== undefined) places.delete(oldest);
  }
}

const orderOf = (table: ReadTable, { sql, descending }: Term): string => `${stateOf(table)} ${sql} ${descending}`;
