/**
 * The read side of the tables of records. Written by the projector only, through
 * `ReadModelWriter`.
 *
 * Adapters: `adapters/readmodels/sqlite` (embedded), `adapters/readmodels/mongodb`. Contract tests for every adapter:
 * `test/contract/readModels.ts`.
 */
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { Revision } from './eventStore.js';

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

/** A test of one field. */
export type FieldFilter =
  /** The field's text contains one of these, ignoring case. Values are literal text. */
  | { readonly kind: 'contains'; readonly field: string; readonly anyOf: readonly string[] }
  /** The field equals one of these exactly. */
  | { readonly kind: 'equals'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** The complement of `equals`; includes records without a value. */
  | { readonly kind: 'differs'; readonly field: string; readonly anyOf: readonly FilterValue[] }
  /** Compares in the order of lists: text ignores case. Null matches neither way. */
  | { readonly kind: 'compares'; readonly field: string; readonly is: Comparison; readonly value: string | number }
  | { readonly kind: 'null'; readonly field: string; readonly isNull: boolean }
  /** The id's text begins with this, ignoring case. */
  | { readonly kind: 'begins'; readonly field: 'id'; readonly with: string };

export type Filter =
  | FieldFilter
  /** At least one of these holds. */
  | { readonly kind: 'any'; readonly anyOf: readonly FieldFilter[] };

/** The stored form: dates and times as normalised text. */
export type FilterValue = string | number | boolean;

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Number of values in the filter, or of its alternatives. */
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

export type CleanedUpRecord = {
  /** Revision of the clean-up. */
  readonly revision: Revision;
  readonly fields: Fields;
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
   * @throws AnswerTooLargeError when the page has more than MAX_PAGE_BYTES
   */
  list(table: TableRef, query: RecordQuery, cancellation?: Cancellation): Promise<RecordPage>;
  /**
   * A tag of the table's whole content: while it is unchanged, every query has the same answer. Fit for an ETag (RFC
   * 9110 §8.8.3). Undefined before the first record, and where comparing the answers is cheaper.
   */
  tableState(table: TableRef): Promise<string | undefined>;
  /**
   * How many records have each of these values in the field, in the order of the values, at one moment. The cost is that of
   * an index over the records with these values, if the field can be sorted by.
   */
  counts(
    table: TableRef,
    field: string,
    values: readonly FilterValue[],
    cancellation?: Cancellation,
  ): Promise<readonly number[]>;
  /** Figures of the tables that exist. The cost does not depend on the number of records. */
  tableFigures(tables: readonly TableRef[]): Promise<readonly TableFigures[]>;
  /**
   * Records in the order of creation: at most `limit`, and at most MAX_PAGE_BYTES. Following `next` to the end returns
   * each record that existed throughout exactly once.
   */
  listBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation): Promise<RecordsBehind>;
  /**
   * Which events of the table's stream created, changed or deleted a record, that exists or existed: their revisions, the
   * latest first. Events that only saw it again are none of them. A malformed id has none.
   */
  recordEvents(
    table: TableRef,
    id: string,
    page: { readonly before?: Revision | undefined; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<readonly Revision[]>;
  /** Id of the order that a part belongs to, or belonged to before it was removed. */
  orderOfPart(table: TableRef, id: string): Promise<string | undefined>;
  /** The record as the last clean-up that deleted it found it; undefined if there was none, or it is forgotten by now. */
  cleanedUpRecord(table: TableRef, id: string): Promise<CleanedUpRecord | undefined>;
  /** Current records by id: as many of the first as fit in MAX_PAGE_BYTES, at least one. */
  byIds(table: TableRef, ids: readonly string[], cancellation?: Cancellation): Promise<RecordsById>;
  /** Ids, sorted, that the clean-up at this revision deleted, and no later one deleted again. */
  cleanedUpIds(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly behind?: string | undefined; readonly limit: number },
    cancellation?: Cancellation,
  ): Promise<readonly string[]>;
}

/** The answer would be too large. The message says what to ask for instead. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}
