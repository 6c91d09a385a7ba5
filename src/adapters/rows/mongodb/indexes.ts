/**
 * Indexes of the states. Those of fields are made when a list that needs one took long: a slot has one index for the tables of
 * all tenants, so there are at most as many as slots that have any.
 */
import { type IndexDescription, MongoServerError } from 'mongodb';
import type { PageQuery } from '../../../ports/rowStore.js';
import { sortKey } from './conditions.js';
import type { Database } from './connection.js';
import type { Definition } from './definitions.js';

/** Only states that have not ended, or not for long. */
const listed = (key: IndexDescription['key']): IndexDescription => ({
  key: { s: 1, o: 1, ...key },
  partialFilterExpression: { o: 1 },
});

const ALWAYS: IndexDescription[] = [
  { key: { s: 1, i: 1, f: 1 } },
  { key: { s: 1, k: 1, t: 1 } },
  { key: { s: 1, f: 1, n: 1 } },
  { key: { s: 1, t: 1, n: 1 } },
  listed({ n: 1 }),
  listed({ b: 1 }),
];

/** A list that took longer asks for an index. */
const LONG_MS = 50;
/** The server has at most 64 for a collection. */
const MOST_SLOTS = 40;
/** NotImplemented, CommandNotSupported: the server has no partial indexes, as those for tests. */
const NOT_TO_BE_HAD: readonly unknown[] = [238, 115];

/** Makes those that are not there. @param indexes by default, those that are always there */
export async function makeIndexes({ states }: Database, indexes = ALWAYS): Promise<void> {
  try {
    await states.createIndexes(indexes);
  } catch (error) {
    if (!(error instanceof MongoServerError && NOT_TO_BE_HAD.includes(error.code))) throw error;
  }
}

export class Indexes {
  readonly #asked = new Set<string>();
  #building: Promise<void> = Promise.resolve();

  /** Hears how long a list took. */
  took(milliseconds: number, database: Database, definition: Definition, { sort, conditions }: PageQuery): void {
    if (milliseconds < LONG_MS) return;
    const tested = conditions.flatMap((each) =>
      each.kind === 'equals' || each.kind === 'compares' || each.kind === 'contains' ? each.field : [],
    );
    const keys = [...tested, ...sort.slice(0, 1).map(({ field }) => field)].map((field) => sortKey(definition, field));
    for (const key of keys) {
      if (key === 'n' || key === 'i' || Number(key.slice(1)) >= MOST_SLOTS || this.#asked.has(key)) continue;
      this.#asked.add(key);
      // Beside the reads, one after the other; one that failed is asked for again. The server goes on with one that it has begun.
      this.#building = this.#building
        .then(() => makeIndexes(database, [listed({ [key]: 1, i: 1 })]))
        .catch(() => void this.#asked.delete(key));
    }
  }
}
