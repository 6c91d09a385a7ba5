/** The order of a list as terms over columns, ending with the id, which breaks ties. */
import type { SortTerm } from '../../../../ports/readModels.js';
import { notYet, sortTermsOf } from '../../shared/query.js';
import type { Cell, ReadTable } from '../read/readConnection.js';
import { extractedSort, jsonPath } from './conditions.js';

export type Term = {
  /** Column or expression. */
  readonly sql: string;
  readonly cells: readonly Cell[];
  /** Column `sql` has an index over (sql, id). */
  readonly indexed: boolean;
  readonly descending: boolean;
};

/** @throws ReadModelsWithheldError when the table has no such field yet */
export const termsOf = (sort: readonly SortTerm[], table: ReadTable): readonly Term[] =>
  sortTermsOf(sort).map(({ field, direction }) => ({ ...columnOf(field, table), descending: direction === 'desc' }));

function columnOf(name: string, table: ReadTable): Omit<Term, 'descending'> {
  if (name === 'id') return { sql: name, cells: [], indexed: true };
  const field = table.shape.fields.get(name);
  if (field === undefined) throw notYet(name);
  if (field.sort === undefined) return { sql: extractedSort(field, table), cells: [jsonPath(field)], indexed: false };
  return { sql: field.sort, cells: [], indexed: field.sortIndexed };
}

export const reversed = (terms: readonly Term[]): readonly Term[] =>
  terms.map((term) => ({ ...term, descending: !term.descending }));

/** For ORDER BY; bind `cells` of each term. Null comes first when ascending, as SQLite sorts it. */
export const orderBy = (terms: readonly Term[]): string =>
  terms.map(({ sql, descending }) => `${sql}${descending ? ' DESC' : ''}`).join(', ');

export const cellsOf = (terms: readonly Term[]): readonly Cell[] => terms.flatMap(({ cells }) => cells);

/** Whether one index has this order: that of `id`, or of an indexed column with ties by id in its direction. */
export function isOneIndex(terms: readonly Pick<Term, 'sql' | 'indexed' | 'descending'>[]): boolean {
  const [first, second] = terms;
  if (first === undefined || !first.indexed) return false;
  if (first.sql === 'id') return true;
  return terms.length === 2 && second?.sql === 'id' && second.descending === first.descending;
}
