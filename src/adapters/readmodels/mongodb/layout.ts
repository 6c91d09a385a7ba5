/** The keys under which a record's fields are stored, and the indexes of its collection. */
import { createHash } from 'node:crypto';
import type { IndexDescription } from 'mongodb';
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import {
  type FieldRules,
  fieldRules,
  fieldsAfter,
  hasOutdatedField,
  IndexedTexts,
  isTextType,
  LEFT_OUT,
  matchText,
  sortValue,
  uniqueText,
} from '../shared/fieldRules.js';

/** Lengths of n-grams, by which an index finds the records that may contain a text. */
type NgramLengths = readonly number[];

/** Tenants choose the names of fields, so keys are numbered: `f3` and `m3` belong to the fourth field. */
export type FieldLayout = Pick<FieldRules, 'name' | 'type' | 'exactWhenFolded'> & {
  /** Key of the value to sort by: folded text, or a number (booleans 0 and 1). */
  readonly sort?: string;
  /** Key of the folded text that filters search; for text the same as `sort`. */
  readonly match?: string;
  /** Whether there is an index over (sort, _id). */
  readonly isIndexed: boolean;
  /** Prefix of the field's n-grams in the record's array of all n-grams, and their lengths. */
  readonly ngrams?: { readonly prefix: string; readonly lengths: NgramLengths };
};

export type TableLayout = {
  /** Its records are in the collection of small tables, without n-grams and indexes of fields. */
  readonly isSmall?: boolean;
  /** In the order in which the table got them, which is that of the documents' text and numbers the keys. */
  readonly fields: readonly FieldLayout[];
  readonly byName: ReadonlyMap<string, FieldLayout>;
  /** Name of the unique field; its exact text is under `k`. */
  readonly unique?: string;
};

/** Numbers are short, so they have n-grams of one and two characters as well. */
const ALL_LENGTHS: NgramLengths = [1, 2, 3];
const TRIGRAMS: NgramLengths = [3];

/** The layout of an asset type; fields that `previous` has keep their keys and indexes. */
export function layoutOf(assetType: AssetType, previous: readonly FieldLayout[] = []): TableLayout {
  const fields = fieldsAfter(previous, assetType, fieldLayout);
  return {
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    ...(assetType.uniqueField === undefined ? {} : { unique: assetType.uniqueField }),
  };
}

/** The part of a layout that a small table has. */
export function withoutIndexes({ fields, unique }: TableLayout): TableLayout {
  const small = fields.map(({ ngrams: _, ...field }) => ({ ...field, isIndexed: false }));
  return {
    isSmall: true,
    fields: small,
    byName: new Map(small.map((field) => [field.name, field])),
    ...(unique === undefined ? {} : { unique }),
  };
}

function fieldLayout(field: AssetField, index: number): FieldLayout {
  const { name, type, isText, exactWhenFolded, ...has } = fieldRules(field);
  const isMatchedAsNumber = type === 'Boolean' && has.hasMatch;
  return {
    name,
    type,
    ...(has.hasSort || isMatchedAsNumber ? { sort: `f${index}` } : {}),
    ...(has.hasMatch && !isMatchedAsNumber ? { match: isText ? `f${index}` : `m${index}` } : {}),
    isIndexed: has.isSortIndexed || isMatchedAsNumber,
    ...(has.hasNgrams
      ? { ngrams: { prefix: `${index.toString(36)}:`, lengths: isText ? TRIGRAMS : ALL_LENGTHS } }
      : {}),
    exactWhenFolded,
  };
}

export type StoredLayout = {
  /** SHA-256 of the asset type's text, hex. */
  readonly assetTypeHash: string;
  /** FieldLayout[] as JSON text. */
  readonly fields: string;
};

/** Asset type (JSON text) and layout of a table's records, as they are stored. */
export type StoredShape = {
  readonly assetType: string;
  /**
   * An earlier release left it out, or left that of an earlier asset type: then the records are laid out in the order of the
   * asset type.
   */
  readonly layout?: StoredLayout;
};

const hashOf = (assetType: string): string => createHash('sha256').update(assetType).digest('hex');

export const storedLayout = (assetType: string, { fields }: TableLayout): StoredLayout => ({
  assetTypeHash: hashOf(assetType),
  fields: JSON.stringify(fields),
});

