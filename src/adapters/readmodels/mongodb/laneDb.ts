/** The collections of one lane: their names begin with the lane's prefix. */
import type { Collection, Db, Document } from 'mongodb';

export class LaneDb {
  readonly #db: Db;
  readonly #prefix: string;

  constructor(db: Db, prefix: string) {
    this.#db = db;
    this.#prefix = prefix;
  }

  collection<Schema extends Document = Document>(name: string): Collection<Schema> {
    return this.#db.collection<Schema>(this.#prefix + name);
  }

  async collectionNames(): Promise<readonly string[]> {
    const all = await this.#db.listCollections({}, { nameOnly: true }).toArray();
    return all.flatMap(({ name }) => (name.startsWith(this.#prefix) ? [name.slice(this.#prefix.length)] : []));
  }

  async renameCollection(from: string, to: string): Promise<void> {
    await this.#db.renameCollection(this.#prefix + from, this.#prefix + to);
  }

  async dropCollection(name: string): Promise<void> {
    await this.#db.dropCollection(this.#prefix + name);
  }

  /** The server's clock, which all processes use for leases. */
  async serverTime(): Promise<Date> {
    const { localTime } = await this.#db.command({ hello: 1 });
    return localTime;
  }
}
