/** What a change does to a record, field by field: for dry runs and for histories. */
import type { AssetType } from '../assetTypes/assetType.js';
import { type Changes, changesOf, clearedFields, type Fields } from '../assetTypes/fieldTypes.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_ENTRIES } from '../limits.js';
import { type KnownRecord, type KnownRecords, uniqueKeyOf } from './decide.js';
import type { BatchUpserted } from './events.js';

export type RecordDifference = {
  readonly change: 'create' | 'update' | 'delete';
  readonly id: string;
  /** Fields that change; unset ones are null. */
  readonly fields: Changes;
};

/** Of a dry run. `id`: null for a record that would be created; `key`: value of the unique field. */
export type Difference = Omit<RecordDifference, 'id'> & { readonly id: string | null; readonly key: string };

/** @param was undefined: the record is created @param is undefined: it is deleted */
export function differenceOf(id: string, was: Fields | undefined, is: Fields | undefined): RecordDifference {
  const all = { ...clearedFields(was ?? {}), ...changesOf(was ?? {}, is ?? {}) };
  const differ = Object.entries(all).filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to));
  const change = was === undefined ? 'create' : is === undefined ? 'delete' : 'update';
  return { change, id, fields: Object.fromEntries(differ) };
}

export function batchDifferences(
  assetType: AssetType,
  events: readonly BatchUpserted[],
  known: Pick<KnownRecords, 'byId'>,
): readonly Difference[] {
  const made = events.flatMap(({ data: { created, changed } }): readonly Difference[] => [
    ...created.map(({ id, fields }) => {
      return { ...differenceOf(id, undefined, fields), id: null, key: uniqueKeyOf(assetType, fields) };
    }),
    ...changed.map(({ id, set }) => {
      const was = known.byId(id)?.fields ?? {};
      return { ...differenceOf(id, was, { ...was, ...set }), key: uniqueKeyOf(assetType, was) };
    }),
  ]);
  return firstOf(made);
}

export const cleanUpDifferences = (
  assetType: AssetType,
  deleted: readonly Pick<KnownRecord, 'id' | 'fields'>[],
): readonly Difference[] =>
  firstOf(
    deleted.map(({ id, fields }) => ({ ...differenceOf(id, fields, undefined), key: uniqueKeyOf(assetType, fields) })),
  );

/** The first MAX_ENTRIES; fewer when they are large. */
function firstOf(differences: readonly Difference[]): readonly Difference[] {
  let characters = 0;
  return differences.slice(0, MAX_ENTRIES).filter((difference, index) => {
    characters += JSON.stringify(difference).length;
    return index === 0 || characters <= MAX_DIFFERENCE_CHARACTERS;
  });
}
