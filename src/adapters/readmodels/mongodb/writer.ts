/** The write side of the read models on MongoDB: what a slice changes, and the checkpoints, agree after any crash. */
import type { ClientSession, Db } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import { type HistoryEntry, ReadModelsUnavailableError, type TableRef } from '../../../ports/readModels.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
  RecordChange,
} from '../../../ports/readModelWriter.js';
import { type Checkpoint, catalogOf, KINDS, positionOf, readState, type State, stateOf } from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import { MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { endedDeliveries, writtenDelivery } from './deliveryWriter.js';
import { dropUnreferenced, LeaseLostError } from './fence.js';
import { LEASE_MS, Lease } from './lease.js';
import { beginRebuild } from './rebuild.js';
import { type ServerFeatures, serverFeatures } from './serverFeatures.js';
import { Slice } from './slice.js';
import { applySlice, isSmall, prepareSlice } from './sliceWriter.js';

/** A transaction must be over within a minute, and its changes stay in the server's memory until then. */
const MOST_IN_A_TRANSACTION = 5_000;

export type WriterOptions = {
  /** `mongodb://127.0.0.1:27017/assets`; without a path the database is `dynamic_assets` */
  readonly url: string;
  /** How long after its death a projector is replaced, in milliseconds; 5 seconds where unset. */
  readonly leaseMs?: number;
  /** Keep n-grams for filters? As the server's indexes allow, where unset. */
  readonly grams?: boolean;
};

/** Opens the write side, whether the server can be reached or not: each use connects when it is needed. */
export async function openMongoReadModelWriter(
  options: WriterOptions,
): Promise<ReadModelWriter & RebuildableReadModels> {
  return new MongoReadModelWriter(options);
}

/** A transaction under way: what it has gathered, and where the projections stood when it began. */
type Begun = {
  readonly slice: Slice;
  state: State;
  readonly catalog: CatalogWriter;
  readonly features: ServerFeatures;
};

class MongoReadModelWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #connection: MongoConnection;
  readonly #options: WriterOptions;
  readonly #lease: Lease;
  #features: ServerFeatures | undefined;
  #catalog: CatalogWriter | undefined;
  /** After a failed commit its requests may still be under way: a new lease shuts them out. */
  #mustAcquire = true;
  #begun: Begun | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#connection = new MongoConnection({ url: options.url, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
    this.#lease = new Lease(this.#connection, 'projector', options.leaseMs ?? LEASE_MS);
  }

  /** @throws ProjectorLeaseHeldError while another process projects */
  async begin(): Promise<void> {
    this.#begun = await this.#connection.run(async (db) => {
      this.#features ??= await serverFeatures(db);
      this.#catalog ??= new CatalogWriter(null, this.#options.grams ?? this.#features.arrayIndexes);
      const state = await this.#underLease(db, this.#catalog);
      return { slice: new Slice(), state, catalog: this.#catalog, features: this.#features };
    });
  }

  async #underLease(db: Db, catalog: CatalogWriter): Promise<State> {
    if (!this.#mustAcquire) {
      const state = await readState(db);
      if (state !== undefined && state.fence === this.#lease.token) return state;
    }
    catalog.token = await this.#lease.acquire(db);
    catalog.forget();
    this.#mustAcquire = false;
    const state = await readState(db);
    if (state === undefined) throw new LeaseLostError();
    return state;
  }

  get #current(): Begun {
    if (this.#begun === undefined) throw new Error('Nothing has been begun.');
    return this.#begun;
  }

  async commit(checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    const begun = this.#current;
    try {
      await this.#connection.run((db) => this.#commitUnderLease(db, begun, checkpoints));
    } catch (error) {
      this.#mustAcquire = true;
      throw error;
    }
    this.#begun = undefined;
  }

  /** A rebuild may have taken the lease meanwhile. Once it gives it back, the slice still fits: it left the checkpoints alone. */
  async #commitUnderLease(db: Db, begun: Begun, checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    for (;;) {
      try {
        await this.#write(db, begun, checkpoints);
        return;
      } catch (error) {
        // Whatever goes wrong after another has taken over, such as a collection that is gone, comes of that.
        if ((await readState(db))?.fence === this.#lease.token) throw error;
        this.#mustAcquire = true;
        const state = await this.#underLease(db, begun.catalog);
        if (JSON.stringify(state.checkpoints) !== JSON.stringify(begun.state.checkpoints)) throw error;
        begun.state = state;
      }
    }
  }

  async #write(db: Db, begun: Begun, reached: ReadonlyMap<string, Position>): Promise<void> {
    const { slice, state, catalog, features } = begun;
    const repeated = state.until.some(({ name }) => isUnfinished(state, name));
    const checkpoints = merged(state.checkpoints, reached);
    const until = checkpoints.map(({ name, position }) =>
      isUnfinished(state, name)
        ? { name, position: Math.max(position, positionOf(state.until, name)) }
        : { name, position },
    );
    await prepareSlice(db, catalog, slice);
    let settle: () => void = () => undefined;
    if (features.transactions && (await isSmall(db, catalog, slice, MOST_IN_A_TRANSACTION))) {
      await db.client.withSession((session) =>
        session.withTransaction(async () => {
          settle = await applySlice(db, catalog, slice, { repeated, session, announce: false });
          await this.#setState(db, { checkpoints, until }, session);
        }),
      );
    } else {
      if (!slice.isEmpty) await this.#setState(db, { until });
      settle = await applySlice(db, catalog, slice, { repeated, announce: true });
      await this.#setState(db, { checkpoints, until });
    }
    settle();
  }

  async #setState(db: Db, $set: Partial<State>, session?: ClientSession): Promise<void> {
    const { matchedCount } = await stateOf(db).updateOne(
      { _id: 'state', fence: this.#lease.token ?? -1 },
      { $set },
      session === undefined ? {} : { session },
    );
    if (matchedCount !== 1) throw new LeaseLostError();
  }

  async rollback(): Promise<void> {
    this.#begun = undefined;
    this.#catalog?.forget();
  }

  async defineTable(table: TableRef, assetType: AssetType): Promise<void> {
    this.#current.slice.define(table, assetType);
  }

  /** @throws Error when the table was never defined */
  async applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    const { slice, catalog } = this.#current;
    if (!slice.defines(table)) await this.#connection.run((db) => catalog.table(db, table));
    slice.apply(table, changes, event);
  }

  async addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void> {
    this.#current.slice.addHistory(tenant, orderId, entries);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const { slice, catalog } = this.#current;
    return slice.delivery(tenant, id) ?? this.#connection.run((db) => writtenDelivery(db, catalog, tenant, id));
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#current.slice.putDelivery(tenant, entry);
  }

  async dropDeliveries(endedBefore: string, limit: number): Promise<number> {
    const { slice } = this.#current;
    const ended = await this.#connection.run((db) => endedDeliveries(db, endedBefore, limit));
    for (const { tenant, ids } of ended) slice.dropDeliveries(tenant, ids);
    return ended.reduce((count, { ids }) => count + ids.length, 0);
  }

  async reset(projection: string): Promise<void> {
    await this.begin();
    const kind = new Map(Object.entries(KINDS)).get(projection);
    await this.#connection.run(async (db) => {
      const fence = { $lte: this.#lease.token ?? -1 };
      if (kind !== undefined) await catalogOf(db).deleteMany({ rebuild: null, kind, fence });
      this.#catalog?.forget();
    });
    await this.commit(new Map([[projection, 0]]));
    await this.#connection.run(dropUnreferenced);
  }

  async checkpoint(projection: string): Promise<Position> {
    // Nobody else moves it while this process may write, and the commit finds out when it may not any more.
    if (this.#begun !== undefined) return positionOf(this.#begun.state.checkpoints, projection);
    return this.#connection.run(async (db) => positionOf((await readState(db))?.checkpoints, projection));
  }

  async beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild> {
    return beginRebuild(this.#options, scope);
  }

  /** Gives the lease back, so that another projector may go on at once. */
  async close(): Promise<void> {
    try {
      if (this.#lease.token !== undefined) await this.#connection.run((db) => this.#lease.release(db));
    } catch (error) {
      // It runs out by itself.
      if (!(error instanceof ReadModelsUnavailableError)) throw error;
    } finally {
      this.#lease.lose();
      await this.#connection.close();
    }
  }
}

/** A slice was begun and its end not reached: some of it may be there. */
const isUnfinished = ({ checkpoints, until }: State, name: string): boolean =>
  positionOf(until, name) > positionOf(checkpoints, name);

function merged(before: readonly Checkpoint[], reached: ReadonlyMap<string, Position>): readonly Checkpoint[] {
  const all = new Map([...before.map(({ name, position }) => [name, position] as const), ...reached]);
  return [...all].map(([name, position]) => ({ name, position }));
}
