/** Takes states that ended out of what lists read, and removes what nobody needs any more, when nobody can be reading it. */
import { type Database, LONGEST_QUERY_MS, type MongoConnection } from './connection.js';
import { type GarbageDocument, LEFTOVERS, spacesOf } from './documents.js';

/** A reader at an earlier progress may still be at work. */
const DEFAULT_AFTER_MS = 1.5 * LONGEST_QUERY_MS;
const REMOVED_AT_ONCE = 5_000;

type Due = { readonly at: number; readonly position: number; last: number };

export class Sweeper {
  readonly #connection: MongoConnection;
  readonly #afterMs: number;
  readonly #timer: NodeJS.Timeout;
  /** Spaces in which states ended, since when, and up to which position. */
  readonly #spaces = new Map<string, Due>();
  readonly #garbage = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(connection: MongoConnection, afterMs = DEFAULT_AFTER_MS) {
    this.#connection = connection;
    this.#afterMs = afterMs;
    this.#timer = setInterval(() => this.#begin(), Math.max(afterMs / 3, 1)).unref();
  }

  /** States of the space have ended, up to this position. */
  noteEnded(s: string, position: number): void {
    const due = this.#spaces.get(s);
    if (due === undefined) this.#spaces.set(s, { at: performance.now(), position, last: position });
    else due.last = position;
  }

  /** What fails is done the next time. */
  #begin(): void {
    this.#running = this.#running
      .then(() => this.#connection.run((database) => this.#sweep(database)))
      .catch(() => undefined);
  }

  async #sweep(database: Database): Promise<void> {
    const before = performance.now() - this.#afterMs;
    for (const [s, { at, position, last }] of [...this.#spaces]) {
      if (this.#isClosed || at > before) continue;
      this.#spaces.delete(s);
      if (last > position) this.noteEnded(s, last);
      const ended = { s, o: 1, t: { $lte: position } } as const;
      await database.states.deleteMany({ ...ended, h: { $in: LEFTOVERS } });
      await database.states.updateMany(ended, { $unset: { o: '' } });
    }
    for (const garbage of await database.garbage.find().toArray()) {
      const seenAt = this.#garbage.get(garbage._id) ?? performance.now();
      this.#garbage.set(garbage._id, seenAt);
      if (!this.#isClosed && seenAt <= before) await this.#remove(database, garbage);
    }
  }

  /** A generation that is in use after all stays: it was noted for a swap that did not happen. */
  async #remove({ tenants, states, garbage }: Database, { _id, tenant, generation }: GarbageDocument): Promise<void> {
    const [from, to] = spacesOf({ _id, tenant, generation });
    const isUsed = (await tenants.findOne({ generation })) !== null;
    const options = { projection: { _id: 1 }, limit: REMOVED_AT_ONCE, batchSize: REMOVED_AT_ONCE + 1 };
    for (let isLeft = !isUsed; isLeft && !this.#isClosed; ) {
      const some = await states.find({ s: { $gte: from, $lt: to } }, options).toArray();
      isLeft = some.length > 0;
      if (isLeft) await states.deleteMany({ _id: { $in: some.map((state) => state._id) } });
    }
    if (this.#isClosed) return;
    await garbage.deleteOne({ _id });
    this.#garbage.delete(_id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running;
  }
}
