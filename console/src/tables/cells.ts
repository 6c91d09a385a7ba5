/** The cells of a file's row as values of the API. What can be read in two ways is not sent. */
import { writtenText } from '../../../src/api/csv.js';
import { dayIn } from '../app/dateText.js';
import { NoNumber, numberValue } from '../app/numberText.js';
import type { CsvRow, Dialect } from './csv.js';

/** The field of a column; undefined: the column is left out. */
export type Column = { readonly name: string; readonly type: string } | undefined;
export type Item = { readonly [field: string]: unknown };
/** Why a row is refused before it is sent. */
export type Flaw = 'tooFew' | 'tooMany' | 'quotes' | 'number';
export type Row = {
  readonly line: number;
  readonly item: Item;
  readonly flaws: readonly { readonly flaw: Flaw; readonly field?: string }[];
};

export function rowOf({ line, cells, isBroken }: CsvRow, columns: readonly Column[], dialect: Dialect): Row {
  const values = columns.flatMap((column, at) =>
    column === undefined ? [] : [[column.name, cellValue(cells[at] ?? '', column.type, dialect)] as const],
  );
  const item = Object.fromEntries(values);
  if (isBroken) return { line, item, flaws: [{ flaw: 'quotes' }] };
  // A comma in a text without quotation marks shifts all cells behind it.
  if (cells.length > columns.length) return { line, item, flaws: [{ flaw: 'tooMany' }] };
  if (cells.length < columns.length) return { line, item, flaws: [{ flaw: 'tooFew' }] };
  const flaws = values.flatMap(([field, value]) =>
    value instanceof NoNumber ? [{ flaw: 'number' as const, field }] : [],
  );
  return { line, item, flaws };
}

/** An empty cell is null. What is no value of the type stays as it is: the service says what is wrong with it. */
export function cellValue(cell: string, type: string, dialect: Dialect): unknown {
  if (type === 'String' || type === 'LongText') return cell === '' ? null : writtenText(cell);
  const text = cell.trim();
  if (text === '') return null;
  switch (type) {
    case 'Integer':
    case 'Decimal':
      // Programs write 1e-7; a sheet writes 1.23E+11 of a number whose other digits it has lost.
      if (/^-?\d([.,]\d+)?e[+-]\d+$/.test(text)) return text.replace(',', '.');
      return numberValue(text, dialect.decimal, type === 'Integer');
    case 'Boolean':
      return isAmong(dialect.yes, text) ? true : isAmong(dialect.no, text) ? false : text;
    case 'Date':
      return dialect.dates === 'iso' ? text : (dayIn(text, dialect.dates) ?? text);
    default:
      return text;
  }
}

const isAmong = (words: string, text: string): boolean => words.toLowerCase().split(/\s+/).includes(text.toLowerCase());
