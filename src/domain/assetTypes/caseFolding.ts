// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/**
 * Text as it is compared without regard to case: values, filter needles and sort keys alike.
 *
 * Lower case of all of Unicode, final sigma as sigma (`toLowerCase` picks by the letter's place, which
 * differs between a value and a part of it), in normalization form NFC, so that `é` is one character.
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return ASCII.test(lower) ? lower : lower.replaceAll('ς', 'σ').normalize('NFC');
}
