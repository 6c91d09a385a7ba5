/** The first `length` UTF-16 units of a text, as well-formed Unicode: never half a character. */
export function cutText(text: string, length: number): string {
  const splitsCharacter = length < text.length && (text.codePointAt(length - 1) ?? 0) > 0xffff;
  return text.slice(0, splitsCharacter ? length - 1 : length).toWellFormed();
}

const MAX_SHOWN_NAME = 64;

/** A name from outside, for a message: cut if it is long. */
export const shownName = (name: string): string =>
  `${cutText(name, MAX_SHOWN_NAME)}${name.length > MAX_SHOWN_NAME ? '…' : ''}`;
