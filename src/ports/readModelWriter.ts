/**
 * The write side of the read models, for the projector, which owns it, and for rebuilds.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`. Contract tests for every adapter:
 * `test/contract/readModels.ts`.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { RecordChange } from '../domain/referenceTable/changes.js';
import type { ActivityEntry } from './activity.js';
import type { DeliveryLogEntry } from './deliveryLog.js';
import type { LogAnchor, Position, Revision } from './eventStore.js';
import type { HistoryEntry } from './orderHistory.js';
import type { OutOfOrder, Parked, ProjectionProgress } from './projectionProgress.js';
import type { ReadModelProof } from './readModelProof.js';
import type { TableRef } from './readModels.js';

/** One transaction at a time: writes between `begin` and `commit` become visible together with the checkpoint. */
export interface ReadModelWriter extends Pick<ProjectionProgress, 'checkpoint' | 'anchor' | 'parked' | 'outOfOrder'> {
  begin(): Promise<void>;
  /**
   * @param place how far the log was read for projecting, at or beyond every checkpoint; unset keeps the previous one
   * @throws MismatchError if a change turns out only now not to fit
   */
  commit(checkpoints: ReadonlyMap<string, Position>, place?: LogAnchor): Promise<void>;
  rollback(): Promise<void>;

  /**
   * Creates the table or brings it to this version of its asset type. Fields are matched by name: existing ones keep
   * their values, an added one is null in existing records. Costs nothing if the table is up to date.
   */
  defineTable(table: TableRef, assetType: AssetType): Promise<void>;
  /**
   * Applies changes in order, and notes that the event concerns the records that are inserted, patched or deleted.
   * @throws MismatchError, here or at the commit
   */
  applyToTable(table: TableRef, changes: readonly RecordChange[], event: AppliedEvent): Promise<void>;
  /** Adds history entries; an existing one (same order and revision) stays unchanged. */
  addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void>;
  /** Adds entries of the activity; an existing one (same place) stays unchanged. */
  addActivity(tenant: string, entries: readonly ActivityEntry[]): Promise<void>;
  /** An entry of the delivery log, as this transaction sees it. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** Adds or replaces the entry, unless the stored one has the same or a later revision. */
  putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void>;
  /**
   * Deletes at most `limit` entries that ended before this time (ISO 8601). With many tenants, each call takes some of
   * them in turn. @returns how many
   */
  dropDeliveries(endedBefore: string, limit: number): Promise<number>;
  /** Takes all that a projection wrote for a tenant out of service, in this transaction; see `clearDropped`. */
  dropTenant(projection: RebuildScope['projection'], tenant: string): Promise<void>;
  /**
   * Deletes a bounded piece of data that is out of service: of dropped tenants and of ended rebuilds. Uses its own
   * transactions: call it with none open. @returns whether there was any
   */
  clearDropped(): Promise<boolean>;
  /**
   * Merges some segments of text indexes, since every read visits each segment. Takes some milliseconds, more only if
   * nearly all records have the same text. Uses its own transaction: call it with none open. An engine that builds indexes
   * beside its transactions begins to, and does not wait. @returns whether more may be left
   */
  mergeIndexes(): Promise<boolean>;
  /** Deletes everything a projection wrote, with its checkpoint and parked parts. */
  reset(projection: string): Promise<void>;

  /** Parks a tenant's part of a projection, or updates a parked one. Part of the open transaction. */
  park(parked: Parked): Promise<void>;
  /** The tenant's part continues with all others. Part of the open transaction. */
  unpark(parked: Pick<Parked, 'tenant' | 'projection'>): Promise<void>;
  /** Asks the projecting process for a retry; callable from other processes. @returns false if the part is not parked */
  askRetry(parked: Pick<Parked, 'tenant' | 'projection'>): Promise<boolean>;

  /** Undefined if the engine applies events in log order only, each as a whole. */
  readonly stepwise?: StepwiseWriter;

  close(): Promise<void>;
}

/**
 * Applies a long event in pieces, each in its own transaction, so that later events of other streams can go between.
 * Each call is part of the open transaction.
 */
export interface StepwiseWriter {
  /** False while a rebuild needs the copy and the served data at one position. */
  mayOvertake(): Promise<boolean>;
  /**
   * Records an event applied beyond the checkpoint. The commit that passes it deletes this, unless its part is parked.
   */
  putOutOfOrder(applied: OutOfOrder): Promise<void>;
  /**
   * Deletes at most `limit` of the records that a clean-up deletes.
   * @param after the result of the previous piece; undefined at first
   * @returns where the next piece continues; undefined at the end
   * @throws MismatchError
   */
  cleanUpSome(
    table: TableRef,
    cleanUp: {
      readonly batchId: string;
      /** The clean-up's revision. */
      readonly revision: Revision;
      readonly limit: number;
      readonly after?: number | undefined;
    },
    event: AppliedEvent,
  ): Promise<number | undefined>;
}

