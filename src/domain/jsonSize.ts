/** How large values are as JSON, and the refusal of what is too large. */

/** Estimates how many characters a JSON value takes as text, without the cost of making the text. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 6;
  let characters = 2;
  for (const [name, member] of Object.entries(value)) characters += name.length + 4 + charactersOf(member);
  return characters;
}

/** The answer would be too large. The message says what to ask for instead. */
export class AnswerTooLargeError extends Error {}
