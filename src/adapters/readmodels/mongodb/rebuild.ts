/** A second copy of read models, filled beside what is served, that takes its place in one step. */
import { type Db, ObjectId } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';
import { type ReadModelRebuild, RebuildInProgressError, type RebuildScope } from '../../../ports/readModelWriter.js';
import {
  catalogOf,
  insertOnce,
  KINDS,
  positionOf,
  type RebuildDocument,
  readState,
  rebuildsOf,
  serverTime,
} from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import { prepareCollections, writeChanges } from './changesWriter.js';
import { MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { writtenDelivery } from './deliveryWriter.js';
import { dropUnreferenced, LeaseLostError } from './fencing.js';
import { LEASE_MS, Lease } from './lease.js';
import { PendingChanges } from './pendingChanges.js';

/** A rebuild that has given no sign of life for so long is taken for dead. */
const ABANDONED_AFTER_MS = 60_000;
const HEARTBEAT_MS = 10_000;

type RebuildOptions = { readonly url: string; readonly leaseMs?: number };

/**
 * Starts a rebuild over a connection of its own; remains of dead ones are cleared away first.
 * @throws RebuildInProgressError while another rebuild is at work
 */
export async function beginRebuild(options: RebuildOptions, scope: RebuildScope): Promise<ReadModelRebuild> {
  const connection = new MongoConnection({ url: options.url, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
  try {
    return await connection.run(async (db) => {
      const id = await register(db);
      const catalog = new CatalogWriter(id);
      const lease = new Lease(connection, 'rebuild', options.leaseMs ?? LEASE_MS);
      return new MongoRebuild({ connection, scope, id, catalog, lease });
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
  readonly catalog: CatalogWriter;
  readonly lease: Lease;
};

class MongoRebuild implements ReadModelRebuild {
  readonly writer: ReadModelRebuild['writer'] = this;
  readonly #parts: Parts;
  readonly #heartbeat: NodeJS.Timeout;
  #changes = new PendingChanges();
  #position: Position = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const touch = (): void => {
      // One that fails is followed by the next; a rebuild that was cleared away notices at its next commit.
      parts.connection.run((db) => this.#touch(db)).catch(() => undefined);
    };
    this.#heartbeat = setInterval(touch, HEARTBEAT_MS).unref();
  }

  async #touch(db: Db): Promise<void> {
    const { matchedCount } = await rebuildsOf(db).updateOne(
      { _id: 'rebuild', id: this.#parts.id },
      { $currentDate: { touchedAt: true } },
    );
    if (matchedCount !== 1) throw new Error('This rebuild was taken for dead and cleared away by another.');
  }

  async begin(): Promise<void> {
    this.#changes = new PendingChanges();
  }

  async commit(checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    await this.#parts.connection.run((db) => this.#write(db));
    this.#position = checkpoints.get(this.#parts.scope.projection) ?? this.#position;
  }

  async #write(db: Db): Promise<void> {
    const { catalog } = this.#parts;
    await this.#touch(db);
    await prepareCollections(db, catalog, this.#changes);
    await writeChanges(db, catalog, this.#changes, false);
    this.#changes = new PendingChanges();
  }

  async rollback(): Promise<void> {
    this.#changes = new PendingChanges();
  }

  async defineTable(ref: TableRef, assetType: AssetType): Promise<void> {
    this.#changes.define(ref, assetType);
  }

  async applyToTable(
    ref: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    this.#changes.apply(ref, changes, event);
  }

  async addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void> {
    this.#changes.addHistory(tenant, orderId, entries);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    const { connection, catalog } = this.#parts;
    return this.#changes.delivery(tenant, id) ?? connection.run((db) => writtenDelivery(db, catalog, tenant, id));
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#changes.putDelivery(tenant, entry);
  }

  position(): Position {
    return this.#position;
  }

  /** Takes the lease from the projector, which then waits for it. */
  async holdLive(): Promise<Position> {
    const { connection, lease, scope } = this.#parts;
    return connection.run(async (db) => {
      await lease.acquire(db);
      this.#changes = new PendingChanges();
      return positionOf((await readState(db))?.checkpoints, scope.projection);
    });
  }

  /** Table by table: both copies of each show the same position. */
  async swap(): Promise<void> {
    const { connection, lease } = this.#parts;
    await connection.run(async (db) => {
      await this.#write(db);
      await this.#putInPlace(db);
      await this.#unregister(db);
      await lease.release(db);
      await dropUnreferenced(db);
    });
    await this.#close();
  }

  async #putInPlace(db: Db): Promise<void> {
    const { id, scope, lease } = this.#parts;
    const catalog = catalogOf(db);
    const copies = await catalog.find({ rebuild: id }).toArray();
    const fence = lease.fencingToken ?? -1;
    for (const { _id, rebuild: _, fence: __, version: ___, ...copy } of copies) {
      const liveId = _id.slice(`${id}.`.length);
      const { matchedCount } = await catalog.updateOne(
        { _id: liveId, fence },
        { $set: { ...copy, applying: false, moving: null }, $inc: { version: 1 } },
      );
      if (matchedCount === 1) continue;
      // An entry that is there all the same belongs to a later holder of the lease.
      const live = { ...copy, _id: liveId, rebuild: null, fence, version: 0 };
      if (!(await insertOnce(catalog, live))) throw new LeaseLostError();
    }
    const gone = {
      rebuild: null,
      fence,
      kind: KINDS[scope.projection],
      ...(scope.tenant === undefined ? {} : { tenant: scope.tenant }),
      ...(scope.table === undefined ? {} : { table: scope.table }),
      _id: { $nin: copies.map(({ _id }) => _id.slice(`${id}.`.length)) },
    };
    await catalog.deleteMany(gone);
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
    clearInterval(this.#heartbeat);
    this.#parts.lease.forget();
    await this.#parts.connection.close();
  }
}