/** None if an earlier release has written the entry: then the fields are in the order of the asset type. */
export function storedFields({ assetType, layout }: StoredShape): readonly FieldLayout[] {
  return layout?.assetTypeHash === hashOf(assetType) ? JSON.parse(layout.fields) : [];
}

/** See `hasOutdatedField`. */
export const isOutdated = (assetType: AssetType, { fields }: TableLayout): boolean =>
  hasOutdatedField(assetType, fields, fieldLayout, storageOf);

const storageOf = ({ type, sort, match, isIndexed, ngrams }: FieldLayout): string =>
  [isTextType(type), sort !== undefined, match !== undefined, isIndexed, ngrams?.lengths].join();

/** The values to sort by and to search, by key. */
export type IndexedValues = { readonly [key: string]: string | number | null | readonly string[] };

export function indexedValues(layout: TableLayout, fields: Fields): IndexedValues {
  const values: Record<string, string | number | null | readonly string[]> = {};
  const ngrams: string[] = [];
  const indexed = new IndexedTexts();
  if (layout.unique !== undefined) values.k = uniqueText(ownValue(fields, layout.unique) ?? null);
  for (const field of layout.fields) {
    const value = ownValue(fields, field.name) ?? null;
    if (field.sort !== undefined) values[field.sort] = sortValue(value);
    if (field.match === undefined) continue;
    const text = matchText(value);
    values[field.match] = text;
    if (field.ngrams === undefined || text === null) continue;
    const { lengths, prefix } = field.ngrams;
    ngrams.push(...(indexed.has(text) ? ngramsOf(text, lengths, prefix) : [leftOut(prefix)]));
  }
  return layout.isSmall === true ? values : { ...values, g: ngrams };
}

/** MongoDB allows 64 indexes on a collection; further fields have none. */
const MOST_INDEXES = 64;

/**
 * Each sort index ends with the id, which breaks ties, so one index serves both directions. The unique field's index is not
 * unique: the log guards uniqueness, and two records may swap their keys in one commit.
 */
export function indexesOf(layout: TableLayout): readonly IndexDescription[] {
  const others: IndexDescription[] = [
    { name: 'created', key: { c: 1, _id: 1 } },
    { name: 'updated', key: { u: 1, _id: 1 } },
    { name: 'batch', key: { b: 1 } },
    ...(layout.unique === undefined ? [] : [{ name: 'key', key: { k: 1 } }]),
    ...(layout.fields.some(({ ngrams }) => ngrams !== undefined) ? [{ name: 'grams', key: { g: 1 } }] : []),
  ];
  const sorts = layout.fields.flatMap(({ sort, isIndexed }): IndexDescription[] =>
    sort !== undefined && isIndexed ? [{ name: sort, key: { [sort]: 1, _id: 1 } }] : [],
  );
  // The index over _id counts as well.
  return [...others, ...sorts].slice(0, MOST_INDEXES - 1);
}

/** Each n-gram of these lengths once, in characters (code points), behind the prefix. */
function ngramsOf(text: string, lengths: NgramLengths, prefix: string): readonly string[] {
  const characters = [...text];
  const ngrams = new Set<string>();
  for (const length of lengths) {
    for (let at = 0; at + length <= characters.length; at++) {
      ngrams.add(prefix + characters.slice(at, at + length).join(''));
    }
  }
  return [...ngrams];
}

/** Stands for the n-grams of a text that is not indexed (`IndexedTexts`). */
export const leftOut = (prefix: string): string => prefix + LEFT_OUT;

/** Whether the index has the text itself as an n-gram, and so exactly the texts that contain it. */
export const isNgram = (needle: string, lengths: NgramLengths): boolean => lengths.includes([...needle].length);

/** More of them take planning time without finding fewer records. */
const MOST_NGRAMS = 8;

/** Some n-grams that every text containing `needle` has; none if the needle is too short. */
export function ngramsToFind(needle: string, lengths: NgramLengths, prefix: string): readonly string[] {
  const longest = lengths.toReversed().find((length) => length <= [...needle].length);
  if (longest === undefined) return [];
  const ngrams = ngramsOf(needle, [longest], prefix);
  const step = Math.max(1, ngrams.length / MOST_NGRAMS);
  return Array.from(
    { length: Math.min(ngrams.length, MOST_NGRAMS) },
    (_, index) => ngrams[Math.floor(index * step)] ?? '',
  );
}
