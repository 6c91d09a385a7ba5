/** Numbers and dates as people type and paste them in the console. */
import { dayIn, dayText, orderOf } from '../../../console/src/app/dateText.js';
import { decimalMark, NoNumber, numberIn, numberText } from '../../../console/src/app/numberText.js';

test('the language says which mark is the decimal one', () => {
  expect(['en', 'nl'].map(decimalMark)).toEqual(['.', ',']);
});

describe.each([
  ['en', { '1200': '1200', '1,200': null, '1.25': '1.25', '1.200': '1.200', '12,5': null, '1,250.75': '1250.75' }],
  ['nl', { '1200': '1200', '1.200': null, '1,25': '1.25', '1,200': '1.200', '12.5': null, '1.250,75': '1250.75' }],
  ['en', { '1.250,75': '1250.75', '1,234,567': '1234567', '1.234.567': '1234567', '1,23,456': null, '1,2.3,4': null }],
  ['en', { '1e3': null, abc: null, '0x10': null, '1.': null, '.5': null, '--1': null, '1-': null, Infinity: null }],
  ['en', { ' 12 ': '12', '1 250.75': '1250.75', "1'250.75": '1250.75', '-3': '-3', '−3': '-3', '+3': '3' }],
  ['en', { '12345678901234567890': '12345678901234567890', '0.1234567890123456789': '0.1234567890123456789' }],
] as const)('in %s', (language, cases) => {
  test.each(Object.entries(cases))('%s is %s', (typed, number) => {
    expect(numberIn(typed, decimalMark(language))).toEqual(number ?? new NoNumber(typed));
  });
});

test('a value is shown as the person would type it, and read back the same', () => {
  const shown = [1250.75, '1250.75', null, new NoNumber('1e3')].map((value) => numberText(value, ','));
  expect(shown).toEqual(['1250,75', '1250,75', '', '1e3']);
});

test.each([
  ['nl', { '29-11-2026': '2026-11-29', '4/5/2026': '2026-05-04', ' 1.2.2026': '2026-02-01', '31-2-2026': undefined }],
  ['nl', { '2026-11-29': '2026-11-29', '2026-13-01': undefined, '29-11-26': undefined, '29 november': undefined }],
  ['en-US', { '4/5/2026': '2026-04-05', '29/11/2026': undefined }],
  ['en-GB', { '4/5/2026': '2026-05-04', '29/11/2026': '2026-11-29' }],
])('in %s %p', (locale, days) => {
  const order = orderOf(locale);
  expect(Object.fromEntries(Object.keys(days).map((typed) => [typed, dayIn(typed, order)]))).toEqual(days);
  expect(dayIn(dayText('2026-05-04', locale), order)).toBe('2026-05-04');
});