/** The event that changes come from. */
export type AppliedEvent = {
  /** The table has it from now on. */
  readonly revision: Revision;
  readonly at: string;
  readonly position?: Position;
  /** What is noted of the records that it concerns, for their history. Unset: nothing. */
  readonly noted?: Noted;
};

/**
 * In the stream of a reference table: the event's revision, also while the table has only some of its pieces. In that of an
 * order: the order, which is noted once, with the insertion of a part.
 */
export type Noted = Revision | { readonly order: string };

/** What a change does not fit: a tenant's part of a projection, or one table of it. */
export type Mismatch = {
  readonly tenant: string;
  readonly projection: RebuildScope['projection'];
  readonly table?: string | undefined;
  /** Position of the change's event; undefined if unknown. */
  readonly position?: Position | undefined;
  /** The record or entry that the engine cannot store, as one that is too large; undefined if the stored data is the cause. */
  readonly refused?: string | undefined;
};

/**
 * A change does not fit the stored data, which differs from the log, or it makes a record that the engine cannot store. The
 * engine works, and the same change fails again. All other errors of a writer's methods are the engine's.
 */
export class MismatchError extends Error {
  override readonly name = 'MismatchError';
  readonly mismatch: Mismatch;

  constructor(mismatch: Mismatch, options: ErrorOptions) {
    const { tenant, projection, table = projection, refused } = mismatch;
    super(
      refused === undefined
        ? `Read model ${tenant}/${table} does not fit the log; rebuild its ${projection}.`
        : `Read model ${tenant}/${table} cannot store the ${refused}.`,
      options,
    );
    this.mismatch = mismatch;
  }
}

/** Another process holds the projector lease. Try again: the lease is free once that process stops or dies. */
export class ProjectorLeaseHeldError extends Error {
  override readonly name = 'ProjectorLeaseHeldError';
  constructor() {
    super('Another process keeps these read models current; this one stands by.');
  }
}

/** Another rebuild is running, here or in another process. */
export class RebuildInProgressError extends Error {
  override readonly name = 'RebuildInProgressError';
  constructor() {
    super('Another rebuild is at work. Wait until it has ended; one that died is taken over after a minute.');
  }
}

/** The extent of a rebuild: a whole projection, one tenant's part, or one table. */
export type RebuildScope = {
  readonly projection: 'records' | 'order_history' | 'deliveries' | 'activity';
  readonly tenant?: string;
  readonly table?: string;
};

/** A hidden copy that is filled while the live read model serves, and then replaces it. */
export interface ReadModelRebuild {
  /** Writes to the copy; the caller writes nothing outside the scope. */
  readonly writer: Pick<
    ReadModelWriter,
    | 'begin'
    | 'commit'
    | 'rollback'
    | 'defineTable'
    | 'applyToTable'
    | 'addHistory'
    | 'addActivity'
    | 'delivery'
    | 'putDelivery'
    | 'dropTenant'
  >;
  /** Position that the copy has reached, as committed through `writer`. */
  position(): Position;
  /**
   * Stops the live projection and opens a transaction on the copy. Returns the live checkpoint; the caller applies the
   * missing events up to it and then calls `swap`.
   */
  holdLive(): Promise<Position>;
  /** Commits the events applied since `holdLive`, up to this position, and lets the live projection continue. */
  release(position: Position): Promise<void>;
  /** Compares the served data with the copy, and the copy with itself; includes uncommitted changes. */
  readonly proof: ReadModelProof;
  /** Atomically replaces the live read model with the copy, and lets the live projection continue. */
  swap(): Promise<void>;
  /** Discards the copy and lets the live projection continue. */
  abandon(): Promise<void>;
}

export interface RebuildableReadModels {
  beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild>;
  /** The next tenant that has tables after `after`, in the engine's own order; the first without `after`. */
  nextTenant(after?: string): Promise<string | undefined>;
  /**
   * Tables of the tenant whose stored records lack an index that today's asset type wants. Lists by those fields are
   * slow, or withheld, until the table is rebuilt.
   */
  outdatedTables(tenant: string): Promise<readonly string[]>;
}
