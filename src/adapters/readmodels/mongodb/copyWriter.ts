/**
 * Collects the changes of a transaction in memory and writes them to one copy: the served one, or the one that a rebuild
 * fills. Every write is idempotent, as it is repeated after a crash.
 */
import PQueue from 'p-queue';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { ActivityEntry } from '../../../ports/activity.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { HistoryEntry } from '../../../ports/orderHistory.js';
import type { TableRef } from '../../../ports/readModels.js';
import {
  type Mismatch,
  MismatchError,
  type ReadModelWriter,
  type RebuildScope,
} from '../../../ports/readModelWriter.js';
import { writeActivity } from './activity.js';
import { type CatalogEntry, type HistoryDocument, historyOf, KINDS, type Kind, recordsOf } from './catalog.js';
import { type CatalogWriter, type OpenTable, UndefinedTableError } from './catalogWriter.js';
import type { LaneDb, MongoConnection } from './connection.js';
import { type DeliveryChanges, writeDeliveries, writtenDelivery } from './deliveries.js';
import { historyDocument } from './history.js';
import type { WriteOfOne } from './part.js';
import { RecordMismatchError, RecordRefusedError, type Repeated } from './recordDocument.js';
import { noteRecordEvents, type RecordEvent, recordEventsOf } from './recordEvents.js';
import { addStep, getOrMake, RecordWriter, type TableStep } from './recordWriter.js';
import { isRefusal } from './refusals.js';
import { type Growth, growthOf, growthOfHistory, growthOfLog } from './smallTables.js';

type TableChanges = {
  readonly ref: TableRef;
  /** Set when the transaction defines the table. */
  assetType?: AssetType;
  readonly steps: TableStep[];
  /** Which events concern records, except those that clean-ups delete. */
  readonly recordEvents: RecordEvent[];
  /** The last event with changes; undefined if there was none. */
  last?: { readonly revision: Revision; readonly at: string };
};

/** A table or delivery log that is `applying` while it is written. */
type AnnouncedWrite = {
  readonly table: OpenTable;
  readonly isLong: boolean;
  /** @returns what the catalog has of it afterwards */
  readonly write: () => Promise<Partial<CatalogEntry>>;
};

type OrderEntries = { readonly orderId: string; readonly entries: readonly HistoryEntry[] };

class PendingChanges {
  /** By tenant and table. */
  readonly tables = new Map<string, TableChanges>();
  /** By tenant. */
  readonly histories = new Map<string, OrderEntries[]>();
  /** By tenant. */
  readonly deliveries = new Map<string, DeliveryChanges>();
  /** By tenant. */
  readonly activity = new Map<string, ActivityEntry[]>();
  readonly dropped: { readonly kind: Kind; readonly tenant: string }[] = [];
}

const tableKey = ({ tenant, table }: TableRef): string => `${tenant}.${table}`;

export class CopyWriter {
  protected readonly connection: MongoConnection;
  protected readonly catalog: CatalogWriter;
  #transaction: PendingChanges | undefined;

  constructor(connection: MongoConnection, catalog: CatalogWriter) {
    this.connection = connection;
    this.catalog = catalog;
  }

  protected beginTransaction(): void {
    this.#transaction = new PendingChanges();
  }

  protected endTransaction(): void {
    this.#transaction = undefined;
  }

  get #changes(): PendingChanges {
    if (this.#transaction === undefined) throw new Error('No transaction has been begun.');
    return this.#transaction;
  }

  protected get hasChanges(): boolean {
    const { tables, histories, deliveries, activity, dropped } = this.#changes;
    return tables.size + histories.size + deliveries.size + activity.size + dropped.length > 0;
  }

  async rollback(): Promise<void> {
    this.endTransaction();
    this.catalog.forget();
  }

  readonly defineTable: ReadModelWriter['defineTable'] = async (ref, assetType) => {
    this.#table(ref).assetType = assetType;
  };

  readonly applyToTable: ReadModelWriter['applyToTable'] = async (ref, changes, event) => {
    const table = this.#table(ref);
    if (table.assetType === undefined) {
      await this.connection
        .run((db) => this.catalog.table(db, ref))
        .catch((error: unknown) => {
          if (!(error instanceof UndefinedTableError)) throw error;
          throw new MismatchError({ ...ref, projection: 'records', position: event.position }, { cause: error });
        });
    }
    table.last = event;
    for (const change of changes) addStep(table.steps, change, event);
    if (event.noted !== undefined) table.recordEvents.push(...recordEventsOf(changes, event.noted));
  };

  #table(ref: TableRef): TableChanges {
    return getOrMake(this.#changes.tables, tableKey(ref), () => ({ ref, steps: [], recordEvents: [] }));
  }

