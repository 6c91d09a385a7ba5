/** Values that somebody sends who wants to break something. */
import fc from 'fast-check';

const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'toString',
    'null',
    'undefined',
    'NaN',
    '-0',
    '1e999',
    '9007199254740993',
    '0x10',
    "' OR 1=1 --",
    '"; DROP TABLE x; --',
    '%00',
    '..%2f..%2f',
    '<script>alert(1)</script>',
    '{{7*7}}',
    '$where',
    '\u202e\u0000\ufeff',
    '\ud800',
    'İI\u0307ß\ufb03',
    '2026-02-30',
    '2026-13-01T00:00:00Z',
    '+275760-09-13T00:00:00.000Z',
    '-271821-04-20',
    'known:0',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(100, 255, 256, 5000, 70_000).map((length) => 'x'.repeat(length)),
  fc.constantFrom('😀', 'é', 'ﷺ', '\u0301').map((character) => character.repeat(300)),
);

/** Anything that JSON can say, most of it of the wrong type. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e308, -1e-320, 2 ** 53, [], {}, [null], [[]], { $gt: '' }),
  fc.constant(null).map(() => JSON.parse('{"__proto__":{"a":1},"constructor":null,"toString":1}')),
  fc.constantFrom(10, 31, 33, 500).map(deep),
  fc.constantFrom(100, 2000).map((length) => Array.from({ length }, () => 0)),
  hostileText,
  fc.jsonValue({ maxDepth: 3 }),
);
