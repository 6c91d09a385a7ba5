/** Names as they are shown. */
import { cutText, shownName } from '#app/domain/shownName.js';

const CHARACTER = '\u{1d11e}';

test('a long name is cut, and never within a character', () => {
  const name = (more: number) => 'n'.repeat(64 + more);
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
