/** Which columns, indexes and trigram index a table of an asset type gets. */
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { foldCase } from '../../../domain/assetTypes/caseFolding.js';
import type { FieldType, FieldValue } from '../../../domain/assetTypes/fieldTypes.js';

export type FieldLayout = {
  readonly name: string;
  readonly type: FieldType | 'List';
  /** Column with the value in its sort order: folded text, or a number (booleans 0 and 1). */
  readonly sort?: string;
  /** Column with the folded text that filters look into; for text the same as `sort`. */
  readonly match?: string;
  /** Is there an index over (sort, id), and over (match, id)? */
  readonly sortIndexed: boolean;
  readonly matchIndexed: boolean;
  /** Number of the trigram index that holds `match`. */
  readonly trigrams?: number;
  /** The trigram index ends its texts with END_OF_TEXT, and the records with each gram of it are counted (gramCounts.ts). */
  readonly grams?: true;
  /** Values that differ only in case do not occur, so comparing folded text compares exactly. */
  readonly exactWhenFolded: boolean;
};

export type TableLayout = {
  readonly fields: readonly FieldLayout[];
  /** Name of the unique index field; its exact text is in column `u`. */
  readonly unique?: string;
  /** How many trigram indexes there are: one for the first fields, one for each later set of fields. */
  readonly trigramIndexes: number;
};

const TEXTS: readonly string[] = ['String', 'LongText', 'Date', 'DateTime', 'List'];

/**
 * Trigrams pay where values are many and various. Dates and booleans are few values in all, and of
 * UUIDs whole ones are asked for: those are found through their ordinary index.
 */
const hasTrigrams = (field: AssetField): boolean =>
  field.filterable && field.format !== 'uuid' && !['Date', 'DateTime', 'Boolean'].includes(field.type);

function fieldLayout(field: AssetField, index: number, trigramIndex: number): FieldLayout {
  const type = field.list === true ? 'List' : field.type;
  const isText = TEXTS.includes(type);
  const isShort = type !== 'LongText' && type !== 'List';
  const sort = field.sortable || (field.filterable && isText) ? `c${index}` : undefined;
  const match = field.filterable ? (isText ? `c${index}` : `m${index}`) : undefined;
  return {
    name: field.name,
    type,
    ...(sort === undefined ? {} : { sort }),
    ...(match === undefined ? {} : { match }),
    sortIndexed: sort !== undefined && (field.sortable || isShort),
    matchIndexed: match !== undefined && (isShort || (match === sort && field.sortable)),
    ...(hasTrigrams(field) ? { trigrams: trigramIndex, grams: true } : {}),
    exactWhenFolded: !isText || field.oneOf !== undefined || type === 'Date' || type === 'DateTime',
  };
}

/**
 * The layout of an asset type; fields that `previous` knows keep theirs.
 * @throws Error when a field that `previous` knows is gone or has moved
 */
export function layoutOf(assetType: AssetType, previous?: TableLayout): TableLayout {
  const known = previous?.fields ?? [];
  for (const [index, field] of known.entries()) {
    if (assetType.fields[index]?.name !== field.name) {
      throw new Error(`Fields of ${assetType.name} may only be added: ${field.name} is gone or has moved.`);
    }
  }
  const trigramIndexes = previous?.trigramIndexes ?? 0;
  const added = assetType.fields
    .slice(known.length)
    .map((field, index) => fieldLayout(field, known.length + index, trigramIndexes));
  return {
    fields: [...known, ...added],
    ...(assetType.uniqueField === undefined ? {} : { unique: assetType.uniqueField }),
    trigramIndexes: added.some((field) => field.trigrams !== undefined) ? trigramIndexes + 1 : trigramIndexes,
  };
}

export type Column = { readonly name: string; readonly affinity: 'TEXT' | 'NUMERIC'; readonly indexed: boolean };

/** The columns of one field. */
export function columnsOf(field: FieldLayout): readonly Column[] {
  const columns: Column[] = [];
  if (field.sort !== undefined) {
    const affinity = TEXTS.includes(field.type) ? 'TEXT' : 'NUMERIC';
    columns.push({ name: field.sort, affinity, indexed: field.sortIndexed });
  }
  if (field.match !== undefined && field.match !== field.sort) {
    columns.push({ name: field.match, affinity: 'TEXT', indexed: field.matchIndexed });
  }
  return columns;
}

export const isTextLayout = (field: FieldLayout): boolean => TEXTS.includes(field.type);

/** A value as the `sort` column holds it. */
export function sortValue(value: FieldValue): string | number | null {
  if (value === null || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : matchText(value);
}

/** A value as the `match` column holds it: what is not text matches on its JSON text. */
export function matchText(value: FieldValue): string | null {
  if (value === null) return null;
  return foldCase(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A unique field's value as column `u` holds it. */
export function uniqueText(value: FieldValue): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}
