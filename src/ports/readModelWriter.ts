/**
 * The write side of the read models: for the projection runner, which owns it, and for rebuilds.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`.
 * What every adapter must do is written down as tests: `test/contract/readModels.ts`.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { RecordChange } from '../domain/referenceTable/changes.js';
import type { DeliveryLogEntry } from './deliveryLog.js';
import type { LogAnchor, Position, Revision } from './eventStore.js';
import type { ReadModelProof } from './readModelProof.js';
import type { Ahead, HistoryEntry, Parked, ProjectionProgress, TableRef } from './readModels.js';

/**
 * The write side, one transaction at a time: what is written between `begin` and `commit` becomes
 * visible with the checkpoint, in one step.
 */
export interface ReadModelWriter extends Pick<ProjectionProgress, 'checkpoint' | 'anchor' | 'parked' | 'ahead'> {
  begin(): Promise<void>;
  /**
   * @param place up to which the log has been read to be projected, at least to the furthest checkpoint; else the one before stays
   * @throws MismatchError, where what was applied turns out only now not to fit
   */
  commit(checkpoints: ReadonlyMap<string, Position>, place?: LogAnchor): Promise<void>;
  rollback(): Promise<void>;

  /**
   * Makes the table, or brings it to another version of its asset type. Fields are told apart by name. Those that are
   * there stay, with what they hold; an added one is null in the records that are there. Where the table is as it is to
   * be, this costs nothing.
   */
  defineTable(table: TableRef, assetType: AssetType): Promise<void>;
  /**
   * Applies changes in order; `revision`, `at` and `position` are those of the event they come from.
   * @throws MismatchError, here or at the commit
   */
  applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string; readonly position?: Position },
  ): Promise<void>;
  /** Adds history entries; one that is there already (same order and revision) is left alone. */
  addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void>;
  /** An entry of the delivery log as this transaction has it. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** Adds the entry or replaces it. One that is there at the same or a later revision is left alone. */
  putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void>;
  /**
   * Drops at most `limit` entries that ended before this time, ISO 8601; where there are many tenants, of some of them, and
   * of others with the next call. @returns how many
   */
  dropDeliveries(endedBefore: string, limit: number): Promise<number>;
  /** Takes all that a projection wrote of a tenant out of service, in this transaction; `clearDropped` removes it. */
  dropTenant(projection: RebuildScope['projection'], tenant: string): Promise<void>;
  /**
   * Removes a bounded piece of what is out of service: of dropped tenants, and what rebuilds have left behind. In
   * transactions of its own: none is open. @returns whether there was any
   */
  clearDropped(): Promise<boolean>;
  /**
   * Merges a piece of what indexes hold in several parts, each of which every read looks into: some milliseconds, more only
   * where nearly all records have the same text. In a transaction of its own: none is open. @returns whether more may be left
   */
  mergeIndexes(): Promise<boolean>;
  /** Drops everything a projection wrote, its checkpoint, and where tenants are parked in it. */
  reset(projection: string): Promise<void>;

  /** Parks a tenant's part of a projection, or moves it where it is parked. Part of the open transaction. */
  park(parked: Parked): Promise<void>;
  /** The tenant's part goes on with the others'. Part of the open transaction. */
  unpark(parked: Pick<Parked, 'tenant' | 'projection'>): Promise<void>;
  /** For other processes than the one that projects, which it need not wait for. @returns false where nothing of it is parked */
  askRetry(parked: Pick<Parked, 'tenant' | 'projection'>): Promise<boolean>;

  /** Undefined where events are applied in the order of the log, each as a whole. */
  readonly stepwise?: StepwiseWriter;

  close(): Promise<void>;
}

/**
 * Lets an event that takes long be applied in pieces, each in a transaction of its own, between which later events of other
 * streams are applied. Each call is part of the open transaction.
 */
