/**
 * Reads for decisions, where a stream is too long to load or another stream is needed. Each answer is a snapshot that
 * may be behind the log: the decision appends at the snapshot's revision, so a stale one conflicts.
 */
import type { Revision } from './eventStore.js';
import type { RecordReads, StoredRecord, TableRef } from './readModels.js';

/** The data for a decision about a table, read at one moment. */
export type TableSnapshot = {
  /** Revision of the table's stream that this snapshot shows; -1 before its first event. */
  readonly revision: Revision;
  /** occurredAt of the last event applied to the table; '' before the first. */
  readonly lastEventAt: string;
  /** Matching records: by key or id as asked, and those with one of the former ids. */
  readonly records: readonly StoredRecord[];
  /** For keys without a record: the id that the key's last record had when a clean-up deleted it. */
  readonly formerIds: ReadonlyMap<string, string>;
};

/** A record as it was when a clean-up deleted it. */
export type DeletedRecord = Pick<StoredRecord, 'id' | 'batchId' | 'fields'>;

export type DeletedPage = {
  /** In the order of ids. */
  readonly records: readonly DeletedRecord[];
  /** How many come after `after`, this page included. Only if asked for, since counting reads all of them. */
  readonly total?: number | undefined;
  /** `after` of the next page: the last id that was read; undefined at the end. */
  readonly next?: string | undefined;
};

export interface DecisionReads extends Pick<RecordReads, 'get'> {
  /** Records with one of these unique keys or ids, and the revision at which they were read. */
  snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot>;
  /** How many records a clean-up with this batch id would delete (`count`) and keep (`inside`), at which revision. */
  countOutsideBatch(
    table: TableRef,
    batchId: string,
  ): Promise<{
    readonly revision: Revision;
    readonly lastEventAt: string;
    readonly count: number;
    readonly inside: number;
  }>;
  /** Records that such a clean-up would delete: at most `limit`, and MAX_DIFFERENCE_CHARACTERS of text. */
  someOutsideBatch(table: TableRef, batchId: string, limit: number): Promise<readonly StoredRecord[]>;
  /**
   * Records deleted by the clean-up at this revision, except those whose id or key a later clean-up deleted too: at
   * most `limit` after the id `after`, and at most MAX_UNDONE_CHARACTERS of text.
   */
  deletedRecords(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly after?: string | undefined; readonly limit: number; readonly isCounted?: boolean },
  ): Promise<DeletedPage>;
  /** Records with one of these exact values in the field (relations of an export). */
  find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]>;
}
