/** Writes records, histories and deliveries of one copy: of what is served, or of what a rebuild fills. */
import type Database from 'better-sqlite3';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry, TableRef } from '../../../ports/readModels.js';
import { DeliveryTable } from './deliveryWriter.js';
import { HistoryTable } from './history.js';
import { RecordTables } from './recordTables.js';

export class CopyWriter {
  protected readonly db: Database.Database;
  protected readonly tables: RecordTables;
  readonly #history: HistoryTable;
  readonly #deliveries: DeliveryTable;

  constructor(db: Database.Database, copy: number) {
    this.db = db;
    this.tables = new RecordTables(db, copy);
    this.#history = new HistoryTable(db, copy);
    this.#deliveries = new DeliveryTable(db, copy);
  }

  async rollback(): Promise<void> {
    this.tables.forget();
    if (this.db.inTransaction) this.db.exec('ROLLBACK');
  }

  async defineTable(table: TableRef, assetType: AssetType): Promise<void> {
    this.tables.define(table, assetType);
  }

  async applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void> {
    this.tables.apply(table, changes, event);
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
}
