/** The items of a batch: checks them, and finds which records they refer to. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../../domain/assetTypes/fieldErrors.js';
import { type Fields, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { MAX_BATCH_ITEMS } from '../../domain/limits.js';
import { duplicateKeys, uniqueFieldOf, uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import { shownName } from '../../domain/shownName.js';
import { Pauses } from '../../supervision/waiting.js';
import { ValidationError } from '../context.js';
import type { Wanted } from './tableState.js';

export function itemsOf(body: unknown): readonly unknown[] {
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : undefined;
  if (!Array.isArray(items))
    throw new ValidationError({ items: ['The items field is required and must be an array.'] });
  if (items.length < 1) throw new ValidationError({ items: ['The items field must have at least 1 item.'] });
  if (items.length > MAX_BATCH_ITEMS) {
    throw new ValidationError({ items: [`The items field must not have more than ${MAX_BATCH_ITEMS} items.`] });
  }
  const unknown = new FieldErrorList();
  for (const key of Object.keys(body ?? {}).map(shownName)) {
    if (key !== 'items') unknown.add(key, `${key} is not a field of a batch.`);
  }
  if (unknown.count > 0) throw new ValidationError(unknown.toErrors(), unknown.unnamed);
  return items;
}

/** Yields to other requests while it works. @throws ValidationError with every error by item and field */
export async function checkItems(assetType: AssetType, items: readonly unknown[]): Promise<readonly RecordInput[]> {
  const pauses = new Pauses();
  const errors = new FieldErrorList();
  const inputs: { readonly index: number; readonly input: RecordInput }[] = [];
  for (const [index, item] of items.entries()) {
    // Errors cost more than valid items, and nobody reads thousands of them.
    if (errors.unnamed > 0) break;
    if (pauses.isDue()) await pauses.take();
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      errors.add(`items.${index}`, 'The item must be a JSON object.');
      continue;
    }
    const checked = checkRecord(assetType, 'batchItem', item);
    if (checked.ok) {
      inputs.push({ index, input: checked.input });
      continue;
    }
    errors.addAll(checked.errors, `items.${index}.`);
    errors.addUnnamed(checked.unnamed);
  }
  errors.addAll(duplicateKeys(assetType, inputs));
  if (errors.count > 0) throw new ValidationError(errors.toErrors(), errors.unnamed);
  return inputs.map(({ input }) => input);
}

/** Keys and ids in the unchecked items, so that their records can be read while the items are checked. */
export function namedAsSent(assetType: AssetType, items: readonly unknown[]): Wanted {
  const valuesOf = (name: string): readonly string[] =>
    items.flatMap((item) => {
      const value = typeof item === 'object' && item !== null ? ownValue(item as Fields, name) : undefined;
      return typeof value === 'string' ? [value] : [];
    });
  return { keys: valuesOf(uniqueFieldOf(assetType)), ids: valuesOf('id').map((id) => id.toLowerCase()) };
}

/** If checking changed a key, its record would be missing from the state, and created twice. @throws Error then */
export function requireNamed(assetType: AssetType, checked: readonly RecordInput[], { keys, ids }: Wanted): void {
  const known = { keys: new Set(keys), ids: new Set(ids) };
  const isNamed = ({ id, fields }: RecordInput): boolean =>
    known.keys.has(uniqueKeyOf(assetType, fields)) && (id === undefined || known.ids.has(id));
  if (!checked.every(isNamed))
    throw new Error(`A checked item of ${assetType.name} names another record than was sent.`);
}