export interface StepwiseWriter {
  /** False while a copy is filled that is to be brought to one position with what is served. */
  mayOvertake(): Promise<boolean>;
  /** Notes an event beyond the checkpoint. Forgotten by the commit whose checkpoint passes it, unless its part is parked. */
  putAhead(ahead: Ahead): Promise<void>;
  /**
   * Deletes at most `limit` of the records that a clean-up is to delete.
   * @param after where the piece before has ended; undefined at first
   * @returns where the next goes on; undefined when all are gone
   * @throws MismatchError
   */
  cleanUpSome(
    table: TableRef,
    cleanUp: {
      readonly batchId: string;
      /** Of the clean-up. */
      readonly revision: Revision;
      readonly limit: number;
      readonly after?: number | undefined;
    },
    event: { readonly revision: Revision; readonly at: string; readonly position?: Position },
  ): Promise<number | undefined>;
}

/** What does not fit: a tenant's part of a projection, or a table of it. */
export type Mismatch = {
  readonly tenant: string;
  readonly projection: RebuildScope['projection'];
  readonly table?: string | undefined;
  /** Of the event that the change comes from; undefined where that is not known. */
  readonly position?: Position | undefined;
};

/**
 * A change does not fit what is stored: that is not what the log says. Nothing is wrong with the engine, and the same
 * change fails again. Whatever else the methods of a writer throw is of the engine's making.
 */
export class MismatchError extends Error {
  override readonly name = 'MismatchError';
  readonly mismatch: Mismatch;

  constructor(mismatch: Mismatch, options: ErrorOptions) {
    const { tenant, projection, table = projection } = mismatch;
    super(`Read model ${tenant}/${table} does not fit the log; rebuild its ${projection}.`, options);
    this.mismatch = mismatch;
  }
}

/** Another process projects into these read models. It is taken over when that one stops or dies: try again. */
export class ProjectorLeaseHeldError extends Error {
  override readonly name = 'ProjectorLeaseHeldError';
  constructor() {
    super('Another process keeps these read models current; this one stands by.');
  }
}

/** One rebuild at a time: another is at work, here or in another process. */
export class RebuildInProgressError extends Error {
  override readonly name = 'RebuildInProgressError';
  constructor() {
    super('Another rebuild is at work. Wait until it has ended; one that died is taken over after a minute.');
  }
}

/** What a rebuild replaces: all of a projection, or one tenant's, or one table's. */
export type RebuildScope = {
  readonly projection: 'records' | 'order_history' | 'deliveries';
  readonly tenant?: string;
  readonly table?: string;
};

/** A second, hidden copy that is filled while the live one serves, and then takes its place. */
export interface ReadModelRebuild {
  /** Of the copy. Whoever fills it writes nothing outside of the scope. */
  readonly writer: Pick<
    ReadModelWriter,
    | 'begin'
    | 'commit'
    | 'rollback'
    | 'defineTable'
    | 'applyToTable'
    | 'addHistory'
    | 'delivery'
    | 'putDelivery'
    | 'dropTenant'
  >;
  /** Position up to which the copy is filled (as committed through `writer`). */
  position(): Position;
  /**
   * Holds the live projection still and opens a transaction on the copy. Returns the live
   * checkpoint; the caller applies what is missing up to it and then calls `swap`.
   */
  holdLive(): Promise<Position>;
  /** Commits what was applied since `holdLive`, up to this position, and lets the live projection go on. */
  release(position: Position): Promise<void>;
  /** Compares what is served with the copy, and the copy with itself; what is applied and not committed counts as well. */
  readonly proof: ReadModelProof;
  /** Puts the copy in the live one's place, in one step, and lets the live projection go on. */
  swap(): Promise<void>;
  /** Throws the copy away and lets the live projection go on. */
  abandon(): Promise<void>;
}

export interface RebuildableReadModels {
  beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild>;
  /** The tenant that follows `after`, in an order of the engine's, among those who have tables; without `after` the first. */
  nextTenant(after?: string): Promise<string | undefined>;
  /**
   * Names of the tenant's tables whose records were stored for an earlier version of the asset type, so that some fields
   * have not the index that they should have: lists by these are slow, or withheld, until a rebuild of the table.
   */
  outdatedTables(tenant: string): Promise<readonly string[]>;
}
