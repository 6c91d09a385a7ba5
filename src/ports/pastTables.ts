/**
 * Tables as they were at an earlier position of the log: read-only copies, each made from the log when it is asked for and
 * kept for a while.
 */
import type { Cancellation } from '../supervision/cancellation.js';
import type { DecisionReads } from './decisionReads.js';
import type { Position } from './eventStore.js';
import type { RecordReads, TableRef } from './readModels.js';

export type PastTable = TableRef & {
  /** The copy has the events up to here. Positions between two events of the table make copies of their own. */
  readonly position: Position;
  /** Its events are in a stream of its own; those of other tables are in the streams of the tenant's orders. */
  readonly isReference: boolean;
};

/** Reads of a copy; they take the table's own names. */
export type PastReads = Pick<RecordReads, 'get' | 'list' | 'listBehind' | 'byIds'> & Pick<DecisionReads, 'find'>;

export const DIFFERENCE_KINDS = ['created', 'changed', 'deleted'] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

/** A record that is not in both copies, or has other values in its fields. */
export type TableDifference = { readonly id: string; readonly kind: DifferenceKind };

export type Comparison = {
  readonly counts: { readonly [kind in DifferenceKind]: number };
  /** In the order of ids, at most `limit`, behind the first `after`. */
  readonly page: (after: number, limit: number) => readonly TableDifference[];
};

export type Compared = {
  readonly before: PastReads;
  readonly after: PastReads;
  readonly comparison: Comparison;
};

export interface PastTables {
  /**
   * Reads the copy, which stays at least until the work ends.
   * @throws PastTableBuildingError while it is made; PastTableRefusedError; PastTablesBusyError; ReadModelsWithheldError
   *   if it cannot be made now
   */
  read<Result>(table: PastTable, work: (reads: PastReads) => Promise<Result>, wanted?: Cancellation): Promise<Result>;
  /** Compares two copies of one table. @throws as above */
  compare<Result>(
    from: PastTable,
    to: PastTable,
    work: (compared: Compared) => Promise<Result>,
    wanted?: Cancellation,
  ): Promise<Result>;
}

/** It is being made: ask again in a moment. */
export class PastTableBuildingError extends Error {
  override readonly name = 'PastTableBuildingError';
  /** @param progress the part that is done, from 0 to 1 */
  constructor(readonly progress: number) {
    super('The table as it was is being made.');
  }
}

/** There is no room for it. The message says which limit it meets, and what to do. */
export class PastTableRefusedError extends Error {
  override readonly name = 'PastTableRefusedError';
}

/** The tenant has asked for too many at once. */
export class PastTablesBusyError extends Error {
  override readonly name = 'PastTablesBusyError';
}
