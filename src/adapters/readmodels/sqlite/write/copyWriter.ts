/** Writes the records, histories, deliveries and activity of one copy: the served one, or the one that a rebuild fills. */
import type { Position } from '../../../../ports/eventStore.js';
import type { ReadModelWriter, RebuildScope } from '../../../../ports/readModelWriter.js';
import { type Mismatch, MismatchError } from '../../../../ports/readModelWriter.js';
import { codeOf, type Database, type Statement } from '../../../openSqlite.js';
import { ActivityTable } from '../activity.js';
import { DeliveryTable } from '../deliveries.js';
import { HistoryTable } from '../history.js';
import { discardTenant } from './discarded.js';
import { RecordTables } from './recordTables.js';
import { RecordRefusedError } from './recordWriter.js';

export class CopyWriter {
  protected readonly db: Database;
  protected readonly tables: RecordTables;
  readonly #copy: number;
  readonly #history: HistoryTable;
  readonly #deliveries: DeliveryTable;
  readonly #activity: ActivityTable;
  readonly #checkpoint: Statement<[string], number>;

  /** @param smallRows see `SMALL_ROWS` @param notesEvents see `RecordTables` */
  constructor(db: Database, copy: number, smallRows: number, notesEvents = true) {
    this.db = db;
    this.#copy = copy;
    this.tables = new RecordTables(db, copy, smallRows, notesEvents);
    this.#history = new HistoryTable(db, copy);
    this.#deliveries = new DeliveryTable(db, copy);
    this.#activity = new ActivityTable(db, copy);
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

  readonly addActivity: ReadModelWriter['addActivity'] = async (tenant, entries) =>
    throwingMismatch({ tenant, projection: 'activity' }, () => this.#activity.add(tenant, entries));

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

/** Codes about a statement or its values; all other codes are about the file, the disk or memory. */
const OF_CONTENT = ['SQLITE_ERROR', 'SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG', 'SQLITE_RANGE'];

/** Applies a part of one event. @throws MismatchError when it does not fit; an engine error as it is */
export function throwingMismatch<Result>(mismatch: Mismatch, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (isOfEngine(error)) throw error;
    const refused = error instanceof RecordRefusedError ? `record ${error.id}` : undefined;
    throw new MismatchError({ ...mismatch, refused }, { cause: error });
  }
}

function isOfEngine(error: unknown): boolean {
  const code = codeOf(error);
  const isOfContent = code === '' || OF_CONTENT.some((known) => code === known || code.startsWith(`${known}_`));
  return !isOfContent;
}
