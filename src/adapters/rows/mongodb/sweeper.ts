/** Takes states that ended out of what lists read, and removes what nobody needs any more, when nobody can be reading it. */
import { type Database, LONGEST_QUERY_MS, type MongoConnection } from './connection.js';
import { type GarbageDocument, LEFTOVERS, spaceKey, type TenantDocument } from './documents.js';

/** A reader at an earlier progress may still be at work. */
const EVERY_MS = 1.5 * LONGEST_QUERY_MS;

type Ended = { readonly _id: string; readonly space: string; readonly position: number };

export class Sweeper {
  readonly #connection: MongoConnection;
  readonly #timer: NodeJS.Timeout;
  /** By space: noted since the last sweep, and before it. */
  #noted = new Map<string, Ended>();
  #due = new Map<string, Ended>();
  /** Generations that were garbage at the last sweep. */
  #garbage: readonly string[] = [];
  #sweeping: Promise<void> = Promise.resolve();

  constructor(connection: MongoConnection, everyMs = EVERY_MS) {
    this.#connection = connection;
    this.#timer = setInterval(() => this.#begin(), everyMs).unref();
  }

  /** Sweeps the spaces in which states have ended. */
  note(tenant: TenantDocument): void {
    for (const [space, position] of Object.entries(tenant.ended ?? {}))
      this.#noted.set(spaceKey(tenant, space), { _id: tenant._id, space, position });
  }

  /** What fails is done the next time. */
  #begin(): void {
    this.#sweeping = this.#sweeping
      .then(() => this.#connection.run((database) => this.#sweep(database)))
      .catch(() => undefined);
  }

  async #sweep(database: Database): Promise<void> {
    const { states, tenants } = database;
    for (const [s, { _id, space, position }] of this.#due) {
      const ended = { s, o: 1, t: { $lte: position } } as const;
      await states.deleteMany({ ...ended, h: { $in: LEFTOVERS } });
      await states.updateMany(ended, { $unset: { o: '' } });
      const mark = `ended.${space}`;
      await tenants.updateOne({ _id, [mark]: position }, { $unset: { [mark]: '' } });
      this.#due.delete(s);
    }
    [this.#due, this.#noted] = [this.#noted, new Map()];
    const found = await database.garbage.find().toArray();
    for (const each of found) if (this.#garbage.includes(each._id)) await remove(database, each);
    this.#garbage = found.map(({ _id }) => _id);
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
async function remove({ tenants, states, garbage }: Database, { _id, tenant }: GarbageDocument): Promise<void> {
  const isUsed = (await tenants.findOne({ generation: _id })) !== null;
  // Keys of its spaces lie between these.
  const [from, to] = [`${tenant}.${_id}.`, `${tenant}.${_id}/`];
  const { deletedCount } = isUsed ? { deletedCount: 0 } : await states.deleteMany({ s: { $gte: from, $lt: to } });
  if (deletedCount === 0) await garbage.deleteOne({ _id });
}
