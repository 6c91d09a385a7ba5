/** The differences that a batch or a clean-up would make, field by field, for dry runs. */
import type { AssetType } from '../assetTypes/assetType.js';
import { type Changes, changesOf, clearedFields } from '../assetTypes/fieldTypes.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_ENTRIES } from '../limits.js';
import { type KnownRecord, type KnownRecords, uniqueKeyOf, withoutNulls } from './decide.js';
import type { BatchUpserted } from './events.js';

export type Difference = {
  readonly change: 'create' | 'update' | 'delete';
  /** null for a record that would get a new id. */
  readonly id: string | null;
  /** Value of the unique field, before the change if the record exists. */
  readonly key: string;
  /** Fields that would change; unset ones are null. */
  readonly fields: Changes;
};

/** @param newIds ids that were generated for this decision */
export function* batchDifferences(
  assetType: AssetType,
  events: readonly BatchUpserted[],
  known: Pick<KnownRecords, 'byId'>,
  newIds: readonly string[],
): Generator<Difference> {
  const madeUp = new Set(newIds);
  for (const { data } of events) {
    for (const { id, fields } of data.created) {
      const key = uniqueKeyOf(assetType, fields);
      yield { change: 'create', id: madeUp.has(id) ? null : id, key, fields: changesOf({}, fields) };
    }
    for (const { id, set } of data.changed) {
      const before = known.byId(id)?.fields ?? {};
      yield { change: 'update', id, key: uniqueKeyOf(assetType, before), fields: changesOf(before, set) };
    }
  }
}

export function* cleanUpDifferences(
  assetType: AssetType,
  deleted: readonly Pick<KnownRecord, 'id' | 'fields'>[],
): Generator<Difference> {
  for (const { id, fields } of deleted) {
    yield { change: 'delete', id, key: uniqueKeyOf(assetType, fields), fields: clearedFields(withoutNulls(fields)) };
  }
}

/** The first MAX_ENTRIES; fewer when they are large. */
export function firstDifferences(differences: Iterable<Difference>): readonly Difference[] {
  const first: Difference[] = [];
  let characters = 0;
  for (const difference of differences) {
    characters += JSON.stringify(difference).length;
    if (first.length > 0 && characters > MAX_DIFFERENCE_CHARACTERS) break;
    first.push(difference);
    if (first.length === MAX_ENTRIES) break;
  }
  return first;
}

/** What an event did to a record. */
export type RecordDifference = Pick<Difference, 'change' | 'fields'> & { readonly id: string };
