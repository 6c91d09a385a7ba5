/** What the follower writes to MongoDB. */

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Checkpoint,
  type DumpLine,
  type Parked,
  type RowCopy,
  type RowsLostError,
  RowsUnavailableError,
  type RowWriter,
  type Slice,
  type SpaceRef,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { type Database, MongoConnection, unlessThere } from './connection.js';
import { Definitions } from './definitions.js';
import { copyId, progressOf, spaceKey, type TenantDocument } from './documents.js';
import { Indexes } from './indexes.js';
import { tenantIn } from './reads.js';
import { SHARES, type Shares, shareOf } from './shares.js';
import { SliceWriter } from './sliceWriter.js';
import { Sweeper } from './sweeper.js';
import { Known, TenantRows } from './tenantRows.js';

/** To count or end states of a very large table takes long. */
const SOCKET_TIMEOUT_MS = 300_000;

/** Tenants that are remembered as they were stored. */
const MOST_STORED = 1_000;

export type MongoRowWriterOptions = {
  readonly url: string;
  /** The tenants that it writes; by default all, and no other process may write. */
  readonly shares?: Pick<Shares, 'held' | 'fenceOf'>;
  /** How long states that ended stay where lists find them. */
  readonly sweepAfterMs?: number;
};

const ALL_SHARES: Pick<Shares, 'held' | 'fenceOf'> = {
  held: () => Array.from({ length: SHARES }, (_, share) => share),
  fenceOf: () => 0,
};

/** The server need not be reachable: each use connects when needed. */
export const openMongoRowWriter = (options: MongoRowWriterOptions): RowWriter => new MongoRowWriter(options);

class MongoRowWriter implements RowWriter {
  readonly #connection: MongoConnection;
  readonly #indexes: Indexes;
  readonly #shares: Pick<Shares, 'held' | 'fenceOf'>;
  readonly #sweeper: Sweeper;
  readonly #known = new Known(new Definitions());
  #isIndexed: Promise<void> | undefined;
  /** Tenants as this writer has stored them last. What another process has stored since lets no commit through. */
  readonly #stored = new LRUCache<string, TenantDocument>({ max: MOST_STORED });

  constructor({ url, shares = ALL_SHARES, sweepAfterMs }: MongoRowWriterOptions) {
    this.#connection = new MongoConnection({ url, socketTimeoutMs: SOCKET_TIMEOUT_MS });
    this.#indexes = new Indexes(url);
    this.#shares = shares;
    this.#sweeper = new Sweeper(this.#connection, sweepAfterMs);
  }

  rows({ tenant, space }: SpaceRef, query: Parameters<RowWriter['rows']>[1]) {
    return this.#ask(tenant, (rows) => rows.rows(space, query));
  }

  spaces(tenant: string) {
    return this.#ask(tenant, (rows) => rows.spaces());
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

  #apply(tenant: string, id: string, slice: Slice): Promise<boolean> {
    const fence = this.#shares.fenceOf(tenant);
    return this.#connection.run(async (database) => {
      const document = (await this.#tenantIn(database, id)) ?? (await this.#create(database, tenant, id));
      if (slice.position <= document.position) return true;
      const writer = new SliceWriter(database, this.#known.definitions, document, slice);
      if ((await writer.write()) === 'clean-up goes on') return false;
      this.#shares.fenceOf(tenant);
      this.#stored.delete(id);
      const stored = await writer.commit(fence);
      if (stored !== undefined) this.#stored.set(id, stored);
      for (const s of writer.ending) this.#sweeper.noteEnded(s, slice.position);
      return true;
    });
  }

  mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void> {
    const fence = this.#shares.fenceOf(tenant);
    this.#stored.delete(tenant);
    return this.#connection.run(async (database) => {
      const { _id } = (await tenantIn(database, tenant)) ?? (await this.#create(database, tenant, tenant));
      const parked = typeof state === 'object' ? state : undefined;
      await database.tenants.updateOne(
        { _id, fence: { $lte: fence } },
        parked === undefined
          ? { $set: { state: state === 'filling' ? 'filling' : 'running' }, $unset: { parked: '' } }
          : { $set: { state: 'parked', parked } },
      );
    });
  }

  async copy(tenant: string): Promise<RowCopy> {
    const id = copyId(tenant);
    const discard = (): Promise<void> => {
      this.#stored.delete(id);
      return this.#connection.run((database) => discardTenant(database, id));
    };
    await discard();
    await this.#connection.run((database) => this.#create(database, tenant, id));
    return {
      rows: ({ space }, query) => this.#ask(id, (rows) => rows.rows(space, query)),
      spaces: () => this.#ask(id, (rows) => rows.spaces()),
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
    this.#stored.clear();
    return this.#connection.run(async (database) => {
      await discardTenant(database, copyId(tenant));
      await discardTenant(database, tenant);
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

  keep({ position, eventId, log }: Checkpoint): Promise<void> {
    const kept = { position, log, ...(eventId !== undefined && { eventId }) };
    return this.#connection.run(async ({ checkpoints }) => {
      for (const _id of this.#shares.held()) await checkpoints.replaceOne({ _id }, kept, { upsert: true });
    });
  }

  /** The server mends its files itself. */
  async lost(): Promise<readonly RowsLostError[]> {
    return [];
  }

  async close(): Promise<void> {
    await this.#sweeper.close();
    await Promise.all([this.#connection.close(), this.#indexes.close()]);
  }

  #ask<Result>(id: string, ask: (rows: TenantRows) => Promise<Result>): Promise<Result> {
    return this.#connection.run(async (database) =>
      ask(new TenantRows(database, this.#known, await this.#tenantIn(database, id))),
    );
  }

  /** All that a slice is made from is of one moment, so that what is late writes what others have written as well. */
  async #tenantIn(database: Database, id: string): Promise<TenantDocument | undefined> {
    return this.#stored.get(id) ?? (await tenantIn(database, id));
  }

  #progress(id: string): Promise<TenantProgress | undefined> {
    return this.#connection.run(async (database) => {
      const document = await this.#tenantIn(database, id);
      return document === undefined ? undefined : progressOf(document);
    });
  }

  async *#dump(id: string): AsyncGenerator<DumpLine> {
    const rows = await this.#ask(id, async (found) => found);
    yield* rows.dump();
  }

  /** Stores a tenant without rows. */
  async #create(database: Database, tenant: string, id: string): Promise<TenantDocument> {
    this.#isIndexed ??= this.#indexes.makeAlways();
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
      if (copy === undefined) return;
      const { _id: _, parked: __, ...rows } = copy;
      if (shown === undefined) {
        await unlessThere(() => database.tenants.insertOne({ ...rows, _id: tenant, state: 'running', fence }));
      } else {
        await noteGarbage(database, shown);
        // Not where another process has the share by now, nor over rows that are further.
        const { matchedCount } = await database.tenants.replaceOne(
          { _id: tenant, generation: shown.generation, position: { $lte: copy.position }, fence: { $lte: fence } },
          { ...rows, state: 'running', fence },
        );
        if (matchedCount === 0) throw new RowsUnavailableError('Another process writes these rows.');
      }
      await database.tenants.deleteOne({ _id: id });
      for (const space of Object.keys(copy.spaces)) this.#sweeper.noteEnded(spaceKey(copy, space), copy.position);
    });
  }
}

/** The rows go later, when nobody reads them. */
async function discardTenant(database: Database, id: string): Promise<void> {
  const document = await tenantIn(database, id);
  if (document === undefined) return;
  await noteGarbage(database, document);
  await database.tenants.deleteOne({ _id: id });
}

async function noteGarbage({ garbage }: Database, { tenant, generation }: TenantDocument): Promise<void> {
  await unlessThere(() => garbage.insertOne({ _id: generation, tenant, generation }));
}
