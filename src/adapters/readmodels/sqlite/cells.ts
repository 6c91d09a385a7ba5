/** The cells of a row beside id and times, by which lists are sorted and filtered. */
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { matchText, sortValue, uniqueText } from '../shared/fieldRules.js';
import { columnsOf, type FieldLayout, type TableLayout } from './layout.js';

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
