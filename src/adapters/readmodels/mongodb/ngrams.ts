/** N-grams: runs of characters of a text, by which an index finds the records that may contain another text. */

export type NgramLengths = readonly number[];

/** Each n-gram of these lengths once, in characters (code points), behind the prefix. */
export function ngramsOf(text: string, lengths: NgramLengths, prefix: string): readonly string[] {
  const characters = [...text];
  const ngrams = new Set<string>();
  for (const length of lengths) {
    for (let at = 0; at + length <= characters.length; at++) {
      ngrams.add(prefix + characters.slice(at, at + length).join(''));
    }
  }
  return [...ngrams];
}

/** More than so many make the query planner work without finding fewer records. */
const MOST_NGRAMS = 8;

/** Some n-grams that every text containing `needle` has; none when the needle is too short. */
export function ngramsToFind(needle: string, lengths: NgramLengths, prefix: string): readonly string[] {
  const longest = lengths.toReversed().find((length) => length <= [...needle].length);
  if (longest === undefined) return [];
  const ngrams = ngramsOf(needle, [longest], prefix);
  const step = Math.max(1, ngrams.length / MOST_NGRAMS);
  return Array.from(
    { length: Math.min(ngrams.length, MOST_NGRAMS) },
    (_, index) => ngrams[Math.floor(index * step)] ?? '',
  );
}
