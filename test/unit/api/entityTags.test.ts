import type { Request } from 'express';
import { heldTag, preconditionOf } from '#app/api/entityTags.js';

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
