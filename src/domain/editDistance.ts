/** How near names are to each other, for messages about one that is wrong. */

/** Characters to insert, delete or replace to make one of the other, without regard to case (Levenshtein). */
function editDistance(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The names that are likely to be meant first, then the others by the alphabet. Names that begin alike are near. */
export function nearestFirst(wrong: string, names: readonly string[]): readonly string[] {
  const shown = wrong.slice(0, LONGEST_COMPARED);
  const distances = new Map(
    names.map((name) => [name, name.startsWith(shown) || shown.startsWith(name) ? 0 : editDistance(shown, name)]),
  );
  return [...names].sort((a, b) => (distances.get(a) ?? 0) - (distances.get(b) ?? 0) || (a < b ? -1 : 1));
}

/** The work grows with the product of both lengths. */
const LONGEST_COMPARED = 64;

/** Most typing errors in a name for which a correction is suggested. */
const MOST_CHANGES = 2;
/** Names that a message lists. */
const MOST_LISTED = 30;

/** The name that a wrong one is likely to be a misspelling of. */
export function nameMeant(wrong: string, names: readonly string[]): string | undefined {
  const stem = beforeBracket(wrong);
  const [nearest] = names
    .filter((name) => Math.abs(beforeBracket(name).length - stem.length) <= MOST_CHANGES)
    .map((name) => ({ name, changes: editDistance(stem, beforeBracket(name)) }))
    .filter(({ changes }) => changes <= MOST_CHANGES)
    .sort((a, b) => a.changes - b.changes);
  return nearest?.name;
}

/**
 * The end of a message about an unknown name: `did you mean name?`, or the names there are.
 * @param known introduces the list
 */
export function namesInstead(wrong: string, names: readonly string[], known = 'there are'): string {
  const meant = nameMeant(wrong, names);
  if (meant !== undefined) return `did you mean ${meant}?`;
  if (names.length === 0) return 'there are none.';
  const more = names.length - MOST_LISTED;
  return `${known} ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

/** `filter` of `filter[name]`. */
export function beforeBracket(name: string): string {
  const bracket = name.indexOf('[');
  return bracket < 0 ? name : name.slice(0, bracket);
}
