/** Which fields can be sorted by and searched, and as what values: the same on every engine, which adds its own names. */
import { type AssetField, type AssetType, findField } from '../../../domain/assetTypes/assetType.js';
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import type { FieldType, FieldValue } from '../../../domain/assetTypes/fieldTypes.js';

export type StoredType = FieldType | 'List';

export type FieldRules = {
  readonly name: string;
  readonly type: StoredType;
  readonly isText: boolean;
  /** Its values are short enough for an index that holds them whole. */
  readonly isShort: boolean;
  /** It has a value in its sort order: folded text, or a number (booleans 0 and 1). */
  readonly hasSort: boolean;
  /** The sort order is kept in an index, with ties by id. */
  readonly isSortIndexed: boolean;
  /** It has a text that filters look into. For text it is the same as the value to sort by. */
  readonly hasMatch: boolean;
  /** Parts of its text are found through an index of n-grams. */
  readonly hasNgrams: boolean;
  /** Values that differ only in case do not occur, so comparing folded text compares exactly. */
  readonly exactWhenFolded: boolean;
};

const TEXTS: readonly StoredType[] = ['String', 'LongText', 'Date', 'DateTime', 'List'];
const FEW_VALUES: readonly FieldType[] = ['Date', 'DateTime', 'Boolean'];

export const isTextType = (type: StoredType): boolean => TEXTS.includes(type);

export function fieldRules(field: AssetField): FieldRules {
  const { name, sortable, filterable } = field;
  const type = field.list === true ? 'List' : field.type;
  const isText = isTextType(type);
  const isShort = type !== 'LongText' && type !== 'List';
  // Filters compare numbers.
  const hasSort = sortable || (filterable && type !== 'Boolean');
  return {
    name,
    type,
    isText,
    isShort,
    hasSort,
    isSortIndexed: hasSort && (sortable || isShort),
    hasMatch: filterable,
    // N-grams pay where values are many and various. Of UUIDs whole ones are asked for.
    hasNgrams: filterable && field.format !== 'uuid' && !FEW_VALUES.includes(field.type),
    exactWhenFolded: !isText || field.oneOf !== undefined || type === 'Date' || type === 'DateTime',
  };
}

type KeptField = Pick<FieldRules, 'name' | 'type' | 'exactWhenFolded'>;

/**
 * The fields of a table that has records, once its asset type is this one. They are told apart by name: those that are
 * there stay, in their order, with what their values were stored for, also where the asset type has them no more; added
 * ones follow, wherever the asset type has them.
 * @param add a field that has not been there, and its number among all
 */
export function fieldsAfter<Field extends KeptField>(
  before: readonly Field[],
  assetType: AssetType,
  add: (field: AssetField, number: number) => Field,
): readonly Field[] {
  const names = new Set(before.map(({ name }) => name));
  const added = assetType.fields.filter(({ name }) => !names.has(name));
  return [
    ...before.map((field) => keptField(field, findField(assetType, field.name))),
    ...added.map((field, index) => add(field, before.length + index)),
  ];
}

/**
 * Would a table that is made now lay out a field of the asset type otherwise?
 * @param make a field's layout, by its number among all
 * @param storageOf what of a layout counts, as one text: columns or keys, and indexes
 */
export const hasOutdatedField = <Field extends KeptField>(
  assetType: AssetType,
  fields: readonly Field[],
  make: (field: AssetField, number: number) => Field,
  storageOf: (field: Field) => string,
): boolean =>
  fields.some((kept, number) => {
    const field = findField(assetType, kept.name);
    return field !== undefined && storageOf(kept) !== storageOf(make(field, number));
  });

/** Only what holds of the values of before and of now. */
function keptField<Field extends KeptField>(kept: Field, field: AssetField | undefined): Field {
  if (field === undefined) return kept;
  const { type, isText, exactWhenFolded } = fieldRules(field);
  if (isText !== isTextType(kept.type)) return kept;
  return { ...kept, type, exactWhenFolded: kept.exactWhenFolded && exactWhenFolded };
}

/** A value as lists are sorted by it. */
export function sortValue(value: FieldValue): string | number | null {
  if (value === null || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : matchText(value);
}

/** A value as filters look into it: what is not text matches on its JSON text. */
export function matchText(value: FieldValue): string | null {
  if (value === null) return null;
  return foldCase(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A unique field's value as it is stored and asked for. */
export function uniqueText(value: FieldValue): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}
