/** What the follower writes to MongoDB. */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Checkpoint,
  type PageQuery,
  type Parked,
  type RowCopy,
  type RowsLostError,
  RowsUnavailableError,
  type RowWriter,
  type Slice,
  type SpaceRef,
  type TenantProgress,
  type VersionQuery,
} from '../../../ports/rowStore.js';
import { type Database, MongoConnection, unlessThere } from './connection.js';
import { copyId, progressOf, type TenantDocument } from './documents.js';
import { makeAlways } from './indexes.js';
import { SHARES, type Shares, shareOf } from './shares.js';
import { SliceWriter } from './sliceWriter.js';
import { Sweeper } from './sweeper.js';
import { Known, TenantRows, tenantIn } from './tenantRows.js';

/** Tenants that are remembered as they were stored. */
const MOST_STORED = 1_000;

export type MongoRowWriterOptions = {
  readonly url: string;
  /** The tenants that it writes; by default all, and no other process may write. */
  readonly shares?: Pick<Shares, 'held' | 'fenceOf'>;
  /** How long states that ended stay where lists find them, at least. */
  readonly sweepEveryMs?: number;
};

const ALL_SHARES: Pick<Shares, 'held' | 'fenceOf'> = {
  held: () => Array.from({ length: SHARES }, (_, share) => share),
  fenceOf: () => 0,
};

/** The server need not be reachable: each use connects when needed. */
export const openMongoRowWriter = (options: MongoRowWriterOptions): RowWriter => new MongoRowWriter(options);

class MongoRowWriter implements RowWriter {
  readonly #connection: MongoConnection;
  readonly #shares: Pick<Shares, 'held' | 'fenceOf'>;
  readonly #sweeper: Sweeper;
  readonly #known = new Known();
  #isIndexed: Promise<void> | undefined;
  /** Tenants and copies as this writer has stored them last. What another process has stored since lets no commit through. */
  readonly #stored = new LRUCache<string, TenantDocument>({ max: MOST_STORED });

  constructor({ url, shares = ALL_SHARES, sweepEveryMs }: MongoRowWriterOptions) {
    this.#connection = new MongoConnection(url);
    this.#shares = shares;
    this.#sweeper = new Sweeper(this.#connection, sweepEveryMs);
  }

  rows({ tenant, space }: SpaceRef, query: Parameters<RowWriter['rows']>[1]) {
    return this.#ask(tenant, (rows) => rows.rows(space, query));
  }

  spaces(tenant: string) {
    return this.#ask(tenant, (rows) => rows.spaces());
  }

  progress(tenant: string) {
    return this.#ask(tenant, async (rows) => rows.progress);
  }

  page({ tenant, space }: SpaceRef, query: PageQuery) {
    return this.#ask(tenant, (rows) => rows.page(space, query));
  }

  versions({ tenant, space }: SpaceRef, query: VersionQuery) {
    return this.#ask(tenant, (rows) => rows.versions(space, query));
  }

  apply(tenant: string, slice: Slice): Promise<boolean> {
    return this.#apply(tenant, tenant, slice);
  }

