import { MAX_SHOWN_NAME } from '#app/domain/limits.js';
import { cutText, shownName } from '#app/domain/shownName.js';

const CHARACTER = '\u{1d11e}';

test('a long name is cut, and never within a character', () => {
  expect(shownName('n'.repeat(MAX_SHOWN_NAME))).toBe('n'.repeat(MAX_SHOWN_NAME));
  expect(shownName('n'.repeat(MAX_SHOWN_NAME + 1))).toBe(`${'n'.repeat(MAX_SHOWN_NAME)}…`);
  expect(shownName(`${'n'.repeat(MAX_SHOWN_NAME - 1)}${CHARACTER}`)).toBe(`${'n'.repeat(MAX_SHOWN_NAME - 1)}…`);
  expect(shownName(`${'n'.repeat(MAX_SHOWN_NAME - 2)}${CHARACTER}n`)).toBe(
    `${'n'.repeat(MAX_SHOWN_NAME - 2)}${CHARACTER}…`,
  );
});

test('what is shown of a text is well-formed Unicode, whatever the text is', () => {
  expect(shownName('a\ud835b')).toBe('a\ufffdb');
  expect(cutText(`${CHARACTER}\udd1e`, 3)).toBe(`${CHARACTER}\ufffd`);
  expect(cutText(CHARACTER, 1)).toBe('');
});
