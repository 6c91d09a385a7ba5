/** Undoing a clean-up: deleted records come back with their ids and values; those that changed since are left alone and reported. */
import type { AssetType } from '../assetTypes/assetType.js';
import { BatchParts } from './batchParts.js';
import { changedFields, type KnownRecord, type KnownRecords, uniqueKeyOf, withoutNulls } from './decide.js';
import type { BatchUpserted } from './events.js';

/** A record that an undo leaves alone, and why. */
export type LeftAlone = { readonly id: string } & (
  | {
      /** Its values in these fields have changed since. */
      readonly reason: 'changed';
      readonly key: string;
      readonly fields: readonly string[];
    }
  | {
      /** Another record has its key now. */
      readonly reason: 'key_taken';
      readonly key: string;
      readonly takenBy: string;
    }
  | {
      /** It has been deleted since. */
      readonly reason: 'deleted';
      readonly key: null;
    }
);

export type UndoDecision = {
  readonly events: readonly BatchUpserted[];
  readonly restored: number;
  /** Deleted records that exist again with the same values. */
  readonly unchanged: number;
  readonly left: readonly LeftAlone[];
};

/**
 * @param cleanUp revision of the clean-up
 * @param deleted some of the records that it deleted, as they were
 * @param known all records that have one of their ids or keys
 */
export function undoCleanUp(
  assetType: AssetType,
  cleanUp: number,
  deleted: readonly KnownRecord[],
  known: KnownRecords,
): UndoDecision {
  const parts = new BatchParts();
  const left: LeftAlone[] = [];
  let [restored, unchanged] = [0, 0];
  for (const { id, batchId, fields } of deleted) {
    const key = uniqueKeyOf(assetType, fields);
    const current = known.byId(id);
    const holder = known.byKey(key);
    if (current !== undefined) {
      const changed = Object.keys(changedFields(current.fields, fields));
      if (changed.length === 0) unchanged += 1;
      else left.push({ id, key, reason: 'changed', fields: changed });
    } else if (holder !== undefined) {
      left.push({ id, key, reason: 'key_taken', takenBy: holder.id });
    } else {
      restored += 1;
      parts.of(batchId ?? undefined).created.push({ id, fields: withoutNulls(fields) });
    }
  }
  return { events: parts.toEvents(cleanUp), restored, unchanged, left };
}
