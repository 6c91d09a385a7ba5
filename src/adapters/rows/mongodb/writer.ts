/** What the follower writes to MongoDB. */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Position } from '../../../ports/eventStore.js';
import {
  type Checkpoint,
  type Parked,
  type RowCopy,
  type RowsLostError,
  RowsUnavailableError,
  type RowWriter,
  type Slice,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { type Database, LONGEST_QUERY_MS, MongoConnection } from './connection.js';
import { copyId, generationIn, LEFTOVERS, progressOf, spaceKey, type TenantDocument } from './documents.js';
import { makeIndexes } from './indexes.js';
import { StoredRows } from './reads.js';
import { ALL_SHARES, type HeldShares, shareOf } from './shares.js';
import { SliceWriter } from './sliceWriter.js';

/** Tenants that are remembered as they were stored. */
const MOST_STORED = 1_000;
/** A reader at an earlier progress may still be at work. */
const SWEEP_MS = 1.5 * LONGEST_QUERY_MS;

export type MongoRowWriterOptions = {
  readonly url: string;
  /** The tenants that it writes; by default all. */
  readonly shares?: HeldShares;
  /** How long states that ended stay where lists find them, at least. */
  readonly sweepEveryMs?: number;
};

/** The server need not be reachable: each use connects when needed. */
export const openMongoRowWriter = (options: MongoRowWriterOptions): RowWriter => new MongoRowWriter(options);

class MongoRowWriter extends StoredRows implements RowWriter {
  readonly #shares: HeldShares;
  readonly #sweeper: Sweeper;
  /** Tenants and copies as this writer has stored them last. What another process has stored since lets no commit through. */
  readonly #stored = new LRUCache<string, TenantDocument>({ max: MOST_STORED });

  constructor({ url, shares = ALL_SHARES, sweepEveryMs }: MongoRowWriterOptions) {
    super(new MongoConnection(url));
    this.#shares = shares;
    this.#sweeper = new Sweeper(this.connection, sweepEveryMs);
  }

  protected override async document(database: Database, id: string): Promise<TenantDocument | undefined> {
    return this.#stored.get(id) ?? super.document(database, id);
  }

  apply(tenant: string, slice: Slice): Promise<boolean> {
    return this.#apply(tenant, tenant, slice);
  }

  #apply(tenant: string, id: string, slice: Slice): Promise<boolean> {
    this.#shares.check(tenant);
    return this.connection.run(async (database) => {
      const document = (await this.document(database, id)) ?? (await this.#create(database, tenant, id));
      if (slice.position <= document.position) return true;
      const { after = document.position } = slice;
      if (after !== document.position) throw new RowsUnavailableError('Another process writes these rows.');
      this.#stored.delete(id);
      const writer = new SliceWriter(database, this.definitions, document, slice);
      if (!(await writer.write())) return false;
      this.#shares.check(tenant);
      const stored = await writer.commit();
      this.#stored.set(id, stored);
      this.#sweeper.note(stored);
      return true;
    });
  }

  /** Stores a tenant without rows, unless it is there. */
  async #create(database: Database, tenant: string, id: string): Promise<TenantDocument> {
    await makeIndexes(database);
    // Names nothing that a process which was late could still write.
    const generation = randomBytes(6).toString('hex');
    const empty = { tenant, generation, position: 0, state: 'running', parked: null, spaces: {} } as const;
    const options = { upsert: true, returnDocument: 'after' } as const;
    return (
      (await database.tenants.findOneAndUpdate({ _id: id }, { $setOnInsert: empty }, options)) ?? { _id: id, ...empty }
    );
  }

  tenants(): Promise<ReadonlyMap<string, TenantProgress>> {
    return this.connection.run(async ({ tenants }) => {
      const held = new Set(this.#shares.held());
      const found = new Map<string, TenantProgress>();
      for await (const document of tenants.find()) {
        const progress = progressOf(document);
        const isOwn = document._id === document.tenant && held.has(shareOf(document.tenant));
        if (isOwn && progress !== undefined) found.set(document.tenant, progress);
      }
      return found;
    });
  }

  mark(tenant: string, mark: 'filling' | Parked | undefined): Promise<void> {
    this.#shares.check(tenant);
    this.#stored.delete(tenant);
    return this.connection.run(async (database) => {
      await this.#create(database, tenant, tenant);
      const isParked = typeof mark === 'object';
      const change = { state: isParked ? 'parked' : (mark ?? 'running'), parked: isParked ? mark : null } as const;
      await database.tenants.updateOne({ _id: tenant }, { $set: change });
    });
  }

  async copy(tenant: string): Promise<RowCopy> {
    const id = copyId(tenant);
    const discard = (): Promise<void> => this.connection.run((database) => this.#discard(database, id));
    await discard();
    await this.connection.run(async (database) => {
      await this.#create(database, tenant, tenant);
      await this.#create(database, tenant, id);
    });
    return {
      rows: ({ space }, query) => this.rows({ tenant: id, space }, query),
      page: ({ space }, query) => this.page({ tenant: id, space }, query),
      versions: ({ space }, query) => this.versions({ tenant: id, space }, query),
      spaces: () => this.spaces(id),
      progress: () => this.progress(id),
      apply: (_, slice) => this.#apply(tenant, id, slice),
      swap: () => this.#swap(tenant, id),
      discard,
    };
  }

  #swap(tenant: string, id: string): Promise<void> {
    this.#shares.check(tenant);
    this.#stored.clear();
    return this.connection.run(async (database) => {
      const copy = await this.document(database, id);
      if (copy === undefined) throw new RowsUnavailableError('These rows are removed.');
      const { _id: _, ...rows } = copy;
      // Not over rows that another process has made further.
      const behind = { _id: tenant, position: { $lte: copy.position } };
      const { matchedCount } = await database.tenants.replaceOne(behind, { ...rows, state: 'running', parked: null });
      if (matchedCount === 0) throw new RowsUnavailableError('Another process writes these rows.');
      await this.#discard(database, id);
    });
  }

  remove(tenant: string): Promise<void> {
    this.#shares.check(tenant);
    return this.connection.run(async (database) => {
      await this.#discard(database, copyId(tenant));
      await this.#discard(database, tenant);
    });
  }

  /** The rows go later, when nobody reads them. */
  async #discard({ tenants }: Database, id: string): Promise<void> {
    this.#stored.delete(id);
    await tenants.deleteOne({ _id: id });
    this.#sweeper.noteUnused();
  }

  /** The earliest of the shares; undefined if one of them has none yet. */
  checkpoint(): Promise<Checkpoint | undefined> {
    const held = [...this.#shares.held()];
    // Others may have written these tenants before.
    this.#stored.clear();
    const options = { sort: { position: 1 }, projection: { _id: 0 } } as const;
    return this.connection.run(async ({ checkpoints }) => {
      const own = await checkpoints.find<Checkpoint>({ _id: { $in: held } }, options).toArray();
      return own.length === held.length ? own[0] : undefined;
    });
  }

  /** The server mends its files itself. */
  async keep(checkpoint: Checkpoint | undefined): Promise<readonly RowsLostError[]> {
    if (checkpoint === undefined) return [];
    const replaced = { replacement: checkpoint, upsert: true } as const;
    const kept = this.#shares.held().map((_id) => ({ replaceOne: { filter: { _id }, ...replaced } }));
    if (kept.length > 0) await this.connection.run(({ checkpoints }) => checkpoints.bulkWrite(kept));
    return [];
  }

  async close(): Promise<void> {
    await this.connection.close();
    await this.#sweeper.close();
  }
}

/** Takes states that ended out of what lists read, and removes what nobody needs any more, when nobody can be reading it. */
class Sweeper {
  readonly #connection: MongoConnection;
  readonly #timer: NodeJS.Timeout;
  /** Spaces that have changed, and up to where: since the last sweep, and before it. */
  #noted = new Map<string, Position>();
  #due = new Map<string, Position>();
  /** Up to where spaces are swept by this process. */
  readonly #swept = new Map<string, Position>();
  /** Spaces that no tenant had at the last sweep; undefined: nobody looks for more. */
  #unused: readonly string[] | undefined = [];
  #sweeping: Promise<void> = Promise.resolve();

  constructor(connection: MongoConnection, everyMs = SWEEP_MS) {
    this.#connection = connection;
    this.#timer = setInterval(() => this.#begin(), everyMs).unref();
  }

  note(tenant: TenantDocument): void {
    for (const [name, { changed }] of Object.entries(tenant.spaces))
      if (changed === tenant.position) this.#noted.set(spaceKey(tenant, name), changed);
  }

  noteUnused(): void {
    this.#unused ??= [];
  }

  /** What fails is done the next time. */
  #begin(): void {
    this.#sweeping = this.#sweeping
      .then(() => this.#connection.run((database) => this.#sweep(database)))
      .catch(() => undefined);
  }

  async #sweep({ states, tenants }: Database): Promise<void> {
    for (const [s, position] of this.#due) {
      const ended = { s, o: 1, t: { $gt: this.#swept.get(s) ?? 0, $lte: position } } as const;
      await states.deleteMany({ ...ended, h: { $in: LEFTOVERS } });
      await states.updateMany(ended, { $unset: { o: '' } });
      this.#swept.set(s, position);
      this.#due.delete(s);
    }
    [this.#due, this.#noted] = [this.#noted, new Map()];
    if (this.#unused === undefined) return;
    const used = new Set(await tenants.distinct('generation'));
    const unused = (await states.distinct('s')).filter((s) => !used.has(generationIn(s)));
    for (const s of unused) if (this.#unused.includes(s)) await states.deleteMany({ s });
    this.#unused = unused.length > 0 ? unused : undefined;
  }

  /** Call it when the connection is closed, which ends a sweep. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }
}
