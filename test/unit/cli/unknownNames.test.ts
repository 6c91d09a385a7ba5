import { UnknownNameError } from '#app/cli/errors.js';
import { nearestFirst } from '#app/domain/editDistance.js';

test('names that are likely to be meant come first, the others by the alphabet', () => {
  expect(nearestFirst('acne', ['zulu', 'beta', 'acme', 'acme-two'])[0]).toBe('acme');
  expect(nearestFirst('acm', ['zulu', 'abc', 'acme', 'acme-two']).slice(0, 2)).toEqual(['acme', 'acme-two']);
  expect(nearestFirst('qqqq', ['b', 'a'])).toEqual(['a', 'b']);
});

test('at most ten names are shown, and how many more there are', () => {
  const names = Array.from({ length: 13 }, (_, n) => `t${n}`);
  expect(new UnknownNameError('tenant x', names, 'None.').message).toMatch(/: t0, .*, t9 and 3 more\.$/);
});
