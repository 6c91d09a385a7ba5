/** The write side of the embedded read models: used by the one projector thread. */

import type { BroadcastChannel } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '../../../ports/readModelWriter.js';
import { type Checkpoints, openCheckpointChannel } from './checkpointWatch.js';
import { DeliveryTable, dropDeliveries } from './deliveryWriter.js';
import { clearDiscarded, discardLive, isDiscardable } from './discarded.js';
import { HistoryTable } from './history.js';
import { beginRebuild } from './rebuild.js';
import { RecordTables } from './recordTables.js';
import { LIVE, openConnection } from './schema.js';
import { beginImmediate, DataVersion } from './transactions.js';
import { WalCopier } from './walCopier.js';

const CACHE_MEGABYTES = 40;

/**
 * Opens the write side. Its calls block the calling thread while SQLite works.
 * @throws ReadModelsUnavailableError when the file cannot be opened
 */
export async function openSqliteReadModelWriter(options: {
  readonly file: string;
}): Promise<ReadModelWriter & RebuildableReadModels> {
  const db = openConnection({ file: options.file, cacheMegabytes: CACHE_MEGABYTES, readOnly: false });
  return new SqliteReadModelWriter(options.file, db, openCheckpointChannel(options.file));
}

class SqliteReadModelWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #file: string;
  readonly #db: Database.Database;
  readonly #channel: BroadcastChannel;
  readonly #walCopier: WalCopier;
  readonly #tables: RecordTables;
  readonly #history: HistoryTable;
  readonly #deliveries: DeliveryTable;
  readonly #dataVersion: DataVersion;
  readonly #checkpoint: Database.Statement<[string], number>;
  readonly #setCheckpoint: Database.Statement<[string, number]>;

  constructor(file: string, db: Database.Database, channel: BroadcastChannel) {
    this.#file = file;
    this.#db = db;
    this.#channel = channel;
    this.#walCopier = new WalCopier({ file });
    this.#tables = new RecordTables(db, LIVE);
    this.#history = new HistoryTable(db, LIVE);
    this.#deliveries = new DeliveryTable(db, LIVE);
    this.#dataVersion = new DataVersion(db);
    this.#checkpoint = db.prepare<[string], number>('SELECT position FROM checkpoints WHERE projection = ?').pluck();
    this.#setCheckpoint = db.prepare('INSERT OR REPLACE INTO checkpoints (projection, position) VALUES (?, ?)');
  }

  async begin(): Promise<void> {
    await beginImmediate(this.#db);
    if (this.#dataVersion.hasMoved()) this.#tables.forget();
  }

  async commit(checkpoints: Checkpoints): Promise<void> {
    for (const [projection, position] of checkpoints) this.#setCheckpoint.run(projection, position);
    this.#db.exec('COMMIT');
    this.#channel.postMessage(checkpoints);
    this.#walCopier.committed();
  }

  async rollback(): Promise<void> {
    this.#tables.forget();
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }

  async defineTable(table: TableRef, assetType: AssetType): Promise<void> {
    this.#tables.define(table, assetType);
  }

  async applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    this.#tables.apply(table, changes, event);
  }

  async addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void> {
    this.#history.add(tenant, orderId, entries);
  }

  async delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined> {
    return this.#deliveries.get(tenant, id);
  }

  async putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void> {
    this.#deliveries.put(tenant, entry);
  }

  async dropDeliveries(endedBefore: string, limit: number): Promise<number> {
    return dropDeliveries(this.#db, endedBefore, limit);
  }

  async reset(projection: string): Promise<void> {
    await this.begin();
    try {
      if (isDiscardable(projection)) discardLive(this.#db, { projection });
      this.#tables.forget();
      await this.commit(new Map([[projection, 0]]));
    } catch (error) {
      await this.rollback();
      throw error;
    }
    await clearDiscarded(this.#db);
  }

  async checkpoint(projection: string): Promise<Position> {
    return this.#checkpoint.get(projection) ?? 0;
  }

  async beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild> {
    return beginRebuild(this.#file, scope);
  }

  async close(): Promise<void> {
    this.#channel.close();
    await this.#walCopier.close();
    this.#db.close();
  }
}
