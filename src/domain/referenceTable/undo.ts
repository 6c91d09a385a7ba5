/** Undoing a batch or a clean-up: each record is again as it was before, unless it has changed since. */
import type { AssetType } from '../assetTypes/assetType.js';
import {
  type BatchChange,
  batchEvents,
  changedFields,
  type KnownRecord,
  type KnownRecords,
  uniqueKeyOf,
  withoutNulls,
} from './decide.js';
import { type BatchUndone, packIds } from './events.js';

/** A record before and after the operation; undefined: it was not there. */
export type Done = { readonly before?: KnownRecord | undefined; readonly after?: KnownRecord | undefined };

/** A record that an undo leaves alone: it has changed or was deleted since, or another record has its key. */
type Unrestored = {
  readonly id: string;
  readonly key: string;
  readonly reason: 'changed' | 'deleted' | 'key_taken';
};

/**
 * @param undoes revision of the operation
 * @param done what it did, as far as it is undone here
 * @returns `restored` and `deleted`: how many records are again as they were before, and how many it had created
 */
export function undo(assetType: AssetType, undoes: number, done: readonly Done[], known: KnownRecords) {
  const restored: BatchChange[] = [];
  const deleted: string[] = [];
  const left: Unrestored[] = [];
  for (const { before, after } of done) {
    const { id, fields } = before ?? after ?? { id: '', fields: {} };
    const key = uniqueKeyOf(assetType, fields);
    const current = known.byId(id);
    // What the operation changed counts, and nothing else.
    const was = before && after ? changedFields(after.fields, before.fields) : before?.fields;
    const is = before && after ? changedFields(before.fields, after.fields) : after?.fields;
    const has = (values: typeof was): boolean =>
      current === undefined || values === undefined
        ? current === values
        : Object.keys(changedFields(current.fields, values)).length === 0;
    if (has(was)) continue;
    if (!has(is)) left.push({ id, key, reason: current === undefined ? 'deleted' : 'changed' });
    else if (before === undefined) deleted.push(id);
    else if (was !== undefined && current !== undefined)
      restored.push({ kind: 'changed', id, batchId: undefined, set: was, whole: fields });
    else if (known.byKey(key) !== undefined) left.push({ id, key, reason: 'key_taken' });
    else
      restored.push({ kind: 'created', id, batchId: before.batchId ?? undefined, fields: withoutNulls(before.fields) });
  }
  const data = { undoes, changed: [], seen: '', deleted: packIds(deleted) };
  const gone: readonly BatchUndone[] = deleted.length === 0 ? [] : [{ type: 'BatchUndone', data }];
  return {
    events: [...batchEvents(restored, undoes), ...gone],
    restored: restored.length,
    deleted: deleted.length,
    left,
  };
}
