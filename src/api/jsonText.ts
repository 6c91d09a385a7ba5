/**
 * Parses JSON from outside (RFC 8259) without loss: a name twice in one object is refused, and so is a number that a double
 * would round. The text is looked through once before the parser has it.
 */
import { DECIMAL_TEXT, isHeldByDouble, type LongNumber } from '../domain/assetTypes/fieldTypes.js';
import { MAX_DIGITS, MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { badRequest, HttpError } from './errors.js';

/** What to do with a number that has more digits than a double holds. */
export type LongNumbers =
  /** Replace it by an object that has its text. No field accepts that, and each field's rule says why. */
  | 'asObject'
  /** Refuse the body: it has members of any type, which no field's rule would check. */
  | 'refused';

/** @throws HttpError 400 for text that is not JSON, too deep, or has a duplicate name; 413 for too many values */
export function parseJson(text: string, longNumbers: LongNumbers = 'asObject'): unknown {
  const { exact, names, depth } = lookThrough(text, longNumbers);
  const value = parsed(exact);
  if (membersIn(value, depth) < names) throw duplicateName(exact);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/** A double holds any number of this many digits exactly. */
const LEAST_LONG = 15;
const EXPONENT = /[eE]/;

/** @returns the text with long numbers replaced, how many names its objects have, and its deepest level */
function lookThrough(text: string, longNumbers: LongNumbers) {
  let exact = '';
  let copied = 0;
  let names = 0;
  let values = 1;
  let level = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
    } else if (char === ':') {
      names += 1;
    } else if (char === ',') {
      values += 1;
    } else if (char === '{' || char === '[') {
      values += 1;
      level += 1;
      depth = Math.max(depth, level);
      if (level > MAX_JSON_DEPTH) throw badRequest(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
    } else if (char === '}' || char === ']') {
      level -= 1;
    } else if (char === '-' || isDigit(char)) {
      const start = at;
      while (isOfNumber(text[at + 1])) at += 1;
      const number = text.slice(start, at + 1);
      if (number.length <= LEAST_LONG && !EXPONENT.test(number)) continue;
      if (number.length > MAX_DIGITS) throw badRequest(`A number in the body has more than ${MAX_DIGITS} characters.`);
      // The parser refuses what is not a number.
      if (!DECIMAL_TEXT.test(number) || isHeldByDouble(number) || isName(text, at + 1)) continue;
      if (longNumbers === 'refused') throw longNumber(number);
      const object: LongNumber = { number };
      exact += text.slice(copied, start) + JSON.stringify(object);
      copied = at + 1;
      names += 1;
      depth = Math.max(depth, level + 1);
    }
  }
  if (values > MAX_JSON_VALUES) throw tooLarge(`The body has more than ${MAX_JSON_VALUES} values.`);
  return { exact: copied === 0 ? text : exact + text.slice(copied), names, depth };
}

const tooLarge = (reason: string): HttpError => new HttpError(413, 'The body is too large.', reason);

const longNumber = (number: string): HttpError =>
  badRequest(`The number ${shownName(number)} has more digits than can be kept; send it as text.`);

const isDigit = (char = ''): boolean => char >= '0' && char <= '9';

const isOfNumber = (char = ''): boolean => isDigit(char) || (char !== '' && '.eE+-'.includes(char));

/** Index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text[quote - 1] !== '\\') return quote;
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}

const COLON = /\s*:/y;

/** Whether a colon follows the token before this place. */
function isName(text: string, end: number): boolean {
  COLON.lastIndex = end;
  return COLON.test(text);
}

/**
 * Members of all objects in a parsed value. The text has more if a name is duplicated in an object, which is refused:
 * RFC 8259 §4 leaves open which of the two counts, and parsers differ.
 * @param depth of the value; the innermost level is only counted
 */
function membersIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  if (depth <= 1) return isArray ? 0 : Object.keys(value).length;
  const parts: readonly unknown[] = isArray ? value : Object.values(value);
  return parts.reduce<number>((members, part) => members + membersIn(part, depth - 1), isArray ? 0 : parts.length);
}

/** An open object with its names so far and the current one, or an open array with the current index. */
type Open = { readonly names?: Set<string>; at: string | number };

/** @param text JSON that has a duplicate name. @returns HttpError 400 with the path of the first one */
function duplicateName(text: string): HttpError {
  const open: Open[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const inner = open.at(-1);
    if (char === '{') open.push({ names: new Set(), at: '' });
    else if (char === '[') open.push({ at: 0 });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && typeof inner?.at === 'number') inner.at += 1;
    else if (char === '"') {
      const end = endOfString(text, at);
      if (inner?.names !== undefined && isName(text, end + 1)) {
        inner.at = String(JSON.parse(text.slice(at, end + 1)));
        if (inner.names.has(inner.at)) break;
        inner.names.add(inner.at);
      }
      at = end;
    }
  }
  return badRequest(`The body has ${open.map(({ at }) => shownName(String(at))).join('.')} twice.`);
}
