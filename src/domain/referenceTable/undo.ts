/**
 * Undoing a clean-up brings deleted records back with their ids and values; undoing a batch restores the former values of its
 * records. Records that changed since are left alone and reported.
 */
import type { AssetType } from '../assetTypes/assetType.js';
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import { BatchParts } from './batchParts.js';
import { changedFields, type KnownRecord, type KnownRecords, uniqueKeyOf, withoutNulls } from './decide.js';
import { type BatchUndone, type BatchUpserted, namedValues, unpackIds } from './events.js';

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

export type UndoDecision<Event = BatchUpserted> = {
  readonly events: readonly Event[];
  /** Records that are again as they were before. */
  readonly restored: number;
  /** Records that are as they were before already. */
  readonly unchanged: number;
  readonly left: readonly LeftAlone[];
};
/** `deleted`: records that the batch had created. */
export type BatchUndoDecision = UndoDecision<BatchUndone> & { readonly deleted: number };

/**
 * @param cleanUp revision of the clean-up
 * @param records some of those that it deleted, as they were
 * @param known all records that have one of their ids or keys
 */
export function undoCleanUp(
  assetType: AssetType,
  cleanUp: number,
  records: readonly KnownRecord[],
  known: KnownRecords,
): UndoDecision {
  const parts = new BatchParts();
  const left: LeftAlone[] = [];
  let [restored, unchanged] = [0, 0];
  for (const { id, batchId, fields } of records) {
    const key = uniqueKeyOf(assetType, fields);
    const current = known.byId(id);
    const holder = known.byKey(key);
    const changed = current === undefined ? [] : Object.keys(changedFields(current.fields, fields));
    if (changed.length > 0) left.push({ id, key, reason: 'changed', fields: changed });
    else if (current !== undefined) unchanged += 1;
    else if (holder !== undefined) left.push({ id, key, reason: 'key_taken', takenBy: holder.id });
    else {
      restored += 1;
      parts.add(batchId ?? undefined, { kind: 'created', id, fields: withoutNulls(fields) });
    }
  }
  return { events: parts.toEvents(cleanUp), restored, unchanged, left };
}

/** Ids of the records in an event of a batch. */
export const idsOf = ({ created, changed, seen }: BatchUpserted['data']): readonly string[] => [
  ...created.map(({ id }) => id),
  ...changed.map(({ id }) => id),
  ...unpackIds(seen),
];

/** Whether the event holds the replaced values: early releases did not write them. A batch that only creates needs none. */
export function saysWhatItReplaces({ changed, seen, batchId, from }: BatchUpserted['data']): boolean {
  const changesBatch = batchId !== undefined && (changed.length > 0 || seen !== '');
  return changed.every(({ was }) => was !== undefined) && (!changesBatch || from !== undefined);
}

/**
 * @param batch revision of its first event
 * @param events of the batch, with the values that they replaced
 * @param known all records that have one of their ids
 */
export function undoBatch(
  assetType: AssetType,
  batch: number,
  events: readonly BatchUpserted['data'][],
  known: Pick<KnownRecords, 'byId'>,
): BatchUndoDecision {
  const parts = new BatchParts();
  const left: LeftAlone[] = [];
  const deleted: string[] = [];
  let [restored, unchanged] = [0, 0];
  /** Whether the record is as the batch left it; otherwise it is left alone. */
  const isAsLeft = (record: KnownRecord, fields: Fields): boolean => {
    const changed = Object.keys(changedFields(record.fields, fields));
    if (changed.length > 0)
      left.push({ id: record.id, key: uniqueKeyOf(assetType, record.fields), reason: 'changed', fields: changed });
    return changed.length === 0;
  };
  for (const { id, fields } of events.flatMap(({ created }) => created)) {
    const current = known.byId(id);
    const all = Object.fromEntries(assetType.fields.map(({ name }) => [name, ownValue(fields, name) ?? null]));
    if (current === undefined) unchanged += 1;
    else if (isAsLeft(current, all)) deleted.push(id);
  }
  for (const { id, set, was, batchId, from } of events.flatMap(replacedBy)) {
    const current = known.byId(id);
    const before = batchId === undefined ? undefined : from;
    if (current === undefined) {
      left.push({ id, key: null, reason: 'deleted' });
      continue;
    }
    // A later batch that has seen the record changed nothing of it: it keeps that batch id.
    const isSeenSince = batchId !== undefined && current.batchId !== batchId;
    const hasBatchBefore = isSeenSince || before === undefined || before === current.batchId;
    if (hasBatchBefore && Object.keys(changedFields(current.fields, was)).length === 0) unchanged += 1;
    else if (isAsLeft(current, set)) {
      restored += 1;
      const kind = Object.keys(was).length > 0 ? 'changed' : 'seen';
      parts.add(isSeenSince ? undefined : before, { kind, id, set: was, was: [], from });
    }
  }
  return { events: parts.toUndo(batch, deleted), restored, deleted: deleted.length, unchanged, left };
}

/** A record that a batch changed or saw: as the batch left it, and as it was before. */
type Replaced = {
  readonly id: string;
  readonly set: Fields;
  readonly was: Fields;
  /** Undefined when the batch did not change it. */
  readonly batchId: string | null | undefined;
  readonly from: string | null;
};

function replacedBy({ changed, seen, batchId, from = [] }: BatchUpserted['data']): readonly Replaced[] {
  const batchIds = from.flatMap(([count, batch]) => Array.from({ length: count }, () => batch));
  const records = [...changed, ...unpackIds(seen).map((id) => ({ id, set: {}, was: [] }))];
  return records.map(({ id, set, was = [] }, index) => {
    return { id, set, was: namedValues(set, was), batchId, from: batchIds[index] ?? null };
  });
}
