/** Numbers as people type and paste them in the console. */
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
  expect([1250.75, '1250.75', null, new NoNumber('1e3')].map((value) => numberText(value, ','))).toEqual([
    '1250,75',
    '1250,75',
    '',
    '1e3',
  ]);
});
