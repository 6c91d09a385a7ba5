// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/**
 * The form in which values, filters and sort keys are compared without regard to case: Unicode lower case in normalization
 * form NFC, with final sigma as sigma (`toLowerCase` chooses by position, which differs between a value and a part of it).
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return ASCII.test(lower) ? lower : lower.replaceAll('ς', 'σ').normalize('NFC');
}
