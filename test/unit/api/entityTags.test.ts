import type { Request } from 'express';
import { etag, heldTag, preconditionOf, tagOfText } from '#app/api/entityTags.js';

const asked = (headers: Request['headers']): Request => ({ headers }) as Request;

test.each([
  ['"a"', '"a"'],
  ['W/"a"', '"a"'],
  ['"b", "a"', '"a"'],
  ['"a.br"', '"a.br"'],
  ['W/"a.br"', '"a.br"'],
  ['W/"a--gzip"', '"a--gzip"'],
  ['"x,y", "a"', '"a"'],
  [', ,"b",, "a" ,', '"a"'],
  ['*', '"a"'],
  ['"b"', undefined],
  ['"a" "b"', undefined],
  ['w/"a"', undefined],
  ['a', undefined],
  [undefined, undefined],
])('a client that has %s has the answer with the tag a as %s', (given, held) => {
  expect(heldTag(asked(given === undefined ? {} : { 'if-none-match': given }), 'a')).toBe(held);
});

test.each([
  ['*', 'any'],
  ['"a"', ['a']],
  [' "a" , "b.br"', ['a', 'b.br', 'b']],
  ['W/"a.gzip", "b-gzip"', ['a.gzip', 'a', 'b-gzip', 'b']],
  [',"a",', ['a']],
  [undefined, undefined],
])('If-Match: %s insists on %j', (given, expected) => {
  expect(preconditionOf(asked(given === undefined ? {} : { 'if-match': given }))).toEqual(expected);
});

test.each(['', 'a', '"a', '"a";', '"a" "b"', ',', '*, "a"', '"a", *', '"a b"', 'W/', 'W/ "a"', 'w/"a"', '"a""b"'])(
  'If-Match: %s is 400',
  (given) => {
    expect(() => preconditionOf(asked({ 'if-match': given }))).toThrow(expect.objectContaining({ status: 400 }));
  },
);

test.each(['a-', 'a--', 'a', '-', 'a_'])(
  'whatever our tag %s ends with, it is found under the ending of a proxy',
  (tag) => {
    for (const ending of ['-gzip', '--gzip', '.br', '-zstd']) {
      expect(heldTag(asked({ 'if-none-match': `"${tag}${ending}"` }), tag)).toBe(`"${tag}${ending}"`);
      expect(preconditionOf(asked({ 'if-match': `W/"${tag}${ending}"` }))).toContain(tag);
    }
  },
);

test('what is compressed has a tag of its own, and the same bytes have the same one, in parts or not', async () => {
  expect(new Set([etag('a'), etag('a', 'br'), etag('a', 'gzip')]).size).toBe(3);
  const long = Buffer.alloc(3_000_000, 'x');
  const tags = await Promise.all([
    tagOfText(['{', long, '}']),
    tagOfText(['{x', long.subarray(1), '}']),
    tagOfText(['{', long.subarray(1), '}']),
  ]);
  expect(tags[1]).toBe(tags[0]);
  expect(tags[2]).not.toBe(tags[0]);
});
