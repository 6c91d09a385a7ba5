/** CSV both ways: what the console writes and reads, also after a spreadsheet has saved it. */

import * as fc from 'fast-check';
import { parse, unparse } from 'papaparse';
import { NoNumber } from '../../../console/src/app/numberText.js';
import { cellValue, type Row, rowOf } from '../../../console/src/tables/cells.js';
import { type CsvRow, csvOf, csvPieces, type Dialect, guessDialect } from '../../../console/src/tables/csv.js';

const COLUMNS = [
  { name: 'key', type: 'String' },
  { name: 'name', type: 'String' },
  { name: 'notes', type: 'LongText' },
  { name: 'weight', type: 'Decimal' },
  { name: 'layers', type: 'Integer' },
  { name: 'active', type: 'Boolean' },
  { name: 'day', type: 'Date' },
  { name: 'at', type: 'DateTime' },
] as const;
const NAMES = COLUMNS.map(({ name }) => name);
type Written = { readonly [name in (typeof NAMES)[number]]?: string | number | boolean | null };

/** As the console writes them. */
const exported = (records: readonly Written[], decimal = '.'): string => csvOf(COLUMNS, records, decimal);

async function rowsOf(file: Blob, change: Partial<Dialect> = {}): Promise<readonly Row[]> {
  const dialect = { ...(await guessDialect(file, '.')), ...change };
  const rows: Row[] = [];
  for await (const piece of csvPieces(file, dialect)) {
    rows.push(...piece.rows.filter(({ line }) => line > dialect.header).map((row) => rowOf(row, COLUMNS, dialect)));
  }
  return rows;
}

/** As the service would store it: decimal numbers have a text in the import. */
const stored = ({ item, flaws }: Row) => {
  expect(flaws).toEqual([]);
  return { ...item, weight: item.weight === null ? null : Number(item.weight) };
};

const RECORD = { key: 'K', name: 'N', notes: null, weight: null, layers: null, active: null, day: null, at: null };
const HOSTILE = [
  ...['', "'", "''", "'=1+1", '=1+1', "''=1+1", '+1', '-75.63', '@x', '\t=x', '\r=x', '\n=x', '  =1+1', ' ', '  '],
  ...["'s-Hertogenbosch", "'t Harde", "'00123", '00123', '8712345678901', '1E5', '1-2', '3/4', '1.10', '12:30', 'TRUE'],
  ...['two\nlines', 'two\r\nlines', 'ends\r\n', '"', '""', 'say "hi"', 'a,b', 'a;b', 'a\tb', '5" pipe', '"quoted"'],
  ...['é€ß中', '\uFEFF', '1,250', '-', '--', '=', 'sep=;', 'null', '0', '123', 'ends with a space ', '|'],
];

describe('what the console has written, it reads as it was', () => {
  test('every hostile text', async () => {
    const records = HOSTILE.flatMap((text) => [
      { ...RECORD, key: `K${text}`, name: text, notes: text },
      { ...RECORD, name: text },
      { ...RECORD, notes: text },
    ]);
    expect((await rowsOf(new Blob([exported(records)]))).map(stored)).toEqual(records);
  });

  const value = fc.record({
    name: fc.option(
      fc.array(fc.constantFrom(...'\'=+-@\t\r\n"\\,;| 0123456789.e:/aé'.split(''))).map((a) => a.join('')),
    ),
    notes: fc.option(fc.string({ unit: 'binary' })),
    weight: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0)),
    layers: fc.option(fc.maxSafeInteger()),
    active: fc.option(fc.boolean()),
    day: fc.option(fc.constantFrom('2026-01-31', '0001-12-01', '2024-02-29')),
    at: fc.option(fc.constantFrom('2026-11-21T03:11:47.123456Z')),
  });
  test('every record', () =>
    fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 5 }), async (values) => {
        const records = values.map((each, at) => ({ ...RECORD, ...each, key: `K${at}` }));
        expect((await rowsOf(new Blob([exported(records)]))).map(stored)).toEqual(records);
      }),
      { numRuns: 200, seed: 45 },
    ));

  test('where the comma is the decimal mark as well', async () => {
    const numbers = [-75.63, 1.234, 1e-7, 1.5e-7, -2.5e300, 0, 12, null];
    const records = numbers.map((weight, at) => ({ ...RECORD, key: `K${at}`, name: '1.5', notes: 'a;b', weight }));
    const file = exported(records, ',');
    expect(file.split('\r\n')[1]).toBe('K0;\'1.5;"a;b";-75,63;;;;');
    expect((await rowsOf(new Blob([file]))).map(stored)).toEqual(records);
  });
});