  readonly addHistory: ReadModelWriter['addHistory'] = async (tenant, orderId, entries) => {
    getOrMake(this.#changes.histories, tenant, () => []).push({ orderId, entries });
  };

  readonly addActivity: ReadModelWriter['addActivity'] = async (tenant, entries) => {
    getOrMake(this.#changes.activity, tenant, () => []).push(...entries);
  };

  readonly delivery: ReadModelWriter['delivery'] = async (tenant, id) =>
    this.#changes.deliveries.get(tenant)?.put.get(id) ??
    this.connection.run((db) => writtenDelivery(db, this.catalog, tenant, id));

  readonly putDelivery: ReadModelWriter['putDelivery'] = async (tenant, entry) => {
    const { put, states } = this.#deliveriesOf(tenant);
    if ((put.get(entry.id)?.revision ?? -1) >= entry.revision) return;
    put.set(entry.id, entry);
    states.push(entry);
  };

  dropTenant: ReadModelWriter['dropTenant'] = (projection, tenant) => this.dropFromCopy(projection, tenant);

  protected async dropFromCopy(projection: RebuildScope['projection'], tenant: string): Promise<void> {
    const { tables, histories, deliveries, activity, dropped } = this.#changes;
    const kind = KINDS[projection];
    // Changes of the tenant in this transaction are dropped as well.
    if (kind === 'records') for (const [key, { ref }] of tables) if (ref.tenant === tenant) tables.delete(key);
    if (kind === 'history') histories.delete(tenant);
    if (kind === 'deliveries') deliveries.delete(tenant);
    if (kind === 'activity') activity.delete(tenant);
    dropped.push({ kind, tenant });
  }

  protected dropFromLog(tenant: string, ids: readonly string[]): void {
    const { dropped } = this.#deliveriesOf(tenant);
    for (const id of ids) dropped.add(id);
  }

  #deliveriesOf(tenant: string): DeliveryChanges {
    return getOrMake(this.#changes.deliveries, tenant, () => ({ put: new Map(), states: [], dropped: new Set() }));
  }

  /** Defines tables, and creates the collections that get their first record. */
  protected async prepareCollections(db: LaneDb): Promise<void> {
    const { catalog } = this;
    const { tables, histories, deliveries, activity } = this.#changes;
    for (const { ref, assetType, steps } of tables.values()) {
      if (assetType !== undefined) await catalog.define(db, ref, assetType);
      if (!steps.some(({ kind }) => kind === 'records')) continue;
      await this.#make(db, 'records', await catalog.table(db, ref), () => growthOf(steps));
    }
    for (const [tenant, orders] of histories) {
      const table = await catalog.ofTenant(db, 'history', tenant);
      await this.#make(db, 'order_history', table, () => growthOfHistory(orders));
    }
    for (const [tenant, entries] of activity) {
      const table = await catalog.ofTenant(db, 'activity', tenant);
      await this.#make(db, 'activity', table, () => growthOfHistory([{ entries }]));
    }
    for (const [tenant, { put }] of deliveries) {
      if (put.size === 0) continue;
      await this.#make(db, 'deliveries', await catalog.ofTenant(db, 'deliveries', tenant), () => growthOfLog(put));
    }
  }

  /** @throws MismatchError if what it has cannot be stored in a collection for itself */
  async #make(
    db: LaneDb,
    projection: RebuildScope['projection'],
    table: OpenTable,
    growth: () => Growth,
  ): Promise<void> {
    const { tenant, table: name } = table.entry;
    await this.catalog.make(db, table, growth).catch((error: unknown) => {
      throw mismatchOf({ tenant, projection, ...(name === '' ? {} : { table: name }) }, error);
    });
  }

  /**
   * What takes long comes last: readers of a table look for changes as long as it is announced.
   * @throws MismatchError; LeaseLostError
   */
  protected async writeChanges(db: LaneDb, repeated: Repeated): Promise<void> {
    const { histories, activity, dropped } = this.#changes;
    const announced = await this.#announcedWrites(db, repeated);
    await this.#writeAnnounced(
      db,
      announced.filter(({ isLong }) => !isLong),
    );
    await this.#writeAnnounced(
      db,
      announced.filter(({ isLong }) => isLong),
    );
    const { failures } = await settled([
      ...[...histories].map(
        ([tenant, orders]) =>
          () =>
            this.#writeHistory(db, tenant, orders),
      ),
      ...[...activity].map(
        ([tenant, entries]) =>
          () =>
            writeActivity(db, this.catalog, tenant, entries),
      ),
    ]);
    if (failures.length > 0) throw failures.find((each) => !(each instanceof MismatchError)) ?? failures[0];
    for (const { kind, tenant } of dropped) await this.catalog.dropTenant(db, kind, tenant);
  }

  async #announcedWrites(db: LaneDb, repeated: Repeated): Promise<readonly AnnouncedWrite[]> {
    const { catalog } = this;
    const writes: AnnouncedWrite[] = [];
    for (const { last, ...changes } of this.#changes.tables.values()) {
      if (last === undefined) continue;
      const { ref, steps } = changes;
      const table = await catalog.table(db, ref);
      const write = async () => {
        const count = await this.#writeTable(db, table, changes, repeated);
        return { revision: last.revision, lastEventAt: last.at, count };
      };
      writes.push({ table, isLong: steps.some(isLong), write });
    }
    for (const [tenant, changes] of this.#changes.deliveries) {
      const table = await catalog.ofTenant(db, 'deliveries', tenant);
      const write = async () => {
        await writeDeliveries(db, catalog, table, changes);
        return {};
      };
      writes.push({ table, isLong: false, write });
    }
    return writes;
  }

  /**
   * Announces all by one command, writes them, and finishes them by one command: also beside one that does not fit, since
   * what stays announced is moved by the next holder of the lease.
   */
  async #writeAnnounced(db: LaneDb, writes: readonly AnnouncedWrite[]): Promise<void> {
    await this.catalog.changeAll(
      db,
      writes.map(({ table }) => ({ table, $set: { applying: true } })),
    );
    const { done, failures } = await settled(
      writes.map(({ table, write }) => async () => ({ table, $set: { ...(await write()), applying: false } })),
    );
    const [failure] = failures.filter((each) => !(each instanceof MismatchError));
    if (failure !== undefined) throw failure;
    await this.catalog.changeAll(db, done);
    if (failures.length > 0) throw failures[0];
  }

  /** @returns how many records there are then */
  async #writeTable(
    db: LaneDb,
    table: OpenTable,
    { ref, steps, recordEvents }: Pick<TableChanges, 'ref' | 'steps' | 'recordEvents'>,
    repeated: Repeated,
  ): Promise<number> {
    const { entry, shape } = table;
    const collection = recordsOf(db, entry);
    const { catalog } = this;
    const writer = new RecordWriter(collection, shape, repeated, {
      cleanedUp: () => catalog.cleanedUpRecords(db, table),
      recordEvents: () => catalog.recordEvents(db, table),
    });
    try {
      // Nothing was ever written, so there is nothing to clean up.
      if (entry.made) await writer.write(steps);
    } catch (error) {
      throw mismatchOf({ ...ref, projection: 'records' }, error);
    }
    if (recordEvents.length > 0) await noteRecordEvents(await catalog.recordEvents(db, table), recordEvents);
    // After a crash it is unknown how many records were added before.
    return repeated !== 'not' ? await collection.countDocuments({}) : entry.count + writer.added;
  }

  /** Existing entries stay as they are. */
  async #writeHistory(db: LaneDb, tenant: string, orders: readonly OrderEntries[]): Promise<void> {
    const { entry: history } = await this.catalog.ofTenant(db, 'history', tenant);
    const positions = new Map<string, Position>();
    const writes = orders.flatMap(({ orderId, entries }) =>
      entries.map((entry): WriteOfOne<HistoryDocument> => {
        const _id = `${orderId}.${entry.revision}`;
        positions.set(_id, entry.position);
        return {
          updateOne: { filter: { _id }, update: { $setOnInsert: historyDocument(orderId, entry) }, upsert: true },
        };
      }),
    );
    await historyOf(db, history).bulkWrite(writes, {
      ordered: false,
      refused(_id, options) {
        const position = positions.get(_id);
        return new MismatchError({ tenant, projection: 'order_history', position, refused: `entry ${_id}` }, options);
      },
    });
  }
}

