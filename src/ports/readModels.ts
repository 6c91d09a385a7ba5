/**
 * What queries are answered from: tables of records, the history of orders, the log of deliveries.
 * Written only by the projection runner, together with its checkpoint.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`.
 * What every adapter must do is written down as tests: `test/contract/readModels.ts`.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Fields, FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { DeliveryBacklog, DeliveryLogEntry, DeliveryQuery, WebhookHealth } from './deliveryLog.js';
import type { Position, Revision } from './eventStore.js';

/** Names one table of one tenant. No query can be built without a tenant. */
export type TableRef = { readonly tenant: string; readonly table: string };

/** A record as JSON text, ready to be sent: id, created_at, updated_at, then each field of the asset type. */
export type RecordJson = string;

export type StoredRecord = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  /** The record's own fields, every field of the asset type present, null where unset. */
  readonly fields: Fields;
};

export type Filter =
  /** Text of the field contains one of these, without regard to case. Values are literal text. */
  | { readonly kind: 'contains'; readonly field: string; readonly anyOf: readonly string[] }
  /** The field is one of these, exactly. Not offered by the API; for the service's own lists. */
  | { readonly kind: 'equals'; readonly field: string; readonly anyOf: readonly (string | number | boolean)[] };

export type SortTerm = { readonly field: string; readonly direction: 'asc' | 'desc' };

export type RecordQuery = {
  /** All must hold. */
  readonly filters: readonly Filter[];
  /**
   * Applied in order. Strings without regard to case, null first when ascending. Ties, and a
   * query without sort terms (order of creation: created_at), go by id in the direction of the last term.
   */
  readonly sort: readonly SortTerm[];
  readonly offset: number;
  readonly limit: number;
};

export type RecordPage = { readonly records: readonly RecordJson[]; readonly total: number };

/** What a decision about a table needs to know, all read at one moment. */
export type TableSnapshot = {
  /** Revision of the table's stream that this snapshot shows; -1 before its first event. */
  readonly revision: Revision;
  /** occurredAt of the last event applied to the table; '' before the first. */
  readonly lastEventAt: string;
  /** Records found, by id. */
  readonly records: readonly StoredRecord[];
};

/** One line of an order's history, for auditors. */
export type HistoryEntry = {
  readonly position: Position;
  readonly revision: Revision;
  readonly eventId: string;
  readonly eventType: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly correlationId: string;
  readonly causationId: string;
  /** Status before and after; null before creation; equal where it did not change. */
  readonly statusFrom: string | null;
  readonly statusTo: string;
  readonly reasons: readonly string[];
  /** Changed fields with old and new value; a part of the order is named by its table and id. */
  readonly changes: readonly {
    readonly table: string;
    readonly id: string;
    readonly field: string;
    readonly from: FieldValue;
    readonly to: FieldValue;
  }[];
};

export interface ReadModels {
  /** One record, or undefined. A malformed id is simply not found. */
  get(table: TableRef, id: string): Promise<RecordJson | undefined>;
  list(table: TableRef, query: RecordQuery): Promise<RecordPage>;
  /** Records with one of these unique keys or ids, and the revision at which they were read. */
  snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot>;
  /** How many records of the table a clean-up with this batch id would delete, and the revision counted at. */
  countOutsideBatch(
    table: TableRef,
    batchId: string,
  ): Promise<{ readonly revision: Revision; readonly lastEventAt: string; readonly count: number }>;
  /** Full records by a field's exact value (relations of an export). */
  find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]>;
  history(
    tenant: string,
    orderId: string,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<{
    readonly entries: readonly HistoryEntry[];
    readonly total: number;
  }>;

  /** One entry of the delivery log, or undefined. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** A page of a webhook's delivery log. */
  deliveries(tenant: string, query: DeliveryQuery): Promise<readonly DeliveryLogEntry[]>;
  /** What waits, for each webhook of every tenant that something waits for. */
  deliveryBacklog(): Promise<readonly DeliveryBacklog[]>;
  webhookHealth(tenant: string, webhookId: string): Promise<WebhookHealth>;

  /** Position that a projection has reached. 0 when it never ran. */
  checkpoint(projection: string): Promise<Position>;
  /**
   * Resolves true as soon as the projection has reached the position, false after `timeoutMs`.
   * Must cost little when it has been reached already.
   */
  waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean>;

  close(): Promise<void>;
}

/** A change of a records table, as the records projection derives it from an event. */
export type RecordChange =
  | {
      readonly kind: 'insert';
      readonly id: string;
      readonly at: string;
      readonly batchId: string | null;
      readonly fields: Fields;
    }
  /** `at` becomes updated_at. `batchId` undefined: stays. */
  | {
      readonly kind: 'patch';
      readonly id: string;
      readonly at: string;
      readonly batchId?: string | null;
      readonly set: Fields;
    }
  /** Moves `_batch_id` only; updated_at stays. */
  | { readonly kind: 'seen'; readonly ids: readonly string[]; readonly batchId: string | null }
  /** Deletes every record whose batch id is not this one; records without a batch id go as well. */
  | { readonly kind: 'sweep'; readonly batchId: string };

/**
 * The write side, one transaction at a time: what is written between `begin` and `commit` becomes
 * visible with the checkpoint, in one step. Owned by one projection runner.
 */
export interface ReadModelWriter {
  begin(): Promise<void>;
  commit(checkpoints: ReadonlyMap<string, Position>): Promise<void>;
  rollback(): Promise<void>;

  /** Makes the table or brings it to a later version of its asset type (fields are only ever added). */
  defineTable(table: TableRef, assetType: AssetType): Promise<void>;
  /** Applies changes in order; `revision` and `at` are those of the event they come from. */
  applyToTable(
    table: TableRef,
    changes: readonly RecordChange[],
    event: { readonly revision: Revision; readonly at: string },
  ): Promise<void>;
  /** Adds history entries; one that is there already (same order and revision) is left alone. */
  addHistory(tenant: string, orderId: string, entries: readonly HistoryEntry[]): Promise<void>;
  /** An entry of the delivery log as this transaction has it. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** Adds the entry or replaces it. One that is there at the same or a later revision is left alone. */
  putDelivery(tenant: string, entry: DeliveryLogEntry): Promise<void>;
  /** Drops at most `limit` entries that ended before this time, ISO 8601, of all tenants. @returns how many */
  dropDeliveries(endedBefore: string, limit: number): Promise<number>;
  /** Drops everything a projection wrote, and its checkpoint. */
  reset(projection: string): Promise<void>;

  checkpoint(projection: string): Promise<Position>;
  close(): Promise<void>;
}

export class ReadModelsUnavailableError extends Error {
  override readonly name = 'ReadModelsUnavailableError';
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
    'begin' | 'commit' | 'rollback' | 'defineTable' | 'applyToTable' | 'addHistory' | 'delivery' | 'putDelivery'
  >;
  /** Position up to which the copy is filled (as committed through `writer`). */
  position(): Position;
  /**
   * Holds the live projection still and opens a transaction on the copy. Returns the live
   * checkpoint; the caller applies what is missing up to it and then calls `swap`.
   */
  holdLive(): Promise<Position>;
  /** Puts the copy in the live one's place, in one step, and lets the live projection go on. */
  swap(): Promise<void>;
  /** Throws the copy away and lets the live projection go on. */
  abandon(): Promise<void>;
}

export interface RebuildableReadModels {
  beginRebuild(scope: RebuildScope): Promise<ReadModelRebuild>;
}
