/** Operations of a reference table (batches, clean-ups, undos), derived from its events. */
import type { BatchUndone, BatchUpserted, TableCleanedUp } from './events.js';

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

const NOTHING = { created: 0, updated: 0, seen: 0, deleted: 0 };

/** Undefined when the event is no operation, such as a change of a single record. */
export function operationOf({ type, data }: { readonly type: string; readonly data: unknown }): Operation | undefined {
  if (type === 'TableCleanedUp') {
    const { batchId, deleted } = data as TableCleanedUp['data'];
    return { ...NOTHING, kind: 'clean_up', batchIds: [batchId], deleted };
  }
  if (type === 'BatchUndone') {
    const { batchId, changed, seen, deleted, undoes } = data as BatchUndone['data'];
    const counts = { created: 0, updated: changed.length, seen: packedIds(seen), deleted: packedIds(deleted) };
    return { ...counts, kind: 'undo', batchIds: named(batchId), undoes };
  }
  if (type !== 'BatchUpserted') return undefined;
  const { batchId, created, changed, seen, undoes } = data as BatchUpserted['data'];
  const counts = { created: created.length, updated: changed.length, seen: packedIds(seen), deleted: 0 };
  return { ...counts, kind: undoes === undefined ? 'batch' : 'undo', batchIds: named(batchId), undoes };
}

const named = (batchId: string | null | undefined): readonly string[] => (typeof batchId === 'string' ? [batchId] : []);

const PACKED_ID_BYTES = 16;

const packedIds = (packed: string): number => Buffer.byteLength(packed, 'base64') / PACKED_ID_BYTES;

/** Joins two parts of one operation. */
export const together = <Part extends Operation>(part: Part, later: Operation): Part => ({
  ...part,
  batchIds: [...new Set([...part.batchIds, ...later.batchIds])],
  created: part.created + later.created,
  updated: part.updated + later.updated,
  seen: part.seen + later.seen,
  deleted: part.deleted + later.deleted,
});
