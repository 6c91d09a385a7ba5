/**
 * What queries are answered from: tables of records, the history of orders, the log of deliveries.
 * Written only by the projection runner, through `ReadModelWriter`.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`.
 * What every adapter must do is written down as tests: `test/contract/readModels.ts`.
 */
import type { Fields, FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { LogAnchor, Position, Revision } from './eventStore.js';

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
} & Partial<Unparsed>;

/** What an engine can tell of a record before its fields are parsed, which costs more than all else that a batch does. */
type Unparsed = {
  /** Value of the unique field. */
  readonly key: string | undefined;
  /** @returns true only where it has these values; false says nothing */
  has(fields: Fields): boolean;
  /** The same record with another batch id. */
  inBatch(batchId: string | null): StoredRecord;
};

export type Filter =
  /** Text of the field contains one of these, without regard to case. Values are literal text. */
  | { readonly kind: 'contains'; readonly field: string; readonly anyOf: readonly string[] }
  /** The field is one of these, exactly. */
  | { readonly kind: 'equals'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** It is not: every record that `equals` leaves out, also one without a value. */
  | { readonly kind: 'differs'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** It comes before or behind the value in the order of lists: text without regard to case. Null is neither. */
  | { readonly kind: 'compares'; readonly field: string; readonly is: Comparison; readonly value: string | number }
  | { readonly kind: 'null'; readonly field: string; readonly isNull: boolean };

/** As the field is stored: dates and times as text in their normal form. */
export type FilterValue = string | number | boolean;

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** How many values are looked for. */
export const valuesOf = (filter: Filter): number => ('anyOf' in filter ? filter.anyOf.length : 1);

export type SortTerm = { readonly field: string; readonly direction: 'asc' | 'desc' };

export type RecordQuery = {
  /** All must hold. Beside the fields, `created_at` and `updated_at` may be named, except in `contains`. */
  readonly filters: readonly Filter[];
  /**
   * Applied in order. Strings without regard to case, null first when ascending. Ties, and a
   * query without sort terms (order of creation: created_at), go by id in the direction of the last term.
   */
  readonly sort: readonly SortTerm[];
  readonly offset: number;
  readonly limit: number;
};

export type RecordPage = {
  /** The records' JSON texts with commas between them, as they are sent: a long page in UTF-8, a short one as text. */
  readonly records: string | Uint8Array<ArrayBuffer>;
  readonly total: number;
  /** As `tableState` tells it, of the moment of this page. */
  readonly state?: string | undefined;
};

/** How far a table is, and how many records it has. */
export type TableFigures = TableRef & {
  readonly records: number;
  /** Of the last event that is applied: ISO 8601, '' before the first. */
  readonly lastEventAt: string;
};

/** Where a record is in the order of creation, which it keeps as long as it exists. */
export type CreationKey = { readonly createdAt: string; readonly id: string };

export type ListBehind = {
  readonly filters: readonly Filter[];
  readonly direction: 'asc' | 'desc';
  /** The record with this key, which may be gone, and all before it are left out; none where it is undefined. */
  readonly behind?: CreationKey | undefined;
  readonly limit: number;
};

export type RecordsBehind = Pick<RecordPage, 'records'> & {
  /** Of the last record; undefined where there are no more behind it. */
  readonly next?: CreationKey | undefined;
};

export type RecordsById = {
  /** Of the table's stream: all up to there is shown; -1 before its first event. */
  readonly revision: Revision;
  /** Of the first ids, as many as fit; null for one that no record has. */
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
  /** Status before and after; null before creation; equal where it did not change. */
  readonly statusFrom: string | null;
  readonly statusTo: string;
  readonly reasons: readonly string[];
  /** Of a further approval: earlier exports that may have arrived. */
  readonly repeats?: readonly Repeat[];
  /** Of an approval, or an export that waits: why it is not sent. */
  readonly warnings?: readonly ExportWarning[];
  /** Changed fields with old and new value; a part of the order is named by its table and id. */
  readonly changes: readonly {
    readonly table: string;
    readonly id: string;
    readonly field: string;
    readonly from: FieldValue;
    readonly to: FieldValue;
  }[];
};

/** The same array for the same order, as long as that can be: it is compared once. */
export type FieldOrder = readonly { readonly name: string }[];

/**
 * Records and histories, for the lists and pages that the API answers. Where a search is cancelled, it ends soon, and the
 * promise rejects with the reason.
 */
export interface RecordQueries {
  /**
   * One record, or undefined. A malformed id is simply not found.
   * @param fields the record has these, in this order, and null for what it has none of. Default: as they are stored
   */
  get(table: TableRef, id: string, fields?: FieldOrder): Promise<RecordJson | undefined>;
  /**
   * @throws AnswerTooLargeError when the page has more than MAX_PAGE_BYTES, as soon as so much of it is read;
   *   ReadModelsWithheldError while the table cannot be sorted or filtered by a field
   */
  list(table: TableRef, query: RecordQuery, cancellation?: Cancellation): Promise<RecordPage>;
  /**
   * Stands for all that the table shows: the same query finds the same while it is the same, and it never comes back for
   * anything else. It can be part of an ETag (RFC 9110 §8.8.3). Undefined before the first record, and where it would cost
   * more than to compare what is found.
   */
  tableState(table: TableRef): Promise<string | undefined>;
  /** Of those of the tables that there are. Costs the same however many records they have. */
  tableFigures(tables: readonly TableRef[]): Promise<readonly TableFigures[]>;
  /**
   * Records in the order of their creation, fewer than `limit` where they have more than MAX_PAGE_BYTES together. Whoever goes
   * on behind `next` until there is none gets every record that is there all the while, once.
   * @throws ReadModelsWithheldError as `list` does
   */
  listBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation): Promise<RecordsBehind>;
  /** Records as they are now; fewer than were asked for where they have more than MAX_PAGE_BYTES together, but one at least. */
  byIds(table: TableRef, ids: readonly string[], cancellation?: Cancellation): Promise<RecordsById>;
  /** Ids of what the clean-up of this revision deleted, as far as no later one has deleted them again: in order, behind one. */
  cleanedUpIds(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly behind?: string | undefined; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<readonly string[]>;
  /** @throws AnswerTooLargeError as `list` does */
  history(
    tenant: string,
    orderId: string,
    page: { readonly offset: number; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<{ readonly entries: readonly HistoryEntry[]; readonly total: number }>;
  /** The latest approval in the history of each of these orders, as far as there is one, by the order's id. */
  approvals(
    tenant: string,
    orderIds: readonly string[],
    cancellation?: Cancellation,
  ): Promise<ReadonlyMap<string, HistoryEntry>>;
}

/** What was asked for has more bytes than one answer may have. The message says what to ask for instead. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

export class ReadModelsUnavailableError extends Error {
  override readonly name: string = 'ReadModelsUnavailableError';
}

/**
 * The read models, or a table of them, may show less, or something else, than the log holds, or what was asked cannot be
 * found in it yet: they are being built anew. The message is for callers.
 */
export class ReadModelsWithheldError extends Error {
  override readonly name = 'ReadModelsWithheldError';
}

/** One tenant's part of a projection that stands by itself: an event could not be applied, and later ones are passed over. */
export type Parked = {
  readonly tenant: string;
  readonly projection: string;
  /** Up to here the tenant's events are applied, and none after it. */
  readonly checkpoint: Position;
  /** The event that could not be applied. */
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  /** What went wrong, in sentences. */
  readonly error: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** An operator has asked to go on from there. */
  readonly retryAsked: boolean;
};

/** An event beyond its projection's checkpoint that is applied, wholly or in part: it need not wait for an earlier one that takes long. */
export type Ahead = {
  readonly projection: string;
  readonly tenant: string;
  readonly position: Position;
  /** How many of the event's pieces are applied; null: all of it. */
  readonly pieces: number | null;
};

/** Parts of projections that may be parked at once: where more fail, it is no tenant's own trouble, and projecting stops. */
export const MAX_PARKED = 1_000;

export interface ProjectionProgress {
  /** Counts how often others have taken their place as a whole, since this was opened: then all that was known is void. */
  replaced?(): number;
  /** Position that a projection has reached. 0 when it never ran. */
  checkpoint(projection: string): Promise<Position>;
  /** Of all that has one, read at one moment. */
  checkpoints(): Promise<ReadonlyMap<string, Position>>;
  /** The furthest place of the log that was read to be projected; undefined before the first, and where an earlier release did. */
  anchor(): Promise<LogAnchor | undefined>;
  /** Every tenant's part of a projection that is parked; at most MAX_PARKED. */
  parked(): Promise<readonly Parked[]>;
  /** What is applied beyond the checkpoints; of a part that is parked, beyond its own. */
  ahead(): Promise<readonly Ahead[]>;
  /**
   * Resolves true as soon as the projection has reached the position, false after `timeoutMs`, and false at once while it
   * is parked for the tenant. Must cost little when it has been reached already.
   * @param tenant whose events are waited for; unset: nobody's in particular
   */
  waitFor(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
  /** The same of one event, and of what came before it in its stream: it may be shown sooner than what was written elsewhere. */
  waitForEvent(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
}