/** Tables, histories and logs that one commit writes at the same time. */
const WRITES_AT_ONCE = 8;

/** Resolves when all have ended: none may write on after another one has failed. */
async function settled<Result>(
  tasks: readonly (() => Promise<Result>)[],
): Promise<{ readonly done: readonly Result[]; readonly failures: readonly unknown[] }> {
  const queue = new PQueue({ concurrency: WRITES_AT_ONCE });
  const outcomes = await Promise.allSettled(tasks.map((task) => queue.add(task)));
  return {
    done: outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    failures: outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
  };
}

/** Records whose changes take long enough to hold up the readers of other tables. */
const MANY_RECORDS = 200;

const isLong = (step: TableStep): boolean => step.kind === 'cleanUp' || step.byId.size > MANY_RECORDS;

/** The port's error for changes of a table that do not fit, or that the server refuses; other errors as they are. */
function mismatchOf(of: Mismatch, error: unknown): unknown {
  const position = error instanceof RecordMismatchError ? error.position : undefined;
  const refused =
    error instanceof RecordRefusedError ? `record ${error.id}` : isRefusal(error) ? 'changes of an event' : undefined;
  if (refused === undefined && !(error instanceof RecordMismatchError)) return error;
  return new MismatchError({ ...of, position, refused }, { cause: error });
}
