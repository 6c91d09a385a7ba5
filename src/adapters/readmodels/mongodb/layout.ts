/** Under which keys a record's fields are stored, and which indexes its collection gets. */
import type { IndexDescription } from 'mongodb';
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import type { Fields, FieldType, FieldValue } from '../../../domain/assetTypes/fieldTypes.js';
import { type GramLengths, gramsOf } from './grams.js';

/** Names of fields are the tenant's choice, so no key is made from them: `f3` and `m3` belong to the fourth field. */
export type FieldLayout = {
  readonly name: string;
  readonly type: FieldType | 'List';
  readonly isText: boolean;
  /** Key of the value in its sort order: folded text, or a number (booleans 0 and 1). */
  readonly sort?: string;
  /** Key of the folded text that filters look into; for text the same as `sort`. */
  readonly match?: string;
  /** Is there an index over (sort, _id)? */
  readonly indexed: boolean;
  /** What the field's n-grams begin with in the record's array of all n-grams, and how long they are. */
  readonly grams?: { readonly prefix: string; readonly lengths: GramLengths };
  /** Values that differ only in case do not occur, so comparing `sort` compares exactly. */
  readonly exactWhenFolded: boolean;
};

export type TableLayout = {
  readonly fields: readonly FieldLayout[];
  readonly byName: ReadonlyMap<string, FieldLayout>;
  /** Name of the unique index field; its exact text is under `k`. */
  readonly unique?: string;
};

const TEXTS: readonly string[] = ['String', 'LongText', 'Date', 'DateTime', 'List'];
const ALL_LENGTHS: GramLengths = [1, 2, 3];
const TRIGRAMS: GramLengths = [3];

export function layoutOf(assetType: AssetType): TableLayout {
  const fields = assetType.fields.map(fieldLayout);
  return {
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    ...(assetType.uniqueField === undefined ? {} : { unique: assetType.uniqueField }),
  };
}

function fieldLayout(field: AssetField, index: number): FieldLayout {
  const type = field.list === true ? 'List' : field.type;
  const isText = TEXTS.includes(type);
  const isShort = type !== 'LongText' && type !== 'List';
  const hasSort = field.sortable || (field.filterable && (isText || type === 'Boolean'));
  const hasMatch = field.filterable && type !== 'Boolean';
  return {
    name: field.name,
    type,
    isText,
    ...(hasSort ? { sort: `f${index}` } : {}),
    ...(hasMatch ? { match: isText ? `f${index}` : `m${index}` } : {}),
    indexed: hasSort && (field.sortable || isShort),
    ...(hasGrams(field)
      ? { grams: { prefix: `${index.toString(36)}:`, lengths: isText ? TRIGRAMS : ALL_LENGTHS } }
      : {}),
    exactWhenFolded: !isText || field.oneOf !== undefined || type === 'Date' || type === 'DateTime',
  };
}

/**
 * N-grams pay where values are many and various. Dates and booleans are few values in all, and of
 * UUIDs whole ones are asked for. Numbers are short, so they have n-grams of one and two characters as well.
 */
const hasGrams = (field: AssetField): boolean =>
  field.filterable && field.format !== 'uuid' && !['Date', 'DateTime', 'Boolean'].includes(field.type);

/** What lists sort by and filters look into, by key. */
export type IndexedValues = { readonly [key: string]: string | number | null | readonly string[] };

export function indexedValues(layout: TableLayout, fields: Fields, withGrams: boolean): IndexedValues {
  const values: Record<string, string | number | null | readonly string[]> = {};
  const grams: string[] = [];
  if (layout.unique !== undefined) values.k = uniqueText(fields[layout.unique] ?? null);
  for (const field of layout.fields) {
    const value = fields[field.name] ?? null;
    if (field.sort !== undefined) values[field.sort] = sortValue(value);
    if (field.match === undefined) continue;
    const text = matchText(value);
    values[field.match] = text;
    if (withGrams && field.grams !== undefined && text !== null) {
      grams.push(...gramsOf(text, field.grams.lengths, field.grams.prefix));
    }
  }
  return withGrams ? { ...values, g: grams } : values;
}

/** A value as its `sort` key holds it. */
export function sortValue(value: FieldValue): string | number | null {
  if (value === null || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : matchText(value);
}

/** What is not text matches on its JSON text. */
function matchText(value: FieldValue): string | null {
  if (value === null) return null;
  return foldCase(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A unique field's value as it is stored and asked for. */
export function uniqueText(value: FieldValue): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}

/** MongoDB allows 64 indexes on a collection; those of fields beyond that are left out. */
const MOST_INDEXES = 64;

/**
 * Each sort index ends with the id, which breaks ties, so one index serves both directions. The unique field's
 * index is not a unique one: the log guards uniqueness, and two records may swap their keys in one slice.
 */
export function indexesOf(layout: TableLayout, withGrams: boolean): readonly IndexDescription[] {
  const others: IndexDescription[] = [
    { name: 'created', key: { c: 1, _id: 1 } },
    { name: 'updated', key: { u: 1, _id: 1 } },
    { name: 'batch', key: { b: 1 } },
    ...(layout.unique === undefined ? [] : [{ name: 'key', key: { k: 1 } }]),
    ...(withGrams && layout.fields.some(({ grams }) => grams !== undefined) ? [{ name: 'grams', key: { g: 1 } }] : []),
  ];
  const sorts = layout.fields.flatMap(({ sort, indexed }): IndexDescription[] =>
    sort !== undefined && indexed ? [{ name: sort, key: { [sort]: 1, _id: 1 } }] : [],
  );
  // One place is taken by the index over _id.
  return [...others, ...sorts].slice(0, MOST_INDEXES - 1);
}
