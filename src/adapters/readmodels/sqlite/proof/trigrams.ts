/** The number of trigrams that a full-text index (FTS5) has of a record, which it stores for each column. */

/** FTS5 reads texts up to a NUL. */
const NUL = '\0';

/** Whether a stored entry has as many trigrams as the texts of its columns. */
export function tokensOf(entry: Buffer, texts: readonly (string | number | null)[]): boolean {
  const stored = varints(entry);
  if (stored.length !== texts.length) return false;
  return texts.every((text, column) => {
    const characters = text === null ? 0 : [...(String(text).split(NUL, 1)[0] ?? '')].length;
    return stored[column] === Math.max(0, characters - 2);
  });
}

/** SQLite's variable-length integers: seven bits a byte, the highest first, the top bit set on all but the last. */
function varints(bytes: Buffer): readonly number[] {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 127);
    if (byte < 128) {
      numbers.push(number);
      number = 0;
    }
  }
  return numbers;
}
