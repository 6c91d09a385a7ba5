/** Names as they are shown, and those that were likely meant. */
import { UnknownNameError } from '#app/cli/errors.js';
import { nearestFirst } from '#app/domain/editDistance.js';
import { MAX_SHOWN_NAME } from '#app/domain/limits.js';
import { cutText, shownName } from '#app/domain/shownName.js';

const CHARACTER = '\u{1d11e}';

test('a long name is cut, and never within a character', () => {
  const name = (more: number) => 'n'.repeat(MAX_SHOWN_NAME + more);
  expect(shownName(name(0))).toBe(name(0));
  expect(shownName(name(1))).toBe(`${name(0)}…`);
  expect(shownName(`${name(-1)}${CHARACTER}`)).toBe(`${name(-1)}…`);
  expect(shownName(`${name(-2)}${CHARACTER}n`)).toBe(`${name(-2)}${CHARACTER}…`);
});

test('what is shown of a text is well-formed Unicode', () => {
  expect(shownName('a\ud835b')).toBe('a\ufffdb');
  expect(cutText(`${CHARACTER}\udd1e`, 3)).toBe(`${CHARACTER}\ufffd`);
  expect(cutText(CHARACTER, 1)).toBe('');
});

test('names that are likely meant come first, the others by the alphabet', () => {
  expect(nearestFirst('acne', ['zulu', 'beta', 'acme', 'acme-two'])[0]).toBe('acme');
  expect(nearestFirst('acm', ['zulu', 'abc', 'acme', 'acme-two']).slice(0, 2)).toEqual(['acme', 'acme-two']);
  expect(nearestFirst('qqqq', ['b', 'a'])).toEqual(['a', 'b']);
});

test('at most ten names are shown, and how many more there are', () => {
  const names = Array.from({ length: 13 }, (_, n) => `t${n}`);
  expect(new UnknownNameError('tenant x', names, 'None.').message).toMatch(/: t0, .*, t9 and 3 more\.$/);
});
