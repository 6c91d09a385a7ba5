/** What the follower writes to MongoDB. */

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Checkpoint,
  type DumpLine,
  type FoundRows,
  type Parked,
  type RowCopy,
  type RowsLostError,
  type RowsQuery,
  RowsUnavailableError,
  type RowWriter,
  type Slice,
  type SpaceRef,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { type Database, MongoConnection, unlessThere } from './connection.js';
import { copyId, type Head, type Heads, progressOf, spaceKey, type TenantDocument } from './documents.js';
import { makeAlways } from './indexes.js';
import { SHARES, type Shares, shareOf } from './shares.js';
import { SliceWriter } from './slice.js';
import { Sweeper } from './sweeper.js';
import { Known, TenantRows, tenantIn } from './tenantRows.js';

const LATE = 'Another process writes these rows.';

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

/** A tenant as it was read or stored, and heads of rows that were read since. */
type Stored = { readonly document: TenantDocument; readonly heads: Heads };

/** The server need not be reachable: each use connects when needed. */
export const openMongoRowWriter = (options: MongoRowWriterOptions): RowWriter => new MongoRowWriter(options);

class MongoRowWriter implements RowWriter {
  readonly #connection: MongoConnection;
  readonly #shares: Pick<Shares, 'held' | 'fenceOf'>;
  readonly #sweeper: Sweeper;
  readonly #known = new Known();
  #isIndexed: Promise<void> | undefined;
  /** Tenants and copies as they were read or stored last. What another process has stored since lets no commit through. */
  readonly #stored = new LRUCache<string, Stored>({ max: MOST_STORED });

  constructor({ url, shares = ALL_SHARES, sweepEveryMs }: MongoRowWriterOptions) {
    this.#connection = new MongoConnection(url);
    this.#shares = shares;
    this.#sweeper = new Sweeper(this.#connection, sweepEveryMs);
  }

  rows({ tenant, space }: SpaceRef, query: RowsQuery): Promise<FoundRows> {
    return this.#rows(tenant, space, query);
  }

  spaces(tenant: string) {
    return this.#spaces(tenant);
  }

  progress(tenant: string): Promise<TenantProgress | undefined> {
    return this.#progress(tenant);
  }

