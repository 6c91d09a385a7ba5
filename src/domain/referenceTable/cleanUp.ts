/**
 * Clean-ups (spec §4.8). One deletes each record that has another batch id or none: its event names the batch id alone, its
 * effect `cleanUp` (`effects.ts`) says so, and engines find the rows. Here is what keeps one from deleting more than intended.
 */
import type { FieldErrors } from '../assetTypes/recordSchema.js';

/** A tenant's setting, off until it is set (spec §4.8). Refuses clean-ups of a batch id that no record has, and those that delete a larger share. */
export type CleanUpGuard = {
  /** Share of the table's records, 0 to 100. */
  readonly maxPercent: number;
  /** Clean-ups that delete at most this many records are never refused; 0 by default. */
  readonly minRecords?: number;
};

/** The guard that is recommended. */
export const RECOMMENDED_GUARD: Required<CleanUpGuard> = { maxPercent: 50, minRecords: 100 };

type CleanUpRequest = { readonly batchId: string; readonly confirm?: number | undefined };

/** How many records of the table a clean-up deletes and keeps. */
export type CleanUpCounts = { readonly deleted: number; readonly kept: number };

/** Why the clean-up is refused; undefined when it is not. A confirmed number must be right, with or without a guard. */
export function refusalOfCleanUp(
  guard: CleanUpGuard | undefined,
  { batchId, confirm }: CleanUpRequest,
  { deleted, kept }: CleanUpCounts,
): FieldErrors | undefined {
  if (confirm !== undefined) {
    if (confirm === deleted) return undefined;
    return { confirm: [`The clean-up would delete ${deleted} records, not ${confirm}.`] };
  }
  if (guard === undefined || deleted <= (guard.minRecords ?? 0)) return undefined;
  const total = deleted + kept;
  if (kept > 0 && deleted * 100 <= guard.maxPercent * total) return undefined;
  const why =
    kept > 0
      ? `The clean-up would delete ${deleted} of ${total} records, more than ${guard.maxPercent} percent.`
      : `No record has the batch_id ${JSON.stringify(batchId)}: the clean-up would delete all ${deleted} records.`;
  const refusal = `${why} To delete them all the same, send "confirm": ${deleted}.`;
  return kept > 0 ? { confirm: [refusal] } : { batch_id: [refusal] };
}
