/**
 * Builds the indexes of fields that large tables have got, beside the commits: to read millions of records for an index takes
 * minutes (docs/decisions/0055).
 */
import { catalogOf, wholeEntries } from './catalog.js';
import { createIndexes } from './catalogWriter.js';
import type { LaneDb } from './connection.js';
import { type DatabaseLocation, MongoConnection } from './connection.js';
import { shapeOf } from './recordDocument.js';

/** A build takes as long as it takes: the connection waits for ever. */
const UNLIMITED_MS = 0;

export class IndexBuilds {
  readonly #connection: MongoConnection;
  readonly #due: { mayLackIndexes: boolean };
  #running: Promise<void> | undefined;
  #failure: Error | undefined;

  /** @param due says when there may be tables without all their indexes */
  constructor(location: DatabaseLocation, due: { mayLackIndexes: boolean }) {
    this.#connection = new MongoConnection({ ...location, socketTimeoutMs: UNLIMITED_MS });
    this.#due = due;
  }

  /** Begins to build what is due, unless a build runs. @throws what ended the last one */
  begin(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    if (this.#running !== undefined || !this.#due.mayLackIndexes) return;
    this.#due.mayLackIndexes = false;
    this.#running = this.#connection
      .run(buildMissing)
      .catch((error: Error) => {
        this.#failure = error;
        this.#due.mayLackIndexes = true;
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** The server goes on with a build that it has begun. */
  async close(): Promise<void> {
    await this.#connection.close();
    await this.#running;
  }
}

async function buildMissing(db: LaneDb): Promise<void> {
  for (const entry of await wholeEntries(db, { rebuild: null, made: true, indexing: true })) {
    await createIndexes(db, entry, shapeOf(entry));
    const { _id, collection, shape } = entry;
    // Another field, or another collection, has its turn next time.
    await catalogOf(db).updateOne({ _id, collection, shape }, { $set: { indexing: false } });
  }
}
