/**
 * The read side of the read models: tables of records and the history of orders. Written by the projector only, through
 * `ReadModelWriter`.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`. Contract tests for every adapter:
 * `test/contract/readModels.ts`.
 */
import type { Fields, FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { LogAnchor, Position, Revision } from './eventStore.js';

/** Names one table of one tenant. No query can be built without a tenant. */
export type TableRef = { readonly tenant: string; readonly table: string };

/** A record as JSON text, as it is sent: id, created_at, updated_at, then each field of the asset type. */
export type RecordJson = string;

export type StoredRecord = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  /** All fields of the asset type; null if unset. */
  readonly fields: Fields;
} & Partial<Unparsed>;

/** Shortcuts that need no parsing of the record's fields, which is the largest cost of a batch. */
type Unparsed = {
  /** Value of the unique field. */
  readonly key: string | undefined;
  /** @returns true if it certainly has these values; false if unknown */
  has(fields: Fields): boolean;
  /** The same record with another batch id. */
  inBatch(batchId: string | null): StoredRecord;
};

export type Filter =
  /** The field's text contains one of these, ignoring case. Values are literal text. */
  | { readonly kind: 'contains'; readonly field: string; readonly anyOf: readonly string[] }
  /** The field equals one of these exactly. */
  | { readonly kind: 'equals'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** The complement of `equals`; includes records without a value. */
  | { readonly kind: 'differs'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** Compares in the order of lists: text ignores case. Null matches neither way. */
  | { readonly kind: 'compares'; readonly field: string; readonly is: Comparison; readonly value: string | number }
  | { readonly kind: 'null'; readonly field: string; readonly isNull: boolean };

/** The stored form: dates and times as normalised text. */
export type FilterValue = string | number | boolean;

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Number of values in the filter. */
export const valuesOf = (filter: Filter): number => ('anyOf' in filter ? filter.anyOf.length : 1);

export type SortTerm = { readonly field: string; readonly direction: 'asc' | 'desc' };

export type RecordQuery = {
  /** All must hold. `created_at` and `updated_at` may be filtered too, except with `contains`. */
  readonly filters: readonly Filter[];
  /**
   * Applied in order. Strings ignore case; null comes first ascending. Without terms, records come in the order of
   * creation (created_at). Ties are broken by id in the direction of the last term.
   */
  readonly sort: readonly SortTerm[];
  readonly offset: number;
  readonly limit: number;
};

export type RecordPage = {
  /** The records' JSON texts joined with commas: UTF-8 bytes for a long page, a string for a short one. */
  readonly records: string | Uint8Array<ArrayBuffer>;
  readonly total: number;
  /** `tableState` at the moment of this page. */
  readonly state?: string | undefined;
};

/** Record count of a table and the time of its last event. */
export type TableFigures = TableRef & {
  readonly records: number;
  /** Time of the last applied event (ISO 8601); '' before the first. */
  readonly lastEventAt: string;
};

/** A record's place in the order of creation. It never changes. */
export type CreationKey = { readonly createdAt: string; readonly id: string };

export type ListBehind = {
  readonly filters: readonly Filter[];
  readonly direction: 'asc' | 'desc';
  /** Starts after this key, whether or not its record still exists; undefined starts at the beginning. */
  readonly behind?: CreationKey | undefined;
  readonly limit: number;
};

export type RecordsBehind = Pick<RecordPage, 'records'> & {
  /** Key of the last record; undefined on the last page. */
  readonly next?: CreationKey | undefined;
};

export type RecordsById = {
  /** Revision of the table's stream that is shown; -1 before its first event. */
  readonly revision: Revision;
  /** For the first ids, as many as fit; null for an id without a record. */
  readonly records: readonly (RecordJson | null)[];
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
  /** Status before and after; `statusFrom` is null for the creation; equal if unchanged. */
  readonly statusFrom: string | null;
  readonly statusTo: string;
  readonly reasons: readonly string[];
  /** Only on repeated approvals: earlier exports that may have arrived. */
  readonly repeats?: readonly Repeat[];
  /** Only on approvals and held exports: why the export is not sent. */
  readonly warnings?: readonly ExportWarning[];
  /** Changed fields with old and new value, of the order or one of its parts. */
  readonly changes: readonly {
    readonly table: string;
    readonly id: string;
    readonly field: string;
    readonly from: FieldValue;
    readonly to: FieldValue;
  }[];
};

/** Field names in order. Pass the same array again where possible: identity is compared, not content. */
export type FieldOrder = readonly { readonly name: string }[];

/** Reads of records, for lists and pages of the API. A cancelled search ends soon and rejects with the reason. */
export interface RecordReads {
  /**
   * One record, or undefined. A malformed id is not found.
   * @param fields the fields of the answer in their order, null for missing values. Default: as stored
   */
  get(table: TableRef, id: string, fields?: FieldOrder): Promise<RecordJson | undefined>;
  /**
   * @throws AnswerTooLargeError when the page has more than MAX_PAGE_BYTES; ReadModelsWithheldError while the table
   *   lacks the index for a sort or filter
   */
  list(table: TableRef, query: RecordQuery, cancellation?: Cancellation): Promise<RecordPage>;
  /**
   * A tag of the table's whole content: while it is unchanged, every query has the same answer. Fit for an ETag (RFC
   * 9110 §8.8.3). Undefined before the first record, and where comparing the answers is cheaper.
   */
  tableState(table: TableRef): Promise<string | undefined>;
  /** Figures of the tables that exist. The cost does not depend on the number of records. */
  tableFigures(tables: readonly TableRef[]): Promise<readonly TableFigures[]>;
  /**
   * Records in the order of creation: at most `limit`, and at most MAX_PAGE_BYTES. Following `next` to the end returns
   * each record that existed throughout exactly once.
   * @throws ReadModelsWithheldError as `list` does
   */
  listBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation): Promise<RecordsBehind>;
  /** Current records by id: as many of the first as fit in MAX_PAGE_BYTES, at least one. */
  byIds(table: TableRef, ids: readonly string[], cancellation?: Cancellation): Promise<RecordsById>;
  /**
   * Ids deleted by the clean-up at this revision, except those that a later clean-up deleted again; sorted, after
   * `behind`.
   */
  cleanedUpIds(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly behind?: string | undefined; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<readonly string[]>;
}

/** Reads of the history of orders. Cancellable like `RecordReads`. */
export interface HistoryReads {
  /** @throws AnswerTooLargeError as `list` does */
  history(
    tenant: string,
    orderId: string,
    page: { readonly offset: number; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<{ readonly entries: readonly HistoryEntry[]; readonly total: number }>;
  /** The latest approval of each of these orders that has one, by order id. */
  approvals(
    tenant: string,
    orderIds: readonly string[],
    cancellation?: Cancellation,
  ): Promise<ReadonlyMap<string, HistoryEntry>>;
}

/** The answer would be too large. The message says what to ask for instead. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

export class ReadModelsUnavailableError extends Error {
  override readonly name: string = 'ReadModelsUnavailableError';
}

/**
 * The read models, or one table, may not match the log or cannot answer yet: they are being filled or are parked. The
 * message is for callers.
 */
export class ReadModelsWithheldError extends Error {
  override readonly name = 'ReadModelsWithheldError';
}

/** A tenant's part of a projection that is stopped: an event could not be applied, and later ones are skipped. */
export type Parked = {
  readonly tenant: string;
  readonly projection: string;
  /** The tenant's events are applied up to here, and none after it. */
  readonly checkpoint: Position;
  /** The event that could not be applied. */
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  /** The error, in sentences. */
  readonly error: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** An operator has asked for a retry. */
  readonly retryAsked: boolean;
};

/** An event beyond its projection's checkpoint that is applied, fully or partly: it overtook an earlier, longer one. */
export type OutOfOrder = {
  readonly projection: string;
  readonly tenant: string;
  readonly position: Position;
  /** How many of the event's pieces are applied; null means all. */
  readonly pieces: number | null;
};

/** Most parts parked at once. If more fail, the cause is not a tenant's data, and projecting stops. */
export const MAX_PARKED = 1_000;

export interface ProjectionProgress {
  /** How often the read models were replaced as a whole since this was opened. A new value voids everything known. */
  replaced?(): number;
  /** Position that a projection has reached; 0 if it never ran. */
  checkpoint(projection: string): Promise<Position>;
  /** All checkpoints, read at one moment. */
  checkpoints(): Promise<ReadonlyMap<string, Position>>;
  /** The furthest anchor that was read for projecting; undefined before the first, and in data of earlier releases. */
  anchor(): Promise<LogAnchor | undefined>;
  /** All parked parts; at most MAX_PARKED. */
  parked(): Promise<readonly Parked[]>;
  /** Events applied beyond the checkpoints; for a parked part, beyond its own checkpoint. */
  outOfOrder(): Promise<readonly OutOfOrder[]>;
  /**
   * Resolves true as soon as the projection has reached the position, false after `timeoutMs`, and false at once while
   * it is parked for the tenant. Cheap if it is reached already.
   * @param tenant whose events are waited for; unset for any
   */
  waitFor(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
  /** The same for one event and the earlier ones of its stream, which may be shown before events of other streams. */
  waitForEvent(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
}
