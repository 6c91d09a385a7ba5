/**
 * About how many characters a JSON value takes as text. Adds up what is there rather than making the text, which
 * would take as long as reading it did.
 */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 6;
  let weight = 2;
  for (const [name, member] of Object.entries(value)) weight += name.length + 4 + weightOf(member);
  return weight;
}
