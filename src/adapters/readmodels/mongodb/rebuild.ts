/** A second copy of read models, filled beside what is served, that takes its place in one step. */
import { type ClientSession, type Db, ObjectId } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';
import {
  type ReadModelRebuild,
  RebuildInProgressError,
  type RebuildScope,
  type RecordChange,
} from '../../../ports/readModelWriter.js';
import { catalogOf, KINDS, positionOf, type RebuildDocument, readState, rebuildsOf, serverTime } from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import { MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { writtenDelivery } from './deliveryWriter.js';
import { dropUnreferenced, LeaseLostError } from './fence.js';
import { insertOnce } from './insertOnce.js';
import { LEASE_MS, Lease } from './lease.js';
import { type ServerFeatures, serverFeatures } from './serverFeatures.js';
import { Slice } from './slice.js';
import { applySlice, prepareSlice } from './sliceWriter.js';

/** A rebuild that has given no sign of life for so long is taken for dead. */
const ABANDONED_AFTER_MS = 60_000;
const SIGN_OF_LIFE_MS = 10_000;

type RebuildOptions = { readonly url: string; readonly leaseMs?: number; readonly grams?: boolean };

/**
 * Starts a rebuild over a connection of its own; remains of dead ones are cleared away first.
 * @throws RebuildInProgressError while another rebuild is at work
 */
export async function beginRebuild(options: RebuildOptions, scope: RebuildScope): Promise<ReadModelRebuild> {
  const connection = new MongoConnection({ url: options.url, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
  try {
    return await connection.run(async (db) => {
      const id = await register(db);
      const features = await serverFeatures(db);
      const catalog = new CatalogWriter(id, options.grams ?? features.arrayIndexes);
      const lease = new Lease(connection, 'rebuild', options.leaseMs ?? LEASE_MS);
      return new MongoRebuild({ connection, scope, id, features, catalog, lease });
    });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function register(db: Db): Promise<string> {
  const other = await rebuildsOf(db).findOne({ _id: 'rebuild' });
  const now = await serverTime(db);
  if (other !== null) {
    if (now.getTime() - other.touchedAt.getTime() < ABANDONED_AFTER_MS) throw new RebuildInProgressError();
    await rebuildsOf(db).deleteOne({ _id: 'rebuild', id: other.id });
  }
  const id = new ObjectId().toHexString();
  if (!(await insertOnce<RebuildDocument>(rebuildsOf(db), { _id: 'rebuild', id, touchedAt: now })))
    throw new RebuildInProgressError();
  await catalogOf(db).deleteMany({ rebuild: { $nin: [null, id] } });
  await dropUnreferenced(db);
  return id;
}

type Parts = {
  readonly connection: MongoConnection;
  readonly scope: RebuildScope;
  readonly id: string;
  readonly features: ServerFeatures;
  readonly catalog: CatalogWriter;
  readonly lease: Lease;
};

class MongoRebuild implements ReadModelRebuild {
  readonly writer: ReadModelRebuild['writer'] = this;
  readonly #parts: Parts;
  readonly #signOfLife: NodeJS.Timeout;
  #slice = new Slice();
  #position: Position = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const touch = (): void => {
      // One that fails is followed by the next; a rebuild that was cleared away notices at its next commit.
      parts.connection.run((db) => this.#touch(db)).catch(() => undefined);
    };
    this.#signOfLife = setInterval(touch, SIGN_OF_LIFE_MS).unref();
  }

  async #touch(db: Db): Promise<void> {
    const { matchedCount } = await rebuildsOf(db).updateOne(
      { _id: 'rebuild', id: this.#parts.id },
      { $currentDate: { touchedAt: true } },
    );
    if (matchedCount !== 1) throw new Error('This rebuild was taken for dead and cleared away by another.');
  }

  async begin(): Promise<void> {
    this.#slice = new Slice();
  }

  async commit(checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    await this.#parts.connection.run((db) => this.#write(db));
    this.#position = checkpoints.get(this.#parts.scope.projection) ?? this.#position;
  }

  /** Nobody reads the copy yet, so its slices need no transaction. */
  async #write(db: Db): Promise<void> {
    const { catalog } = this.#parts;
    await this.#touch(db);
    await prepareSlice(db, catalog, this.#slice);
    const settle = await applySlice(db, catalog, this.#slice, { repeated: false, announce: false });
    settle();
    this.#slice = new Slice();
  }

  async rollback(): Promise<void> {
    this.#slice = new Slice();
  }

  async defineTable(ref: TableRef, assetType: AssetType): Promise<void> {
    this.#slice.define(ref, assetType);
  }

  async applyToTable(
    ref: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    this.#slice.apply(ref, changes, event);
  }

  async addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void> {
    this.#slice.addHistory(tenant, orderId, entries);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const { connection, catalog } = this.#parts;
    return this.#slice.delivery(tenant, id) ?? connection.run((db) => writtenDelivery(db, catalog, tenant, id));
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#slice.putDelivery(tenant, entry);
  }

  position(): Position {
    return this.#position;
  }

  /** Takes the lease from the projector, which then waits for it. */
  async holdLive(): Promise<Position> {
    const { connection, lease, scope } = this.#parts;
    return connection.run(async (db) => {
      await lease.acquire(db);
      this.#slice = new Slice();
      return positionOf((await readState(db))?.checkpoints, scope.projection);
    });
  }

  async swap(): Promise<void> {
    const { connection, lease, features } = this.#parts;
    await connection.run(async (db) => {
      await this.#write(db);
      // Without a transaction each table is swapped in a step of its own: both of its copies show the same position.
      if (!features.transactions) await this.#putInPlace(db);
      else await db.client.withSession((session) => session.withTransaction(() => this.#putInPlace(db, session)));
      await this.#unregister(db);
      await lease.release(db);
      await dropUnreferenced(db);
    });
    await this.#close();
  }

  async #putInPlace(db: Db, session?: ClientSession): Promise<void> {
    const { id, scope, lease } = this.#parts;
    const options = session === undefined ? {} : { session };
    const catalog = catalogOf(db);
    const copies = await catalog.find({ rebuild: id }, options).toArray();
    const fence = lease.token ?? -1;
    for (const { _id, rebuild: _, fence: __, version: ___, ...copy } of copies) {
      const liveId = _id.slice(`${id}.`.length);
      const { matchedCount } = await catalog.updateOne(
        { _id: liveId, fence },
        { $set: { ...copy, applying: false, moving: null }, $inc: { version: 1 } },
        options,
      );
      if (matchedCount === 1) continue;
      // An entry that is there all the same belongs to a later holder of the lease.
      const live = { ...copy, _id: liveId, rebuild: null, fence, version: 0 };
      if (!(await insertOnce(catalog, live, session))) throw new LeaseLostError();
    }
    const gone = {
      rebuild: null,
      fence,
      kind: KINDS[scope.projection],
      ...(scope.tenant === undefined ? {} : { tenant: scope.tenant }),
      ...(scope.table === undefined ? {} : { table: scope.table }),
      _id: { $nin: copies.map(({ _id }) => _id.slice(`${id}.`.length)) },
    };
    await catalog.deleteMany(gone, options);
    await catalog.deleteMany({ rebuild: id }, options);
  }

  async #unregister(db: Db): Promise<void> {
    await catalogOf(db).deleteMany({ rebuild: this.#parts.id });
    await rebuildsOf(db).deleteOne({ _id: 'rebuild', id: this.#parts.id });
  }

  async abandon(): Promise<void> {
    const { connection, lease } = this.#parts;
    try {
      await connection.run(async (db) => {
        await this.#unregister(db);
        await lease.release(db);
        await dropUnreferenced(db);
      });
    } finally {
      await this.#close();
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#signOfLife);
    this.#parts.lease.lose();
    await this.#parts.connection.close();
  }
}
