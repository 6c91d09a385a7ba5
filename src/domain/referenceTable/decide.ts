/** The rules of a reference table: keys are unique, batches are all or nothing, clean-ups are exact (spec §4.5 to §4.8). */
import type { AssetType } from '../assetTypes/assetType.js';
import { changesOf, type Fields, type FieldValue, ownValue } from '../assetTypes/fieldTypes.js';
import type { FieldErrors, RecordInput } from '../assetTypes/recordSchema.js';
import { charactersOf } from '../jsonSize.js';
import { type BatchUpserted, packIds, type RecordChanged, type RecordCreated } from './events.js';

export type KnownRecord = { readonly id: string; readonly batchId: string | null; readonly fields: Fields };

/** The records that a decision needs. */
export interface KnownRecords {
  byKey(key: string): KnownRecord | undefined;
  byId(id: string): KnownRecord | undefined;
  /** The id that the last record of this key had when a clean-up deleted it. */
  formerId(key: string): string | undefined;
}

export type Decision<Event, More = object> =
  | ({ readonly ok: true; readonly events: readonly Event[] } & More)
  | { readonly ok: false; readonly errors: FieldErrors };

const refuse = (field: string, message: string): { ok: false; errors: FieldErrors } => ({
  ok: false,
  errors: { [field]: [message] },
});

/** The unique field of a reference table. @throws Error for an asset type that has none (Master Data) */
export function uniqueFieldOf(assetType: AssetType): string {
  if (assetType.uniqueField === undefined) throw new Error(`${assetType.name} has no unique field.`);
  return assetType.uniqueField;
}

export const uniqueKeyOf = (assetType: AssetType, fields: Fields): string =>
  String(ownValue(fields, uniqueFieldOf(assetType)) ?? '');

export const withoutNulls = (fields: Fields): Fields =>
  Object.values(fields).includes(null)
    ? Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
    : fields;

const sameValue = (a: FieldValue | undefined, b: FieldValue): boolean =>
  a === b || (a ?? null) === b || (Array.isArray(a) && Array.isArray(b) && JSON.stringify(a) === JSON.stringify(b));

/** The fields of `wanted` that differ from `current`. */
export function changedFields(current: Fields, wanted: Fields): Fields {
  // By names: most fields are unchanged, and making a pair of each would cost more than everything else here.
  const changed = Object.keys(wanted).filter((name) => !sameValue(ownValue(current, name), wanted[name] ?? null));
  return Object.fromEntries(changed.map((name) => [name, wanted[name] ?? null]));
}

/** A key that comes back gets its former id, unless another record has that id now. */
function idOfNew(key: string, newId: string, known: KnownRecords, taken?: ReadonlySet<string>): string {
  const former = known.formerId(key);
  const isFree = former !== undefined && known.byId(former) === undefined && taken?.has(former) !== true;
  return isFree ? former : newId;
}

export function createRecord(
  assetType: AssetType,
  input: RecordInput,
  newId: string,
  known: KnownRecords,
): Decision<RecordCreated> {
  const key = uniqueKeyOf(assetType, input.fields);
  if (known.byKey(key) !== undefined) return refuse(uniqueFieldOf(assetType), takenMessage(assetType, key));
  const id = input.id ?? idOfNew(key, newId, known);
  if (known.byId(id) !== undefined) return refuse('id', `The id ${id} is taken.`);
  return { ok: true, events: [{ type: 'RecordCreated', data: { id, fields: withoutNulls(input.fields) } }] };
}

/** Returns no event when nothing changes. */
export function updateRecord(
  assetType: AssetType,
  current: KnownRecord,
  input: RecordInput,
  known: KnownRecords,
): Decision<RecordChanged> {
  if (input.id !== undefined && input.id !== current.id)
    return refuse('id', 'The id differs from the one in the path.');
  const set = changedFields(current.fields, input.fields);
  const unique = uniqueFieldOf(assetType);
  const newKey = ownValue(set, unique);
  if (newKey !== undefined && known.byKey(String(newKey)) !== undefined) {
    return refuse(unique, takenMessage(assetType, String(newKey)));
  }
  if (Object.keys(set).length === 0) return { ok: true, events: [] };
  return { ok: true, events: [{ type: 'RecordChanged', data: { id: current.id, set } }] };
}

export type BatchCounts = { readonly created: number; readonly updated: number; readonly unchanged: number };

/**
 * Decides a whole batch, and reports all conflicts at once, under `items.<index>.<field>`.
 * @param items already checked (types, required fields)
 * @param newIds one new id for each item
 */
