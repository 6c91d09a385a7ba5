import { csvLine, csvPage, textCell, writtenText } from '#app/api/csv.js';

test('cells with commas, quotation marks or line ends are quoted, and those that other sheets would part', () => {
  expect(csvLine(['a', 'b,c', 'say "hi"', 'two\nlines', ''])).toBe('a,"b,c","say ""hi""","two\nlines",\r\n');
  expect(csvLine(['a;=1', 'b\tc'])).toBe('"a;=1","b\tc"\r\n');
});

test('only the first page has a byte order mark', () => {
  const pages = [undefined, null, '', 'x'].map((cursor) => csvPage(cursor, ['a'], ['1\r\n']));
  expect(pages).toEqual([...Array(3).fill('\uFEFFa\r\n1\r\n'), 'a\r\n1\r\n']);
});

test.each([
  ['a formula', ['=1+1', '+1', '-1', '@x', '\t=1', ' =1', '\r', '\n', "'=1", "''=1"]],
  [
    'what a sheet would change',
    ['00123', '8712345678901', '1E5', '1-2', '3/4', '1.10', '12:30', 'true', 'MAR1', '12-okt', "'007"],
  ],
  ['an empty text, which is not null', ['', "'", "''"]],
])('%s gets an apostrophe, which the import takes away', (_, texts) => {
  expect(texts.map(textCell)).toEqual(texts.map((text) => `'${text}`));
  expect(texts.map(textCell).map(writtenText)).toEqual(texts);
});

test('other texts are cells as they are, those with an apostrophe as well', () => {
  const texts = [
    "'s-Hertogenbosch",
    "'t Harde",
    '123',
    '0',
    '1-a',
    '1 Main Street',
    '1234 AB',
    'trues',
    'a=1',
    'March',
    'Mars bar 12',
  ];
  expect(texts.map(textCell)).toEqual(texts);
  expect(texts.map(writtenText)).toEqual(texts);
});
