/** What the follower writes to MongoDB. */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Position } from '../../../ports/eventStore.js';
import {
  type Checkpoint,
  copyOf,
  type Parked,
  type RowsLostError,
  RowsUnavailableError,
  type RowWriter,
  type Slice,
  type TenantProgress,
} from '../../../ports/rowStore.js';
import { type Database, LONGEST_QUERY_MS, MongoConnection } from './connection.js';
import { progressOf, type TenantDocument } from './documents.js';
import { keptIn, makeIndexes, StoredRows } from './reads.js';
import { ALL_SHARES, OtherWriterError, shareOf } from './shares.js';
import { SliceWriter } from './sliceWriter.js';

/** A reader at an earlier progress may still be at work. */
const SWEEP_MS = 1.5 * LONGEST_QUERY_MS;
const MOST_SWEPT = 10_000;

type MongoRowWriterOptions = {
  readonly url: string;
  /** Shares of the tenants that it writes; by default all. */
  readonly held?: () => readonly number[];
  /** How long states that ended stay where lists find them, at least. */
  readonly sweepEveryMs?: number;
};

/** The server need not be reachable: each use connects when needed. */
export const openMongoRowWriter = (options: MongoRowWriterOptions): RowWriter => new MongoRowWriter(options);

class MongoRowWriter extends StoredRows implements RowWriter {
  readonly #held: () => readonly number[];
  readonly #timer: NodeJS.Timeout;
  #sweeping: Promise<void> = Promise.resolve();
  /** Spaces that have changed, and up to where: since the last sweep, and before it. */
  #noted = new Map<string, Position>();
  #due = new Map<string, Position>();
  /** Up to where spaces were swept last. */
  readonly #swept = new LRUCache<string, Position>({ max: MOST_SWEPT });
  /** Generations that were garbage at the last sweep. */
  #garbage: readonly string[] = [];

  constructor({ url, held = () => ALL_SHARES, sweepEveryMs = SWEEP_MS }: MongoRowWriterOptions) {
    super(new MongoConnection(url), true);
    this.#held = held;
    // What fails is done when the space has changed again.
    this.#timer = setInterval(() => {
      this.#sweeping = this.#sweeping
        .then(() => this.connection.run((database) => this.#sweep(database)))
        .catch(() => undefined);
    }, sweepEveryMs).unref();
  }

  apply(tenant: string, slice: Slice): Promise<boolean> {
    return this.connection.run(async (database) => {
      const document = (await database.tenants.findOne({ _id: tenant })) ?? (await create(database, tenant));
      const { position } = document;
      if (slice.position <= position) return true;
      // What was computed from other rows would end states that it does not know.
      if ((slice.after ?? position) !== position) throw new OtherWriterError();
      const writer = new SliceWriter(database, this.definitions, document, slice);
      if (!(await writer.write())) return false;
      for (const s of await writer.commit()) this.#noted.set(s, slice.position);
      return true;
    });
  }

  tenants(): Promise<ReadonlyMap<string, TenantProgress>> {
    return this.connection.run(async ({ tenants }) => {
      const held = new Set(this.#held());
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
    return this.connection.run(async (database) => {
      await create(database, tenant);
      const isParked = typeof mark === 'object';
      const change = { state: isParked ? 'parked' : (mark ?? 'running'), parked: isParked ? mark : null } as const;
      await database.tenants.updateOne({ _id: tenant }, { $set: change });
    });
  }

  swap(tenant: string): Promise<void> {
    return this.connection.run(async ({ tenants, garbage }) => {
      const [copy, shown] = [await tenants.findOne({ _id: copyOf(tenant) }), await tenants.findOne({ _id: tenant })];
      if (copy === null || shown === null) throw new RowsUnavailableError('These rows are removed.');
      const { _id, ...rows } = copy;
      // Not over rows that another process has made further.
      const behind = { _id: tenant, generation: shown.generation, position: { $lte: copy.position } };
      await noteGarbage(garbage, shown);
      const { matchedCount } = await tenants.replaceOne(behind, { ...rows, state: 'running', parked: null });
      if (matchedCount === 0) throw new OtherWriterError();
      await tenants.deleteOne({ _id });
    });
  }

  remove(tenant: string): Promise<void> {
    return this.connection.run(async (database) => {
      await discard(database, copyOf(tenant));
      await discard(database, tenant);
    });
  }

  /** The earliest of the shares; undefined if one of them has none yet. */
  checkpoint(): Promise<Checkpoint | undefined> {
    const held = this.#held();
    return this.connection.run(async (database) => {
      const own = await keptIn(database, held);
      return own.length === held.length ? own[0] : undefined;
    });
  }

  /** The server mends its files itself. */
  async keep(checkpoint: Checkpoint | undefined): Promise<readonly RowsLostError[]> {
    if (checkpoint === undefined) return [];
    const kept = this.#held().map((_id) => ({
      replaceOne: { filter: { _id }, replacement: checkpoint, upsert: true },
    }));
    if (kept.length > 0) await this.connection.run(({ checkpoints }) => checkpoints.bulkWrite(kept));
    return [];
  }

  override async close(): Promise<void> {
    clearInterval(this.#timer);
    // A sweep ends with its connection.
    await super.close();
    await this.#sweeping;
  }

  /** Takes states that ended out of what lists read, and removes what nobody needs any more, when nobody can be reading it. */
  async #sweep({ states, tenants, garbage }: Database): Promise<void> {
    const due = this.#due;
    [this.#due, this.#noted] = [this.#noted, new Map()];
    for (const [s, position] of due) {
      const ended = { s, o: 1, t: { $gt: this.#swept.get(s) ?? 0, $lte: position } } as const;
      await states.deleteMany({ ...ended, h: { $in: ['replaced', 'forgotten'] } });
      await states.updateMany(ended, { $unset: { o: '' } });
      this.#swept.set(s, position);
    }
    const found = await garbage.find().toArray();
    for (const { _id, tenant } of found.filter((each) => this.#garbage.includes(each._id))) {
      // One that is in use was noted for a swap that did not happen.
      const isUsed = (await tenants.findOne({ generation: _id })) !== null;
      // Keys of its spaces lie between these.
      const s = { $gte: `${tenant}.${_id}.`, $lt: `${tenant}.${_id}/` };
      // A process that is late may have written more.
      if (isUsed || (await states.deleteMany({ s })).deletedCount === 0) await garbage.deleteOne({ _id });
    }
    this.#garbage = found.map(({ _id }) => _id);
  }
}

/** Stores a tenant without rows, unless it is there. */
async function create(database: Database, id: string): Promise<TenantDocument> {
  await makeIndexes(database);
  // Names nothing that a process which was late could still write.
  const generation = randomBytes(6).toString('hex');
  const [tenant = id] = id.split('~');
  const empty = { tenant, generation, position: 0, state: 'running', parked: null, spaces: {} } as const;
  const options = { upsert: true, returnDocument: 'after' } as const;
  const stored = await database.tenants.findOneAndUpdate({ _id: id }, { $setOnInsert: empty }, options);
  return stored ?? { _id: id, ...empty };
}

/** The rows go later, when nobody reads them. */
async function discard({ tenants, garbage }: Database, id: string): Promise<void> {
  const document = await tenants.findOne({ _id: id });
  if (document === null) return;
  await noteGarbage(garbage, document);
  await tenants.deleteOne({ _id: id });
}

const noteGarbage = (garbage: Database['garbage'], { tenant, generation: _id }: TenantDocument) =>
  garbage.updateOne({ _id }, { $set: { tenant } }, { upsert: true });
