/** Bodies that are no records (§7): each error is told, by its field. */
import { z } from 'zod';
import { parseBody, shortText } from '#app/commands/body.js';
import { ValidationError } from '#app/commands/context.js';
import { MAX_ERRORS, MAX_SHORT_TEXT } from '#app/domain/limits.js';

const schema = z.strictObject({
  name: shortText,
  inner: z.strictObject({ count: z.number('must be a number.') }).optional(),
  list: z.array(z.string('must be a string.')).optional(),
  any: z.record(z.string(), z.unknown()).optional(),
});
const errorsOf = (body: unknown) => {
  try {
    parseBody(schema, body);
  } catch (error) {
    if (error instanceof ValidationError) return error.errors;
    throw error;
  }
  return {};
};
const LONE = '\ud800';

test('a good one is taken as it is', () => {
  const body = { name: 'a', inner: { count: 1 }, list: ['b', ''], any: { c: [null, { d: 'e' }] } };
  expect(parseBody(schema, body)).toEqual(body);
  expect(errorsOf({ name: 'x'.repeat(MAX_SHORT_TEXT) })).toEqual({});
});

test.each<[unknown, { readonly [field: string]: string }]>([
  [undefined, { body: 'The body must be a JSON object.' }],
  [null, { body: 'The body must be a JSON object.' }],
  [[], { body: 'The body must be a JSON object.' }],
  ['text', { body: 'The body must be a JSON object.' }],
  [{}, { name: 'The name field is required.' }],
  [{ name: null }, { name: 'The name field must be a string.' }],
  [{ name: '' }, { name: 'The name field must not be empty.' }],
  [{ name: 'a', inner: {} }, { 'inner.count': 'The inner.count field is required.' }],
  [{ name: 'a', inner: { count: 'x' } }, { 'inner.count': 'The inner.count field must be a number.' }],
  [{ name: 'a', list: ['b', 7] }, { 'list.1': 'The list.1 field must be a string.' }],
  [{ name: 'a', colour: 'red' }, { colour: 'colour is not a known field.' }],
  [{ name: 'a', inner: { count: 1, b: 2 } }, { 'inner.b': 'b is not a known field.' }],
])('%j is refused', (body, errors) => {
  expect(errorsOf(body)).toEqual(Object.fromEntries(Object.entries(errors).map(([field, error]) => [field, [error]])));
});

test('no text is one that an engine would change, wherever it stands, also in a name', () => {
  const refused = (body: object) => Object.keys(errorsOf({ name: 'a', ...body }));
  expect(refused({ name: LONE })).toEqual(['name']);
  expect(refused({ list: ['b', LONE] })).toEqual(['list.1']);
  expect(refused({ any: { deep: [{ text: LONE }, null, 7] } })).toEqual(['any.deep.0.text']);
  expect(refused({ any: { [LONE]: 1 } })).toHaveLength(1);
  // One error for each field.
  expect(errorsOf({ name: `${LONE}${'x'.repeat(MAX_SHORT_TEXT)}` }).name).toHaveLength(1);
});

test('a short text is so long at most', () => {
  const name = [`The name field must be at most ${MAX_SHORT_TEXT} characters.`];
  expect(errorsOf({ name: 'x'.repeat(MAX_SHORT_TEXT + 1) })).toEqual({ name });
});

test('so many errors are told at most', () => {
  const list = Array.from({ length: MAX_ERRORS + 5 }, () => 7);
  expect(Object.keys(errorsOf({ name: 'a', list }))).toHaveLength(MAX_ERRORS);
});
