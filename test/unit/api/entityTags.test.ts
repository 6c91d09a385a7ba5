import type { Request } from 'express';
import { isHeld, preconditionOf } from '#app/api/entityTags.js';

const asked = (headers: Request['headers']): Request => ({ headers }) as Request;

test.each([
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  [', ,"b",, "a" ,', true],
  ['*', true],
  ['"b"', false],
  ['"a" "b"', false],
  ['w/"a"', false],
  ['a', false],
  [undefined, false],
])('whether a client that has %s has the answer with the tag a: %s', (given, held) => {
  expect(isHeld(asked(given === undefined ? {} : { 'if-none-match': given }), 'a')).toBe(held);
});

test.each([
  ['*', 'any'],
  ['"a"', ['a']],
  [' "a" , W/"b"', ['a', 'b']],
  [',"a",', ['a']],
  [undefined, undefined],
])('If-Match: %s insists on %j', (given, expected) => {
  expect(preconditionOf(asked(given === undefined ? {} : { 'if-match': given }))).toEqual(expected);
});
