/** Which fields can be sorted and searched, and by which values: the same on each engine, which adds its own names. */
import { type AssetField, type AssetType, findField } from '../../../domain/assetTypes/assetType.js';
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import type { FieldType, FieldValue } from '../../../domain/assetTypes/fieldTypes.js';
import { MAX_INDEXED_CHARACTERS } from '../../../domain/limits.js';

export type StoredType = FieldType | 'List';

export type FieldRules = {
  readonly name: string;
  readonly type: StoredType;
  readonly isText: boolean;
  /** Its values are short enough for an index that holds them whole. */
  readonly isShort: boolean;
  /** It has a value to sort by: folded text, or a number (booleans 0 and 1). */
  readonly hasSort: boolean;
  /** The sort order is kept in an index, with ties by id. */
  readonly isSortIndexed: boolean;
  /** It has a text that filters search. For text it is the same as the value to sort by. */
  readonly hasMatch: boolean;
  /** Parts of its text are found through an index of n-grams. */
  readonly hasNgrams: boolean;
  /** No two values differ only in case, so to compare folded text is exact. */
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
    // N-grams pay for many different values. UUIDs are searched as a whole.
    hasNgrams: filterable && field.format !== 'uuid' && !FEW_VALUES.includes(field.type),
    exactWhenFolded: !isText || field.oneOf !== undefined || type === 'Date' || type === 'DateTime',
  };
}

type KeptField = Pick<FieldRules, 'name' | 'type' | 'exactWhenFolded'>;

/**
 * The fields of a table with records after a change of its asset type. They are identified by name. Existing ones keep their
 * order and storage, also if the asset type has them no more; added ones follow, wherever the asset type has them.
 * @param add makes the layout of a new field, by its number among all
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
 * Whether a new table would lay out a field of the asset type otherwise.
 * @param make makes a field's layout, by its number among all
 * @param storageOf the storage of a layout as a text to compare: columns or keys, and indexes
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

/** The rules that hold for old and new values. */
function keptField<Field extends KeptField>(kept: Field, field: AssetField | undefined): Field {
  if (field === undefined) return kept;
  const { type, isText, exactWhenFolded } = fieldRules(field);
  if (isText !== isTextType(kept.type)) return kept;
  return { ...kept, type, exactWhenFolded: kept.exactWhenFolded && exactWhenFolded };
}

/** The value to sort by. */
export function sortValue(value: FieldValue): string | number | null {
  if (value === null || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : matchText(value);
}

/** The text that filters search; for values other than text it is their JSON text. */
export function matchText(value: FieldValue): string | null {
  if (value === null) return null;
  return foldCase(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A unique field's value as it is stored and queried. */
export function uniqueText(value: FieldValue): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}

/** Stands in an index of n-grams for a text that is left out. No text has it, since folded text has no capital letters. */
export const LEFT_OUT = 'ZZZ';

/**
 * Which texts of one record the index of n-grams has: those that fit into MAX_INDEXED_CHARACTERS, in the order of the fields.
 * Filters find the others by LEFT_OUT, and search them in the record.
 */
export class IndexedTexts {
  #left = MAX_INDEXED_CHARACTERS;

  /** Whether the record's next text is indexed. */
  has(text: string): boolean {
    if (text.length > this.#left) return false;
    this.#left -= text.length;
    return true;
  }
}
