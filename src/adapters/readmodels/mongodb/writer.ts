/** The write side of the read models on MongoDB: records and checkpoints agree after any crash (docs/decisions/0010). */
import type { Db } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import { type HistoryEntry, ReadModelsUnavailableError, type TableRef } from '../../../ports/readModels.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '../../../ports/readModelWriter.js';
import { type Checkpoint, catalogOf, KINDS, positionOf, readState, type State, stateOf } from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import { prepareCollections, writeChanges } from './changesWriter.js';
import { MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { endedDeliveries, writtenDelivery } from './deliveryWriter.js';
import { dropUnreferenced, LeaseLostError } from './fencing.js';
import { LEASE_MS, Lease } from './lease.js';
import { PendingChanges } from './pendingChanges.js';
import { beginRebuild } from './rebuild.js';

export type WriterOptions = {
  /** `mongodb://127.0.0.1:27017/assets`; without a path the database is `dynamic_assets` */
  readonly url: string;
  /** How long after its death a projector is replaced, in milliseconds; 5 seconds where unset. */
  readonly leaseMs?: number;
};

/** Opens the write side, whether the server can be reached or not: each use connects when it is needed. */
export async function openMongoReadModelWriter(
  options: WriterOptions,
): Promise<ReadModelWriter & RebuildableReadModels> {
  return new MongoReadModelWriter(options);
}

/** A transaction under way: what it has gathered, and where the projections stood when it began. */
type OpenTransaction = { readonly changes: PendingChanges; state: State };

class MongoReadModelWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #connection: MongoConnection;
  readonly #options: WriterOptions;
  readonly #lease: Lease;
  readonly #catalog = new CatalogWriter(null);
  /** After a failed commit its requests may still be under way: a new lease shuts them out. */
  #mustAcquire = true;
  #transaction: OpenTransaction | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#connection = new MongoConnection({ url: options.url, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
    this.#lease = new Lease(this.#connection, 'projector', options.leaseMs ?? LEASE_MS);
  }

  /** @throws ProjectorLeaseHeldError while another process projects */
  async begin(): Promise<void> {
    const state = await this.#connection.run((db) => this.#underLease(db));
    this.#transaction = { changes: new PendingChanges(), state };
  }

  async #underLease(db: Db): Promise<State> {
    if (!this.#mustAcquire) {
      const state = await readState(db);
      if (state !== undefined && state.fence === this.#lease.fencingToken) return state;
    }
    this.#catalog.fencingToken = await this.#lease.acquire(db);
    this.#catalog.forget();
    this.#mustAcquire = false;
    const state = await readState(db);
    if (state === undefined) throw new LeaseLostError();
    return state;
  }

  get #current(): OpenTransaction {
    if (this.#transaction === undefined) throw new Error('No transaction has been begun.');
    return this.#transaction;
  }

  async commit(checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    const transaction = this.#current;
    try {
      await this.#connection.run((db) => this.#commitUnderLease(db, transaction, checkpoints));
    } catch (error) {
      this.#mustAcquire = true;
      throw error;
    }
    this.#transaction = undefined;
  }

  /** A rebuild may have taken the lease meanwhile. Once it gives it back, the changes still fit: it left the checkpoints alone. */
  async #commitUnderLease(
    db: Db,
    transaction: OpenTransaction,
    checkpoints: ReadonlyMap<string, Position>,
  ): Promise<void> {
    for (;;) {
      try {
        await this.#write(db, transaction, checkpoints);
        return;
      } catch (error) {
        // Whatever goes wrong after another has taken over, such as a collection that is gone, comes of that.
        if ((await readState(db))?.fence === this.#lease.fencingToken) throw error;
        this.#mustAcquire = true;
        const state = await this.#underLease(db);
        if (JSON.stringify(state.checkpoints) !== JSON.stringify(transaction.state.checkpoints)) throw error;
        transaction.state = state;
      }
    }
  }

  async #write(db: Db, { changes, state }: OpenTransaction, reached: ReadonlyMap<string, Position>): Promise<void> {
    const repeated = state.until.some(({ name }) => isUnfinished(state, name));
    const checkpoints = merged(state.checkpoints, reached);
    const until = checkpoints.map(({ name, position }) =>
      isUnfinished(state, name)
        ? { name, position: Math.max(position, positionOf(state.until, name)) }
        : { name, position },
    );
    await prepareCollections(db, this.#catalog, changes);
    if (!changes.isEmpty) await this.#setState(db, { until });
    await writeChanges(db, this.#catalog, changes, repeated);
    await this.#setState(db, { checkpoints, until });
  }

  async #setState(db: Db, $set: Partial<State>): Promise<void> {
    const fence = this.#lease.fencingToken ?? -1;
    const { matchedCount } = await stateOf(db).updateOne({ _id: 'state', fence }, { $set });
    if (matchedCount !== 1) throw new LeaseLostError();
  }

  async rollback(): Promise<void> {
    this.#transaction = undefined;
    this.#catalog.forget();
  }

  async defineTable(table: TableRef, assetType: AssetType): Promise<void> {
    this.#current.changes.define(table, assetType);
  }

  /** @throws Error when the table was never defined */
  async applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    const { changes: pending } = this.#current;
    if (!pending.defines(table)) await this.#connection.run((db) => this.#catalog.table(db, table));
    pending.apply(table, changes, event);
  }

  async addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void> {
    this.#current.changes.addHistory(tenant, orderId, entries);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const { changes } = this.#current;
    return changes.delivery(tenant, id) ?? this.#connection.run((db) => writtenDelivery(db, this.#catalog, tenant, id));
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#current.changes.putDelivery(tenant, entry);
  }

  async dropDeliveries(endedBefore: string, limit: number): Promise<number> {
    const { changes } = this.#current;
    const ended = await this.#connection.run((db) => endedDeliveries(db, endedBefore, limit));
    for (const { tenant, ids } of ended) changes.dropDeliveries(tenant, ids);
    return ended.reduce((count, { ids }) => count + ids.length, 0);
  }

  async reset(projection: string): Promise<void> {
    await this.begin();
    const kind = new Map(Object.entries(KINDS)).get(projection);
    await this.#connection.run(async (db) => {
      const fence = { $lte: this.#lease.fencingToken ?? -1 };
      if (kind !== undefined) await catalogOf(db).deleteMany({ rebuild: null, kind, fence });
      this.#catalog.forget();
    });
    await this.commit(new Map([[projection, 0]]));
    await this.#connection.run(dropUnreferenced);
  }

  async checkpoint(projection: string): Promise<Position> {
    // Nobody else moves it while this process may write, and the commit finds out when it may not any more.
    if (this.#transaction !== undefined) return positionOf(this.#transaction.state.checkpoints, projection);
    return this.#connection.run(async (db) => positionOf((await readState(db))?.checkpoints, projection));
  }

  async beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild> {
    return beginRebuild(this.#options, scope);
  }

  /** Gives the lease back, so that another projector may go on at once. */
  async close(): Promise<void> {
    try {
      if (this.#lease.fencingToken !== undefined) await this.#connection.run((db) => this.#lease.release(db));
    } catch (error) {
      // It runs out by itself.
      if (!(error instanceof ReadModelsUnavailableError)) throw error;
    } finally {
      this.#lease.forget();
      await this.#connection.close();
    }
  }
}

/** A commit was begun and its end not reached: some of its changes may be there. */
const isUnfinished = ({ checkpoints, until }: State, name: string): boolean =>
  positionOf(until, name) > positionOf(checkpoints, name);

function merged(before: readonly Checkpoint[], reached: ReadonlyMap<string, Position>): readonly Checkpoint[] {
  const all = new Map([...before.map(({ name, position }) => [name, position] as const), ...reached]);
  return [...all].map(([name, position]) => ({ name, position }));
}