  tenants(): Promise<ReadonlyMap<string, TenantProgress>> {
    return this.#connection.run(async ({ tenants }) => {
      const held = new Set(this.#shares.held());
      const found = new Map<string, TenantProgress>();
      for await (const document of tenants.find()) {
        const progress = progressOf(document);
        const isMine = document._id === document.tenant && held.has(shareOf(document.tenant));
        if (isMine && progress !== undefined) found.set(document.tenant, progress);
      }
      return found;
    });
  }

  apply(tenant: string, slice: Slice): Promise<boolean> {
    return this.#apply(tenant, tenant, slice);
  }

  async mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void> {
    const fence = this.#shares.fenceOf(tenant);
    await this.#connection.run(async (database) => {
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
    const discard = () => this.#connection.run((database) => this.#discard(database, id));
    await this.#connection.run(async (database) => {
      await this.#discard(database, id);
      await this.#create(database, tenant, tenant);
      await this.#create(database, tenant, id);
    });
    return {
      rows: ({ space }, query) => this.#rows(id, space, query),
      spaces: () => this.#spaces(id),
      progress: () => this.#progress(id),
      apply: (_, slice) => this.#apply(tenant, id, slice),
      dump: () => this.#dump(id),
      swap: () => this.#swap(tenant, id),
      discard,
    };
  }

  dump(tenant: string): AsyncIterable<DumpLine> {
    return this.#dump(tenant);
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
      const [any] = await checkpoints.find().limit(1).toArray();
      if (any === undefined) return undefined;
      const found = await checkpoints.find({ _id: { $in: held } }, { sort: { position: 1 } }).toArray();
      const [first] = found;
      if (first === undefined || found.length < held.length) return { log: any.log, position: 0 };
      const { _id, ...checkpoint } = first;
      return checkpoint;
    });
  }

  async keep({ position, eventId, log }: Checkpoint): Promise<void> {
    const replacement = { position, log, ...(eventId !== undefined && { eventId }) };
    const kept = this.#shares.held().map((_id) => ({ replaceOne: { filter: { _id }, replacement, upsert: true } }));
    if (kept.length > 0) await this.#connection.run(({ checkpoints }) => checkpoints.bulkWrite(kept));
  }

  /** The server mends its files itself. */
  async lost(): Promise<readonly RowsLostError[]> {
    return [];
  }

  async close(): Promise<void> {
    await this.#connection.close();
    await this.#sweeper.close();
  }

  /** All that a slice is made from is of one moment, so that what is late writes what others have written as well. */
  #withStored<Result>(id: string, work: (database: Database, stored: Stored | undefined) => Promise<Result>) {
    return this.#connection.run(async (database) => {
      const document = this.#stored.has(id) ? undefined : await tenantIn(database, id);
      if (document !== undefined && !this.#stored.has(id)) this.#stored.set(id, { document, heads: new Map() });
      return work(database, this.#stored.get(id));
    });
  }

  #rows(id: string, space: string, query: RowsQuery): Promise<FoundRows> {
    return this.#withStored(id, async (database, stored) => {
      const found = await new TenantRows(database, this.#known, stored?.document).rows(space, query);
      if (query.at !== undefined || stored === undefined) return found;
      // The next slice is made from these.
      const heads = stored.heads.get(space) ?? new Map<string, Head | undefined>();
      for (const each of query.ids) heads.set(each, undefined);
      for (const { id: each, n, from } of found.rows) heads.set(each, { n, f: from });
      stored.heads.set(space, heads);
      return found;
    });
  }

  #spaces(id: string) {
    return this.#withStored(id, (database, stored) => new TenantRows(database, this.#known, stored?.document).spaces());
  }

  /** As it is stored now: who asks may do so beside the follower. */
  #progress(id: string): Promise<TenantProgress | undefined> {
    return this.#connection.run(async (database) => {
      const document = await tenantIn(database, id);
      return document && progressOf(document);
    });
  }

  #apply(tenant: string, id: string, slice: Slice): Promise<boolean> {
    const fence = this.#shares.fenceOf(tenant);
    return this.#withStored(id, async (database, stored) => {
      const document = stored?.document ?? (await this.#create(database, tenant, id));
      if (slice.position <= document.position) return true;
      this.#stored.delete(id);
      const writer = new SliceWriter(database, this.#known.definitions, document, slice, stored?.heads ?? new Map());
      const ending = await writer.write();
      if (ending === undefined) return false;
      this.#shares.fenceOf(tenant);
      const next = await writer.commit(fence);
      if (next !== undefined) this.#stored.set(id, { document: next, heads: new Map() });
      for (const s of ending) this.#sweeper.noteEnded(s, slice.position);
      return true;
    });
  }

  async *#dump(id: string): AsyncGenerator<DumpLine> {
    const rows = await this.#connection.run(
      async (database) => new TenantRows(database, this.#known, await tenantIn(database, id)),
    );
    yield* rows.dump();
  }

  /** Stores a tenant without rows, unless it is there. */
  async #create(database: Database, tenant: string, id: string): Promise<TenantDocument> {
    const there = await tenantIn(database, id);
    if (there !== undefined) return there;
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

  /** Not where another process has the tenant's share by now, nor over rows that are further. */
  #swap(tenant: string, id: string): Promise<void> {
    const fence = this.#shares.fenceOf(tenant);
    return this.#connection.run(async (database) => {
      const [copy, shown] = [await tenantIn(database, id), await tenantIn(database, tenant)];
      if (copy === undefined || shown === undefined) throw new RowsUnavailableError(LATE);
      await noteGarbage(database, shown);
      const { _id: _, parked: __, ...rows } = copy;
      const { matchedCount } = await database.tenants.replaceOne(
        { _id: tenant, generation: shown.generation, position: { $lte: copy.position }, fence: { $lte: fence } },
        { ...rows, state: 'running', fence },
      );
      if (matchedCount === 0) throw new RowsUnavailableError(LATE);
      this.#stored.clear();
      await database.tenants.deleteOne({ _id: id });
      for (const space of Object.keys(copy.spaces)) this.#sweeper.noteEnded(spaceKey(copy, space), copy.position);
    });
  }

  /** The rows go later, when nobody reads them. */
  async #discard(database: Database, id: string): Promise<void> {
    this.#stored.delete(id);
    const document = await tenantIn(database, id);
    if (document === undefined) return;
    await noteGarbage(database, document);
    await database.tenants.deleteOne({ _id: id, generation: document.generation });
  }
}

async function noteGarbage({ garbage }: Database, { tenant, generation }: TenantDocument): Promise<void> {
  await unlessThere(() => garbage.insertOne({ _id: generation, tenant, generation }));
}
