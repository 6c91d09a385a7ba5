/**
 * Numbers as people type and paste them. The browser makes no number of a text: what it understands goes to the service as
 * digits with a point, and what could mean two numbers is not sent.
 */

/** What was typed where a number is wanted, and is none, or could be two. */
export class NoNumber {
  constructor(readonly text: string) {}
}

/** `.` in English, `,` in Dutch. */
export const decimalMark = (language: string): string =>
  new Intl.NumberFormat(language).formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';

const SPACES = /[\s'’]/g;
const GROUPED = { '.': /^[+-]?\d{1,3}(\.\d{3})+$/, ',': /^[+-]?\d{1,3}(,\d{3})+$/ } as const;
type Mark = keyof typeof GROUPED;

/**
 * `1.250,75` and `1,250.75` say themselves which mark is the decimal one. With one mark alone the language decides; `1,250` in
 * English and `1.250` in Dutch could have come from a sheet in the other, so they are refused.
 * @returns digits with a point, such as `-1250.75`
 */
export function numberIn(typed: string, decimal: string): string | NoNumber {
  const text = typed.trim().replace(SPACES, '').replace('−', '-');
  const marks = [...text].filter((sign): sign is Mark => sign === '.' || sign === ',');
  const last = marks.at(-1);
  const others = marks.filter((mark) => mark !== last);
  // A mark that stands twice parts thousands.
  const isDecimal = last !== undefined && marks.length - others.length === 1;
  if (isDecimal && others.length === 0 && last !== decimal) return new NoNumber(typed);
  const [whole = '', fraction] = isDecimal ? text.split(last) : [text];
  const group = isDecimal ? others[0] : last;
  const isWhole = (group === undefined ? /^[+-]?\d+$/ : GROUPED[group]).test(whole);
  if (!isWhole || (fraction !== undefined && !/^\d+$/.test(fraction))) return new NoNumber(typed);
  const digits = whole.replaceAll(group ?? ' ', '').replace('+', '');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** What is sent of it: integers have no text in the API, and longer ones than a number holds stay one, and are refused. */
export function numberValue(typed: string, decimal: string, isInteger: boolean): string | number | NoNumber {
  const number = numberIn(typed, decimal);
  return isInteger && typeof number === 'string' && Number.isSafeInteger(Number(number)) ? Number(number) : number;
}

/** A value of the API as the person would type it. */
export const numberText = (value: unknown, decimal: string): string =>
  value instanceof NoNumber
    ? value.text
    : typeof value === 'number' || typeof value === 'string'
      ? String(value).replace('.', decimal)
      : '';
