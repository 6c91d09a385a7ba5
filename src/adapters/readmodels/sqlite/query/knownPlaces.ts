/** Where pages of an order have begun and ended: the page that comes next is gone to from there, not from the order's end. */
import { LRUCache } from 'lru-cache';
import { type Cell, type ReadTable, stateOf } from '../readConnection.js';
import type { Costs } from './costs.js';
import type { Term } from './sortTerms.js';

/** So many orders, each of one state of its table, and so many places of each: those that were noted last. */
const ORDERS = 64;
const PLACES = 64;
/** Characters: of a longer text nothing is noted, so that all of it stays below 3 MB. */
const MAX_VALUE_CHARACTERS = 255;

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
    const { position, value } = place;
    const isLong = typeof value === 'string' && value.length > MAX_VALUE_CHARACTERS;
    // No value is compared with null.
    if (position < this.#near || value === null || isLong) return;
    const order = orderOf(table, term);
    const places = this.#orders.get(order) ?? new Map<number, KnownPlace>();
    this.#orders.set(order, places);
    places.delete(position);
    places.set(position, place);
    const [oldest] = places.keys();
    if (places.size > PLACES && oldest !== undefined) places.delete(oldest);
  }
}

const orderOf = (table: ReadTable, { sql, descending }: Term): string => `${stateOf(table)} ${sql} ${descending}`;
