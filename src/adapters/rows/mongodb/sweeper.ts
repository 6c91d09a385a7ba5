/** Takes states that ended out of what lists read, and removes what nobody needs any more, when nobody can be reading it. */
import { type Database, LONGEST_QUERY_MS, type MongoConnection } from './connection.js';
import { type GarbageDocument, LEFTOVERS, spacesOf } from './documents.js';

/** A reader at an earlier progress may still be at work. */
const DEFAULT_EVERY_MS = 1.5 * LONGEST_QUERY_MS;

export class Sweeper {
  readonly #connection: MongoConnection;
  readonly #timer: NodeJS.Timeout;
  /** Spaces in which states ended, up to which position: since the last sweep, and before it. */
  #ending = new Map<string, number>();
  #ended = new Map<string, number>();
  /** What was garbage at the last sweep. */
  #garbage: readonly string[] = [];
  #sweeping: Promise<void> = Promise.resolve();

  constructor(connection: MongoConnection, everyMs = DEFAULT_EVERY_MS) {
    this.#connection = connection;
    this.#timer = setInterval(() => this.#begin(), everyMs).unref();
  }

  noteEnded(s: string, position: number): void {
    this.#ending.set(s, position);
  }

  /** What fails is done the next time. */
  #begin(): void {
    this.#sweeping = this.#sweeping
      .then(() => this.#connection.run((database) => this.#sweep(database)))
      .catch(() => undefined);
  }

  async #sweep(database: Database): Promise<void> {
    for (const [s, position] of this.#ended) {
      const ended = { s, o: 1, t: { $lte: position } } as const;
      await database.states.deleteMany({ ...ended, h: { $in: LEFTOVERS } });
      await database.states.updateMany(ended, { $unset: { o: '' } });
    }
    [this.#ended, this.#ending] = [this.#ending, new Map()];
    const noted = await database.garbage.find().toArray();
    for (const each of noted) if (this.#garbage.includes(each._id)) await remove(database, each);
    this.#garbage = noted.map(({ _id }) => _id);
  }

  /** Call it when the connection is closed, which ends a sweep. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }
}

/**
 * A generation that is in use stays: it was noted for a swap that did not happen. The note stays until nothing is found, since a
 * process that is late may have written more.
 */
async function remove({ tenants, states, garbage }: Database, noted: GarbageDocument): Promise<void> {
  const { _id, generation } = noted;
  const [from, to] = spacesOf(noted);
  const isUsed = (await tenants.findOne({ generation })) !== null;
  const { deletedCount } = isUsed ? { deletedCount: 0 } : await states.deleteMany({ s: { $gte: from, $lt: to } });
  if (deletedCount === 0) await garbage.deleteOne({ _id });
}
