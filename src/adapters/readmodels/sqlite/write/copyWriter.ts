/** Writes the records, histories and deliveries of one copy: the served one, or the one that a rebuild fills. */
import type Database from 'better-sqlite3';
import type { Position } from '../../../../ports/eventStore.js';
import type { ReadModelWriter, RebuildScope } from '../../../../ports/readModelWriter.js';
import { DeliveryTable } from '../deliveries.js';
import { HistoryTable } from '../history.js';
import { discardTenant } from './discarded.js';
import { throwingMismatch } from './mismatch.js';
import { RecordTables } from './recordTables.js';

export class CopyWriter {
  protected readonly db: Database.Database;
  protected readonly tables: RecordTables;
  readonly #copy: number;
  readonly #history: HistoryTable;
  readonly #deliveries: DeliveryTable;
  readonly #checkpoint: Database.Statement<[string], number>;

  /** @param smallRows see `SMALL_ROWS` */
  constructor(db: Database.Database, copy: number, smallRows: number) {
    this.db = db;
    this.#copy = copy;
    this.tables = new RecordTables(db, copy, smallRows);
    this.#history = new HistoryTable(db, copy);
    this.#deliveries = new DeliveryTable(db, copy);
    this.#checkpoint = db.prepare<[string], number>('SELECT position FROM checkpoints WHERE projection = ?').pluck();
  }

  async rollback(): Promise<void> {
    this.tables.forget();
    if (this.db.inTransaction) this.db.exec('ROLLBACK');
  }

  readonly defineTable: ReadModelWriter['defineTable'] = async (table, assetType) =>
    throwingMismatch({ ...table, projection: 'records' }, () => this.tables.define(table, assetType));

  readonly applyToTable: ReadModelWriter['applyToTable'] = async (table, changes, event) =>
    throwingMismatch({ ...table, projection: 'records', position: event.position }, () =>
      this.tables.apply(table, changes, event),
    );

  readonly addHistory: ReadModelWriter['addHistory'] = async (tenant, orderId, entries) =>
    throwingMismatch({ tenant, projection: 'order_history' }, () => this.#history.add(tenant, orderId, entries));

  readonly delivery: ReadModelWriter['delivery'] = async (tenant, id) => this.#deliveries.get(tenant, id);

  readonly checkpoint: ReadModelWriter['checkpoint'] = async (projection) => this.servedUpTo(projection);

  /** The checkpoint of the served copy, whichever copy this writes. */
  protected servedUpTo(projection: string): Position {
    return this.#checkpoint.get(projection) ?? 0;
  }

  readonly putDelivery: ReadModelWriter['putDelivery'] = async (tenant, entry) =>
    throwingMismatch({ tenant, projection: 'deliveries' }, () => this.#deliveries.put(tenant, entry));

  dropTenant: ReadModelWriter['dropTenant'] = async (projection, tenant) => this.dropFromCopy(projection, tenant);

  protected dropFromCopy(projection: RebuildScope['projection'], tenant: string): void {
    discardTenant(this.db, this.#copy, { projection, tenant });
    this.tables.forget();
  }
}
