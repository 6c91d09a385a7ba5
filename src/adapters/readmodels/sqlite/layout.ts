/** Which columns, indexes and trigram index a table of an asset type gets. */
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type FieldRules, fieldRules, fieldsAfter, hasOutdatedField, isTextType } from '../shared/fieldRules.js';

export type FieldLayout = Pick<FieldRules, 'name' | 'type' | 'exactWhenFolded'> & {
  /** Column with the value in its sort order: folded text, or a number (booleans 0 and 1). */
  readonly sort?: string;
  /** Column with the folded text that filters look into; for text the same as `sort`. */
  readonly match?: string;
  /** Is there an index over (sort, id), and over (match, id)? */
  readonly sortIndexed: boolean;
  readonly matchIndexed: boolean;
  /** Number of the trigram index that holds `match`. */
  readonly trigrams?: number;
};

export const TIME_COLUMNS = ['created_at', 'updated_at'];

/** The times of a record itself, in columns that every table has: microseconds since 1970. */
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
  /** It has few records: of its indexes only those of id and unique field are there yet. */
  readonly isSmall?: boolean;
  /** In the order in which the table got them, which is that of the documents; columns go by it. */
  readonly fields: readonly FieldLayout[];
  /** Name of the unique index field; its exact text is in column `u`. */
  readonly unique?: string;
  /** How many trigram indexes there are: one for the first fields, one for each later set of fields. */
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

/**
 * With so many records a table gets its indexes. To test all of fewer takes a fraction of a millisecond; and each connection
 * reads the definitions of all tables and indexes of all tenants anew whenever one is made.
 */
export const SMALL_ROWS = 1_000;

/** What is there of a layout while its table is small. */
export const withoutIndexes = (layout: TableLayout): TableLayout => ({
  ...layout,
  isSmall: true,
  fields: layout.fields.map(({ trigrams: _, ...field }) => ({ ...field, sortIndexed: false, matchIndexed: false })),
  trigramIndexes: 0,
});

/** A layout as the catalog has it: that which the table has once it is no longer small. */
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
