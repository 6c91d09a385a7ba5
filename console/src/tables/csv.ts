/** CSV files: how one is written, guessed from its beginning, and its rows in pieces, so that a large one fills no memory. */
import { type ParseResult, Parser, parse } from 'papaparse';
import { csvLine, textCell } from '../../../src/api/csv.js';
import { DATE, type Order } from '../app/dateText.js';

/** Texts have commas more often than the others. */
const DELIMITERS = [';', '\t', '|', ','] as const;

/** How a file is written. The person sees it before the import, and changes what was guessed wrong. */
export type Dialect = {
  readonly encoding: 'utf-8' | 'utf-16le' | 'windows-1252';
  readonly delimiter: (typeof DELIMITERS)[number];
  /** The row with the names, 1 or more; rows above it are left out. */
  readonly header: number;
  readonly decimal: '.' | ',';
  /** In ISO 8601 alone, or with the day or the month first as well. */
  readonly dates: 'iso' | Order;
  /** Words for true and for false, between spaces. */
  readonly yes: string;
  readonly no: string;
};

/** `line` as a spreadsheet numbers rows. A row is broken where its quotation marks do not close. */
export type CsvRow = { readonly line: number; readonly cells: readonly string[]; readonly isBroken: boolean };

const LINE_ENDS = ['\r\n', '\n', '\r'] as const;
type LineEnd = (typeof LINE_ENDS)[number];
/** Characters of a row: beyond it a quotation mark was not closed. */
const MAX_ROW = 1_000_000;
/** Bytes and rows that the guess is made from. */
const SAMPLE = 1_000_000;
const SAMPLE_ROWS = 1_000;

/** Its rows but the empty ones. */
export async function* csvPieces(
  file: Blob,
  { encoding, delimiter }: Pick<Dialect, 'encoding' | 'delimiter'>,
): AsyncGenerator<{ readonly rows: readonly CsvRow[]; readonly bytesRead: number }> {
  const decoder = new TextDecoder(encoding);
  let [left, line, bytesRead] = ['', 0, 0];
  let newline: LineEnd | undefined;
  const rowsOf = (text: string, isEnd: boolean): readonly CsvRow[] => {
    newline ??= lineEndIn(text, delimiter);
    const { data, errors, meta }: ParseResult<string[]> = new Parser({ delimiter, newline }).parse(text, 0, !isEnd);
    const broken = new Set(errors.map(({ row }) => row));
    const rows = data.map((cells, at) => ({
      line: line + at + 1,
      cells: cells.map(trimmed),
      isBroken: broken.has(at),
    }));
    left = text.slice(meta.cursor);
    line += rows.length;
    return rows.filter(({ cells }) => cells.some((cell) => cell !== ''));
  };
  // In a file with both kinds of line ends a return is left at the end of a row.
  const trimmed = (cell: string, at: number, { length }: readonly string[]): string =>
    newline === '\n' && at === length - 1 ? cell.replace(/\r$/, '') : cell;
  for await (const bytes of piecesOf(file)) {
    bytesRead += bytes.length;
    yield { rows: rowsOf(left + decoder.decode(bytes, { stream: true }), false), bytesRead };
    if (left.length > MAX_ROW) {
      yield { rows: [{ line: line + 1, cells: [], isBroken: true }], bytesRead };
      return;
    }
  }
  yield { rows: rowsOf(left + decoder.decode(), true), bytesRead };
}

function lineEndIn(text: string, delimiter: string): LineEnd {
  const { linebreak } = parse(text, { delimiter, preview: 1 }).meta;
  return LINE_ENDS.find((each) => each === linebreak) ?? '\n';
}

async function* piecesOf(file: Blob): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = file.stream().getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value !== undefined) yield value;
  }
}

