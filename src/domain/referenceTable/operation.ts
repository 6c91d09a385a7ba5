/** Operations of a reference table: batches, clean-ups, undos. */

export const OPERATION_KINDS = ['batch', 'clean_up', 'undo'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** An operation, or the part of it in one event. */
export type Operation = {
  readonly kind: OperationKind;
  /** The batch ids that its records carried, or that a clean-up kept. */
  readonly batchIds: readonly string[];
  readonly created: number;
  readonly updated: number;
  /** Records that were sent again unchanged, and now belong to the batch. */
  readonly seen: number;
  readonly deleted: number;
  /** Undos only: revision of the batch or the clean-up. */
  readonly undoes?: number | undefined;
};

/** Joins two parts of one operation. */
export const together = <Part extends Operation>(part: Part, later: Operation): Part => ({
  ...part,
  batchIds: [...new Set([...part.batchIds, ...later.batchIds])],
  created: part.created + later.created,
  updated: part.updated + later.updated,
  seen: part.seen + later.seen,
  deleted: part.deleted + later.deleted,
});