type Country = {
  readonly decimal: string;
  readonly day: (year: string, month: string, day: string) => string;
  readonly words: readonly [string, string];
};
const DUTCH: Country = { decimal: ',', day: (y, m, d) => `${Number(d)}-${Number(m)}-${y}`, words: ['WAAR', 'ONWAAR'] };
const AMERICAN: Country = {
  decimal: '.',
  day: (y, m, d) => `${Number(m)}/${Number(d)}/${y}`,
  words: ['TRUE', 'FALSE'],
};

/** What a sheet shows of a cell, and saves. It fails for what it would run; what is a date in no form of ours, it garbles. */
function shown(cell: string, { decimal, day, words }: Country): string {
  if (/^(true|waar)$/i.test(cell)) return words[0];
  if (/^(false|onwaar)$/i.test(cell)) return words[1];
  const [, y = '', m = '', d = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(cell) ?? [];
  if (d !== '') return day(y, m, d);
  const digits = cell.trim().replace(decimal, '.');
  if (/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(digits) && (decimal === '.' || !cell.includes('.'))) {
    const number = Number(digits);
    const isLong = Math.abs(number) >= 1e11;
    return (isLong ? number.toExponential(5).toUpperCase() : String(Number(number.toPrecision(10)))).replace(
      '.',
      decimal,
    );
  }
  if (/^\d+([-/.:,]\d+)+$/.test(cell)) return `a day or a time: ${cell}`;
  if (/^\s*[=+\-@]/.test(cell)) throw new Error(`A sheet runs ${cell}`);
  return cell;
}

/** The file as the console saves it in the language of the sheet, opened there. */
function sheetOf(records: readonly Written[], country: Country): string[][] {
  const { data } = parse<string[]>(exported(records, country.decimal), { delimiter: country === DUTCH ? ';' : ',' });
  return data.slice(0, -1).map((cells) => cells.map((cell) => shown(cell, country)));
}

describe('a spreadsheet opens and saves it, and an import changes nothing', () => {
  const records = [
    ...HOSTILE.filter((text) => !text.includes('\uFEFF')).map((text, at) => ({
      ...RECORD,
      key: `${at}`,
      name: text,
      notes: text,
    })),
    ...[-75.63, 0, 1250.75, 1.25, 1234567.5, -0.5, 1000].map((weight) => ({ ...RECORD, key: `K${weight}`, weight })),
    {
      key: '00042',
      name: 'Köln',
      notes: '',
      weight: 2.5,
      layers: -3,
      active: true,
      day: '2026-01-31',
      at: '2026-11-21T03:11:47.123456Z',
    },
    { ...RECORD, active: false, day: '2026-03-02' },
  ];
  const save = (country: Country, delimiter: string) =>
    unparse(sheetOf(records, country), { delimiter, newline: '\r\n' });

  test.each([
    ['Dutch, with semicolons and a byte order mark', Buffer.from(`\uFEFF${save(DUTCH, ';')}`)],
    ['Dutch, as Unicode text: UTF-16 with tabs', Buffer.from(`\uFEFF${save(DUTCH, '\t')}`, 'utf16le')],
    ['American English, with commas', Buffer.from(save(AMERICAN, ','))],
  ])('in %s', async (_, file) => {
    expect((await rowsOf(new Blob([file]))).map(stored)).toEqual(records);
  });
});

/** Of letters that it has in common with Latin-1: Node 20 decodes it as that. */
const windows1252 = (text: string): Buffer<ArrayBuffer> => Buffer.from(text, 'latin1');

describe('the guess', () => {
  const lines = (...each: string[]) => each.join('\r\n');
  test.each<[string, string | Buffer<ArrayBuffer>, Partial<Dialect>]>([
    ['an empty file', '', { encoding: 'utf-8', delimiter: ',', header: 1, decimal: '.', dates: 'iso' }],
    ['one column', 'key\r\n1', { delimiter: ',', header: 1 }],
    ['semicolons', 'a;b\r\n1;2', { delimiter: ';', decimal: ',' }],
    ['tabs', 'a\tb\r\n1\t2', { delimiter: '\t' }],
    ['commas in texts', 'id;name\r\n1;a, b\r\n2;c, d', { delimiter: ';' }],
    ['lines above the names', lines('', ';', 'a;b', '1;2'), { header: 3 }],
    ['a delimiter that is named', lines('sep=;', 'a;b', '1;2'), { header: 2, delimiter: ';' }],
    ['an encoding', windows1252('a;b\r\né;2'), { encoding: 'windows-1252' }],
    ['another one', Buffer.from('\uFEFFa\tb\r\né\t2', 'utf16le'), { encoding: 'utf-16le', delimiter: '\t' }],
    ['decimal points with semicolons', 'a;b\r\n1.5;2', { decimal: '.' }],
    ['points that part thousands', 'a;b\r\n1.234.567;2', { decimal: ',' }],
    ['both marks', 'a;b\r\n1,234.50;2', { decimal: '.' }],
    ['both marks in Dutch', 'a\tb\r\n1.234,50\t2', { decimal: ',' }],
    ['what could be either', 'a\tb\r\n1,250\t2', { decimal: '.' }],
    ['days first', 'a;b\r\n1/2/2026;31/1/2026', { dates: 'dmy' }],
    ['days second', 'a;b\r\n1/2/2026;1/31/2026', { dates: 'mdy' }],
    ['hyphens', 'a;b\r\n1-2-2026;', { dates: 'dmy' }],
    ['slashes that say nothing', 'a;b\r\n1/2/2026;', { dates: 'iso' }],
    ['dates that contradict each other', 'a;b\r\n13/2/2026;2/13/2026', { dates: 'iso' }],
  ])('of %s', async (_, file, expected) => {
    expect(await guessDialect(new Blob([file]), '.')).toMatchObject(expected);
  });
});

const DIALECT = {
  encoding: 'utf-8',
  delimiter: ';',
  header: 1,
  decimal: ',',
  dates: 'dmy',
  yes: 'ja WAAR',
  no: 'nee',
} as const;

test.each([
  [
    'Decimal',
    { '1.234,50': '1234.50', '12,5': '12.5', "'-75,63": '-75.63', '1.250': null, '1,2,3': null, '1.2E+11': null },
  ],
  ['Decimal', { '1e-7': '1e-7', '-1.5e+300': '-1.5e+300', '': undefined, ' ': undefined }],
  ['Integer', { '12': 12, '1.234.567': 1234567, '-3': -3, x: null, '12345678901234567890': '12345678901234567890' }],
  ['Boolean', { ja: true, JA: true, waar: true, Nee: false, true: 'true', '': undefined }],
  ['Date', { '31-1-2026': '2026-01-31', '01/02/2026': '2026-02-01', '2026-01-31': '2026-01-31', '1-2-26': '1-2-26' }],
  ['DateTime', { ' 2026-01-31T10:00Z ': '2026-01-31T10:00Z' }],
  ['String', { '': undefined, "'": '', ' ': ' ', "'=1": '=1', '=1': '=1', "'s-Gravenhage": "'s-Gravenhage" }],
] as const)('%s: %j', (type, cells) => {
  for (const [cell, expected] of Object.entries(cells)) {
    const value = expected === undefined ? null : expected === null ? new NoNumber(cell) : expected;
    expect([cell, cellValue(cell, type, DIALECT)]).toEqual([cell, value]);
  }
});

test('a row with too many or too few cells, or open quotation marks, is refused with its number; empty rows are skipped', async () => {
  const columns = COLUMNS.slice(0, 3);
  const lines = [
    '',
    'key;name;notes',
    ';;',
    'A;Coffee; 2 kg;',
    '',
    'B;Tea',
    'C;"C" and D;"x";',
    'D;ok;',
    'E;"open;',
    'F;lost;',
  ];
  const dialect = { ...DIALECT, header: 2 };
  const rows: Row[] = [];
  for await (const piece of csvPieces(new Blob([lines.join('\r\n')]), dialect)) {
    rows.push(...piece.rows.filter(({ line }) => line > 2).map((row) => rowOf(row, columns, dialect)));
  }
  expect(rows.map(({ line, item, flaws: [first] }) => [line, item.key, first?.flaw])).toEqual([
    [4, 'A', 'tooMany'],
    [6, 'B', 'tooFew'],
    [7, 'C', 'quotes'],
    [8, 'D', undefined],
    [9, 'E', 'quotes'],
  ]);
});

test('a quotation mark that does not close ends the reading of a large file', async () => {
  const file = new Blob(['key;name;notes\r\nA;"', 'x\r\n'.repeat(1_000_000)]);
  const found: CsvRow[] = [];
  for await (const { rows } of csvPieces(file, DIALECT)) found.push(...rows);
  expect(found).toMatchObject([{ line: 1 }, { line: 2, isBroken: true }]);
});