/** @param decimal where the file itself does not say it */
export async function guessDialect(file: Blob, decimal: string): Promise<Dialect> {
  const encoding = await encodingOf(file);
  const text = new TextDecoder(encoding).decode(await file.slice(0, SAMPLE).arrayBuffer());
  const delimiter = delimiterOf(text);
  const { data } = parse<string[]>(text, { delimiter, preview: SAMPLE_ROWS });
  const cells = data.flat().map((cell) => cell.trim());
  // Some programs name the delimiter first: sep=;
  const header = data.findIndex((row) => row.some((cell) => cell.trim() !== '') && !/^sep=/i.test(row[0] ?? ''));
  return {
    encoding,
    delimiter,
    header: Math.max(0, header) + 1,
    decimal: decimalOf(cells) ?? (delimiter === ';' ? ',' : delimiter === ',' || decimal === '.' ? '.' : ','),
    dates: datesOf(cells),
    yes: 'true yes ja waar 1',
    no: 'false no nee onwaar 0',
  };
}

/** Older spreadsheets do not write UTF-8. */
async function encodingOf(file: Blob): Promise<Dialect['encoding']> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const bytes of piecesOf(file)) decoder.decode(bytes, { stream: true });
    decoder.decode();
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

/** The one that makes equally many cells of most rows. */
function delimiterOf(text: string): Dialect['delimiter'] {
  const rows = DELIMITERS.map((delimiter) => {
    const counts = new Map<number, number>();
    for (const { length } of parse<string[]>(text, { delimiter, preview: SAMPLE_ROWS }).data) {
      if (length > 1) counts.set(length, (counts.get(length) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values());
  });
  const most = Math.max(...rows);
  return DELIMITERS.find((_, at) => most > 0 && rows[at] === most) ?? ',';
}

const NUMBER = /^[+-]?\d{1,15}(?:[.,]\d{3})*([.,])\d+$/;
/** 1,250 and 1.250 can be either. */
const EITHER = /^[+-]?\d{1,3}[.,]\d{3}$/;

/** What most numbers say. A mark that stands twice parts thousands. */
function decimalOf(cells: readonly string[]): Dialect['decimal'] | undefined {
  let points = 0;
  for (const cell of cells) {
    const [, mark] = NUMBER.exec(cell) ?? [];
    if (mark === undefined || EITHER.test(cell)) continue;
    points += (mark === '.') === (cell.indexOf(mark) === cell.lastIndexOf(mark)) ? 1 : -1;
  }
  return points === 0 ? undefined : points > 0 ? '.' : ',';
}

/** A number above 12 is a day. Slashes alone do not say which is which: 1/2/2026 is then read as no date, and refused. */
function datesOf(cells: readonly string[]): Dialect['dates'] {
  const dates = cells.map((cell) => DATE.exec(cell)).filter((found) => found !== null);
  const isDayFirst = dates.some(([, first]) => Number(first) > 12);
  const isDaySecond = dates.some(([, , , second]) => Number(second) > 12);
  if (isDayFirst !== isDaySecond) return isDayFirst ? 'dmy' : 'mdy';
  return isDayFirst || dates.length === 0 || dates.some(([, , mark]) => mark === '/') ? 'iso' : 'dmy';
}

/** Records as a sheet expects them: with semicolons between cells where the comma is the decimal mark. Null is empty. */
export function csvOf(
  columns: readonly { readonly name: string; readonly type: string }[],
  records: readonly { readonly [name: string]: unknown }[],
  decimal: string,
): string {
  const lines = records.map((record) => columns.map(({ name, type }) => cellOf(record[name], type, decimal)));
  const names = columns.map(({ name }) => name);
  return [names, ...lines].map((cells) => csvLine(cells, decimal === ',' ? ';' : ',')).join('');
}

/** Numbers, dates and booleans have no apostrophe: a sheet may calculate with them. */
function cellOf(value: unknown, type: string, decimal: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return JSON.stringify(value);
  if (type === 'Decimal') return String(value).replace('.', decimal);
  return type === 'String' || type === 'LongText' ? textCell(String(value)) : String(value);
}
