/** What keeps a clean-up from deleting more than was meant: the tenant's guard, and a number that the request confirms. */
import type { FieldErrors } from '../assetTypes/fieldErrors.js';

/** A tenant's setting. Clean-ups of a batch id that no record has are refused, and those that delete a larger share. */
export type CleanUpGuard = {
  /** Of the table's records, 0 to 100. */
  readonly maxPercent: number;
};

export type CleanUpRequest = { readonly batchId: string; readonly confirm?: number | undefined };

/** What a clean-up does to the records of its table, counted. */
export type CleanUpCounts = { readonly deleted: number; readonly kept: number };

/**
 * Why the clean-up is refused; undefined where it is not. A confirmed number is to be the right one with or without a guard.
 */
export function refusalOfCleanUp(
  guard: CleanUpGuard | undefined,
  { batchId, confirm }: CleanUpRequest,
  { deleted, kept }: CleanUpCounts,
): FieldErrors | undefined {
  if (confirm !== undefined) {
    if (confirm === deleted) return undefined;
    return { confirm: [`The clean-up would delete ${deleted} records, not ${confirm}.`] };
  }
  if (guard === undefined || deleted === 0) return undefined;
  const remedy = `To delete them all the same, send "confirm": ${deleted}.`;
  if (kept === 0) {
    const none = `No record has the batch_id ${JSON.stringify(batchId)}`;
    return { batch_id: [`${none}: the clean-up would delete all ${deleted} records. ${remedy}`] };
  }
  const total = deleted + kept;
  if (deleted * 100 <= guard.maxPercent * total) return undefined;
  const share = `more than ${guard.maxPercent} percent`;
  return { confirm: [`The clean-up would delete ${deleted} of ${total} records, ${share}. ${remedy}`] };
}
