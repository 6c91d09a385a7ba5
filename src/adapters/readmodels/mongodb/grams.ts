/** N-grams: runs of characters of a text, by which an index finds the records that may contain another text. */

export type GramLengths = readonly number[];

/** Each n-gram of these lengths once, in characters (code points), behind the prefix. */
export function gramsOf(text: string, lengths: GramLengths, prefix: string): readonly string[] {
  const characters = [...text];
  const grams = new Set<string>();
  for (const length of lengths) {
    for (let at = 0; at + length <= characters.length; at++) {
      grams.add(prefix + characters.slice(at, at + length).join(''));
    }
  }
  return [...grams];
}

/** More than so many make the query planner work without finding fewer records. */
const MOST_GRAMS = 8;

/** Some n-grams that every text containing `needle` has; none when the needle is too short. */
export function gramsToFind(needle: string, lengths: GramLengths, prefix: string): readonly string[] {
  const longest = lengths.toReversed().find((length) => length <= [...needle].length);
  if (longest === undefined) return [];
  const grams = gramsOf(needle, [longest], prefix);
  const step = Math.max(1, grams.length / MOST_GRAMS);
  return Array.from(
    { length: Math.min(grams.length, MOST_GRAMS) },
    (_, index) => grams[Math.floor(index * step)] ?? '',
  );
}
