/**
 * What decisions ask of the read models, where a stream is too long to be loaded or another stream is meant. Each answer
 * is as of one moment, and behind the log: a decision appends with the revision that it was given, so it holds or conflicts.
 */
import type { Revision } from './eventStore.js';
import type { ProjectionProgress, RecordQueries, StoredRecord, TableRef } from './readModels.js';

/** What a decision about a table needs to know, all read at one moment. */
export type TableSnapshot = {
  /** Revision of the table's stream that this snapshot shows; -1 before its first event. */
  readonly revision: Revision;
  /** occurredAt of the last event applied to the table; '' before the first. */
  readonly lastEventAt: string;
  /** Records found, by id: those that were asked for, and those that have one of the former ids. */
  readonly records: readonly StoredRecord[];
  /** By those of the keys that no record has: the id that the key's last record had when a clean-up deleted it. */
  readonly formerIds: ReadonlyMap<string, string>;
};

/** A record as a clean-up has deleted it. */
export type DeletedRecord = Pick<StoredRecord, 'id' | 'batchId' | 'fields'>;

export type DeletedPage = {
  /** In the order of their ids. */
  readonly records: readonly DeletedRecord[];
  /** How many there are behind `after`, this page's among them: where it was asked for, since a count looks at all of them. */
  readonly total?: number | undefined;
  /** Where the next page begins: the last id that was looked at; undefined where there are no more. */
  readonly next?: string | undefined;
};

export interface DecisionReads
  extends Pick<RecordQueries, 'get'>,
    Pick<ProjectionProgress, 'waitFor' | 'waitForEvent'> {
  /** Records with one of these unique keys or ids, and the revision at which they were read. */
  snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot>;
  /**
   * How many records of the table a clean-up with this batch id would delete, how many have it, and the revision counted
   * at.
   */
  countOutsideBatch(
    table: TableRef,
    batchId: string,
  ): Promise<{
    readonly revision: Revision;
    readonly lastEventAt: string;
    readonly count: number;
    readonly inside: number;
  }>;
  /** Some of the records that it would delete: at most `limit`, fewer where they have more than MAX_DIFFERENCE_CHARACTERS. */
  someOutsideBatch(table: TableRef, batchId: string, limit: number): Promise<readonly StoredRecord[]>;
  /**
   * What the clean-up of this revision has deleted, as far as no later one has deleted the same id or key: at most `limit`
   * records behind the id `after`, fewer where they have more than MAX_UNDONE_CHARACTERS.
   */
  deletedRecords(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly after?: string | undefined; readonly limit: number; readonly isCounted?: boolean },
  ): Promise<DeletedPage>;
  /** Full records by a field's exact value (relations of an export). */
  find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]>;
}