export function upsertBatch(
  assetType: AssetType,
  items: readonly RecordInput[],
  newIds: readonly string[],
  known: KnownRecords,
): Decision<BatchUpserted, { readonly counts: BatchCounts }> {
  const errors: Record<string, string[]> = {};
  const changes: BatchChange[] = [];
  const counts = { created: 0, updated: 0, unchanged: 0 };
  const takenIds = new Set<string>();

  for (const [index, item] of items.entries()) {
    const { batchId, fields } = item;
    const key = uniqueKeyOf(assetType, fields);
    const current = known.byKey(key);
    if (current === undefined) {
      const id = item.id ?? idOfNew(key, newIds[index] ?? '', known, takenIds);
      if (item.id !== undefined && (takenIds.has(id) || known.byId(id) !== undefined)) {
        errors[`items.${index}.id`] = [`The id ${id} belongs to another record.`];
      }
      takenIds.add(id);
      counts.created += 1;
      changes.push({ kind: 'created', id, batchId, fields: withoutNulls(fields) });
      continue;
    }
    if (item.id !== undefined && item.id !== current.id) {
      errors[`items.${index}.id`] = [
        `The id differs from ${current.id}, the record with this ${uniqueFieldOf(assetType)}.`,
      ];
    }
    const { id } = current;
    const set = changedFields(current.fields, fields);
    if (Object.keys(set).length > 0) {
      counts.updated += 1;
      changes.push({ kind: 'changed', id, batchId, set, whole: fields });
    } else {
      counts.unchanged += 1;
      if (batchId !== undefined && batchId !== current.batchId) changes.push({ kind: 'seen', id, batchId });
    }
  }
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, events: batchEvents(changes), counts };
}

/** What a batch does to records, field by field. */
export const differencesOf = (assetType: AssetType, events: readonly BatchUpserted[], known: KnownRecords) =>
  events.flatMap(({ data }) => [
    ...data.created.map(({ fields }) => {
      return { change: 'create', id: null, key: uniqueKeyOf(assetType, fields), fields: changesOf({}, fields) };
    }),
    ...data.changed.map(({ id, set }) => {
      const was = known.byId(id)?.fields ?? {};
      return { change: 'update', id, key: uniqueKeyOf(assetType, was), fields: changesOf(was, set) };
    }),
  ]);

/** A key that is twice in a batch is an error of the later item (the specification does not say; our decision). */
export function duplicateKeys(
  assetType: AssetType,
  items: readonly { readonly index: number; readonly input: RecordInput }[],
): FieldErrors {
  const unique = uniqueFieldOf(assetType);
  const firstIndex = new Map<string, number>();
  const errors: Record<string, string[]> = {};
  for (const { index, input } of items) {
    const key = uniqueKeyOf(assetType, input.fields);
    const first = firstIndex.get(key);
    if (first === undefined) firstIndex.set(key, index);
    else
      errors[`items.${index}.${unique}`] = [
        `The ${unique} ${JSON.stringify(key)} is given twice: also in item ${first}.`,
      ];
  }
  return errors;
}

/** An event has at most three bytes for each, well below its limit. Changed records count whole, as they are stored. */
const PART_CHARACTERS = 200_000;

/** What happens to one record. `batchId` undefined: a new record has none, and a known one keeps its own. */
export type BatchChange = { readonly batchId: string | null | undefined; readonly id: string } & (
  | { readonly kind: 'created'; readonly fields: Fields }
  | { readonly kind: 'changed'; readonly set: Fields; readonly whole: Fields }
  | { readonly kind: 'seen' }
);

/** @param undoes revision of the clean-up that the events undo */
export function batchEvents(changes: readonly BatchChange[], undoes?: number): readonly BatchUpserted[] {
  const batchIds = [...new Set(changes.map(({ batchId }) => batchId))];
  return batchIds.flatMap((batchId) =>
    inParts(changes.filter((change) => change.batchId === batchId)).map((part) => ({
      type: 'BatchUpserted',
      data: {
        ...(batchId === undefined ? {} : { batchId }),
        created: part.flatMap((each) => (each.kind === 'created' ? [{ id: each.id, fields: each.fields }] : [])),
        changed: part.flatMap((each) => (each.kind === 'changed' ? [{ id: each.id, set: each.set }] : [])),
        seen: packIds(part.flatMap((each) => (each.kind === 'seen' ? [each.id] : []))),
        ...(undoes === undefined ? {} : { undoes }),
      },
    })),
  );
}

/** The records in parts, each of which fits into an event. */
function inParts(records: readonly BatchChange[]): readonly (readonly BatchChange[])[] {
  const parts: BatchChange[][] = [];
  let characters = PART_CHARACTERS;
  for (const record of records) {
    characters += charactersOf(record);
    if (characters > PART_CHARACTERS) {
      parts.push([]);
      characters = charactersOf(record);
    }
    parts.at(-1)?.push(record);
  }
  return parts;
}

const takenMessage = (assetType: AssetType, key: string): string =>
  `The ${uniqueFieldOf(assetType)} ${JSON.stringify(key)} is taken by another record.`;