  tenants(): Promise<ReadonlyMap<string, TenantProgress>> {
    return this.#connection.run(async ({ tenants }) => {
      const held = new Set(this.#shares.held());
      const found = new Map<string, TenantProgress>();
      for await (const document of tenants.find()) {
        const progress = progressOf(document);
        if (document._id !== document.tenant || !held.has(shareOf(document.tenant)) || progress === undefined) continue;
        found.set(document.tenant, progress);
        // What the process before has not swept.
        this.#sweeper.note(document);
      }
      return found;
    });
  }

  mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void> {
    const fence = this.#shares.fenceOf(tenant);
    this.#stored.delete(tenant);
    return this.#connection.run(async (database) => {
      await this.#create(database, tenant, tenant);
      const change =
        typeof state === 'object'
          ? { $set: { state: 'parked' as const, parked: state } }
          : { $set: { state: state ?? ('running' as const) }, $unset: { parked: '' as const } };
      await database.tenants.updateOne({ _id: tenant, fence: { $lte: fence } }, change);
    });
  }

  async copy(tenant: string): Promise<RowCopy> {
    const id = copyId(tenant);
    const discard = (): Promise<void> => this.#connection.run((database) => this.#discard(database, id));
    await discard();
    await this.#connection.run(async (database) => {
      await this.#create(database, tenant, tenant);
      await this.#create(database, tenant, id);
    });
    return {
      rows: ({ space }, query) => this.#ask(id, (rows) => rows.rows(space, query)),
      page: ({ space }, query) => this.#ask(id, (rows) => rows.page(space, query)),
      versions: ({ space }, query) => this.#ask(id, (rows) => rows.versions(space, query)),
      spaces: () => this.#ask(id, (rows) => rows.spaces()),
      progress: () => this.#ask(id, async (rows) => rows.progress),
      apply: (_, slice) => this.#apply(tenant, id, slice),
      swap: () => this.#swap(tenant, id),
      discard,
    };
  }

  remove(tenant: string): Promise<void> {
    this.#shares.fenceOf(tenant);
    return this.#connection.run(async (database) => {
      await this.#discard(database, copyId(tenant));
      await this.#discard(database, tenant);
    });
  }

  /** The earliest of the shares; the log's beginning, if one of them has none yet. */
  checkpoint(): Promise<Checkpoint | undefined> {
    const held = [...this.#shares.held()];
    // Others may have written these tenants before.
    this.#stored.clear();
    return this.#connection.run(async ({ checkpoints }) => {
      const all = await checkpoints.find({}, { sort: { position: 1 } }).toArray();
      const [first, ...others] = all.filter(({ _id }) => held.includes(_id));
      if (first !== undefined && others.length + 1 === held.length) return checkpointIn(first);
      return all[0] && { log: all[0].log, position: 0 };
    });
  }

  /** The server mends its files itself. */
  async keep(checkpoint: Checkpoint | undefined): Promise<readonly RowsLostError[]> {
    if (checkpoint === undefined) return [];
    const replacement = checkpointIn(checkpoint);
    const kept = this.#shares.held().map((_id) => ({ replaceOne: { filter: { _id }, replacement, upsert: true } }));
    if (kept.length > 0) await this.#connection.run(({ checkpoints }) => checkpoints.bulkWrite(kept));
    return [];
  }

  async close(): Promise<void> {
    await this.#connection.close();
    await this.#sweeper.close();
  }

  /** All that a slice is made from is of one moment, so that what is late writes what others have written as well. */
  async #tenantIn(database: Database, id: string): Promise<TenantDocument | undefined> {
    return this.#stored.get(id) ?? (await tenantIn(database, id));
  }

  #ask<Result>(id: string, ask: (rows: TenantRows) => Promise<Result>): Promise<Result> {
    return this.#connection.run(async (database) =>
      ask(new TenantRows(database, this.#known, await this.#tenantIn(database, id))),
    );
  }

  #apply(tenant: string, id: string, slice: Slice): Promise<boolean> {
    const fence = this.#shares.fenceOf(tenant);
    return this.#connection.run(async (database) => {
      const document = (await this.#tenantIn(database, id)) ?? (await this.#create(database, tenant, id));
      if (slice.position <= document.position) return true;
      const writer = new SliceWriter(database, this.#known.definitions, document, slice);
      if (!(await writer.write())) return false;
      this.#shares.fenceOf(tenant);
      this.#stored.delete(id);
      const stored = await writer.commit(fence);
      this.#stored.set(id, stored);
      this.#sweeper.note(stored);
      return true;
    });
  }

  /** Stores a tenant without rows, unless it is there. */
  async #create(database: Database, tenant: string, id: string): Promise<TenantDocument> {
    this.#isIndexed ??= makeAlways(database);
    await this.#isIndexed.catch((error: unknown) => {
      this.#isIndexed = undefined;
      throw error;
    });
    // Names nothing that a process which was late could still write.
    const generation = randomBytes(6).toString('hex');
    const document = { _id: id, tenant, generation, position: 0, fence: 0, state: 'running', spaces: {} } as const;
    await unlessThere(() => database.tenants.insertOne(document));
    return (await tenantIn(database, id)) ?? document;
  }

  #swap(tenant: string, id: string): Promise<void> {
    const fence = this.#shares.fenceOf(tenant);
    this.#stored.clear();
    return this.#connection.run(async (database) => {
      const [copy, shown] = [await tenantIn(database, id), await tenantIn(database, tenant)];
      if (copy === undefined || shown === undefined) throw new RowsUnavailableError('These rows are removed.');
      await noteGarbage(database, shown);
      const { _id: _, parked: __, ...rows } = copy;
      // Not where another process has the share by now, nor over rows that are further.
      const { matchedCount } = await database.tenants.replaceOne(
        { _id: tenant, generation: shown.generation, position: { $lte: copy.position }, fence: { $lte: fence } },
        { ...rows, state: 'running', fence },
      );
      if (matchedCount === 0) throw new RowsUnavailableError('Another process writes these rows.');
      await database.tenants.deleteOne({ _id: id });
      this.#sweeper.note({ ...copy, _id: tenant });
    });
  }

  /** The rows go later, when nobody reads them. */
  async #discard(database: Database, id: string): Promise<void> {
    this.#stored.delete(id);
    const document = await tenantIn(database, id);
    if (document === undefined) return;
    await noteGarbage(database, document);
    await database.tenants.deleteOne({ _id: id });
  }
}

const noteGarbage = ({ garbage }: Database, { tenant, generation }: TenantDocument) =>
  unlessThere(() => garbage.insertOne({ _id: generation, tenant }));

const checkpointIn = ({ position, eventId, log }: Checkpoint): Checkpoint => ({
  position,
  log,
  ...(eventId !== undefined && { eventId }),
});
