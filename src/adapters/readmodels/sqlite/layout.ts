/** The columns and indexes that a table gets for the fields of its asset type. */
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import {
  type FieldRules,
  fieldRules,
  fieldsAfter,
  hasOutdatedField,
  isTextType,
  matchText,
  sortValue,
  uniqueText,
} from '../shared/fieldRules.js';

export type FieldLayout = Pick<FieldRules, 'name' | 'type' | 'exactWhenFolded'> & {
  /** Column to sort by: folded text, or a number (booleans 0 and 1). */
  readonly sort?: string;
  /** Column with the folded text that filters search; for text the same as `sort`. */
  readonly match?: string;
  /** Whether there is an index over (sort, id), and over (match, id). */
  readonly sortIndexed: boolean;
  readonly matchIndexed: boolean;
  /** Number of the trigram index that holds `match`. */
  readonly trigrams?: number;
};

export const TIME_COLUMNS = ['created_at', 'updated_at'];

/** The record's own times, in columns that every table has: microseconds since 1970. */
export const timesOf = ({ isSmall }: TableLayout): readonly FieldLayout[] =>
  TIME_COLUMNS.map((name) => ({
    name,
    type: 'DateTime',
    sort: name,
    sortIndexed: isSmall !== true,
    matchIndexed: false,
    exactWhenFolded: true,
  }));

export type TableLayout = {
  /** It has few records, and only the indexes of id and unique field. */
  readonly isSmall?: boolean;
  /** In the order in which the table got them, which is that of the documents and numbers the columns. */
  readonly fields: readonly FieldLayout[];
  /** Name of the unique field; its exact text is in column `u`. */
  readonly unique?: string;
  /** How many trigram indexes: one for the first fields, and one for each later addition of fields. */
  readonly trigramIndexes: number;
};

function fieldLayout(field: AssetField, index: number, trigramIndex: number): FieldLayout {
  const { name, type, isText, isShort, exactWhenFolded, ...has } = fieldRules(field);
  const sort = has.hasSort ? `c${index}` : undefined;
  const match = has.hasMatch ? (isText ? `c${index}` : `m${index}`) : undefined;
  return {
    name,
    type,
    ...(sort === undefined ? {} : { sort }),
    ...(match === undefined ? {} : { match }),
    sortIndexed: has.isSortIndexed,
    matchIndexed: match !== undefined && (isShort || (match === sort && field.sortable)),
    ...(has.hasNgrams ? { trigrams: trigramIndex } : {}),
    exactWhenFolded,
  };
}

/** The layout of an asset type; fields that `previous` knows keep their columns and indexes. */
export function layoutOf(assetType: AssetType, previous?: TableLayout): TableLayout {
  const known = previous?.fields ?? [];
  const trigramIndexes = previous?.trigramIndexes ?? 0;
  const fields = fieldsAfter(known, assetType, (field, number) => fieldLayout(field, number, trigramIndexes));
  const added = fields.slice(known.length);
  return {
    fields,
    ...(assetType.uniqueField === undefined ? {} : { unique: assetType.uniqueField }),
    trigramIndexes: added.some((field) => field.trigrams !== undefined) ? trigramIndexes + 1 : trigramIndexes,
  };
}

/** The part of a layout that a small table has. */
export const withoutIndexes = (layout: TableLayout): TableLayout => ({
  ...layout,
  isSmall: true,
  fields: layout.fields.map(({ trigrams: _, ...field }) => ({ ...field, sortIndexed: false, matchIndexed: false })),
  trigramIndexes: 0,
});

/** A layout in the catalog: that of the table as a large one. */
export type StoredLayout = { readonly layout: string; readonly small: number };

export const layoutIn = ({ layout, small }: StoredLayout): TableLayout =>
  small === 1 ? withoutIndexes(JSON.parse(layout)) : JSON.parse(layout);

/** See `hasOutdatedField`. */
export const isOutdated = (assetType: AssetType, { fields }: TableLayout): boolean =>
  hasOutdatedField(assetType, fields, (field, number) => fieldLayout(field, number, 0), storageOf);

const storageOf = ({ type, sort, match, sortIndexed, matchIndexed, trigrams }: FieldLayout): string =>
  [isTextType(type), sort !== undefined, match !== undefined, sortIndexed, matchIndexed, trigrams !== undefined].join();

export type Column = { readonly name: string; readonly affinity: 'TEXT' | 'NUMERIC'; readonly indexed: boolean };

/** The columns of one field. */
export function columnsOf(field: FieldLayout): readonly Column[] {
  const columns: Column[] = [];
  if (field.sort !== undefined) {
    const affinity = isTextType(field.type) ? 'TEXT' : 'NUMERIC';
    columns.push({ name: field.sort, affinity, indexed: field.sortIndexed });
  }
  if (field.match !== undefined && field.match !== field.sort) {
    columns.push({ name: field.match, affinity: 'TEXT', indexed: field.matchIndexed });
  }
  return columns;
}

/** The cells of a row beside id and times, by which lists are sorted and filtered. */
export type CellValue = string | number | null;

/** Names of the columns, in the order of `cellsOf`. */
export const cellColumns = ({ unique, fields }: TableLayout): readonly string[] => [
  ...(unique === undefined ? [] : ['u']),
  ...fields.flatMap(columnsOf).map(({ name }) => name),
];

export function cellsOf({ unique, fields: layouts }: TableLayout, fields: Fields): CellValue[] {
  const cells: CellValue[] = [];
  if (unique !== undefined) cells.push(uniqueText(ownValue(fields, unique) ?? null));
  for (const field of layouts) pushCells(cells, field, fields);
  return cells;
}

function pushCells(cells: CellValue[], field: FieldLayout, fields: Fields): void {
  const value = ownValue(fields, field.name) ?? null;
  if (field.sort !== undefined) cells.push(sortValue(value));
  if (field.match !== undefined && field.match !== field.sort) cells.push(matchText(value));
}
