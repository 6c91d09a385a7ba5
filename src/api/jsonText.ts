/**
 * Parses JSON from outside (RFC 8259) without loss: a number that a double would round is refused. The text is looked through
 * once before the parser has it.
 */
import { ValidationError } from '../commands/context.js';
import { DECIMAL_TEXT, isHeldByDouble } from '../domain/assetTypes/fieldTypes.js';
import { MAX_DIGITS, MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { badRequest, HttpError } from './errors.js';

/**
 * @throws HttpError 400 for text that is not JSON, or too deep; 413 for too many values; ValidationError for a number with
 * more digits than a double holds
 */
export function parseJson(text: string): unknown {
  const { values, long } = lookThrough(text);
  if (values > MAX_JSON_VALUES)
    throw new HttpError(413, 'The body is too large.', `The body has more than ${MAX_JSON_VALUES} values.`);
  const value = parsed(text);
  if (long !== undefined)
    throw new ValidationError({
      body: [`The number ${shownName(long)} has more digits than can be kept; send it as text.`],
    });
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

/** @returns how many values the text has, and the first number that a double would round */
function lookThrough(text: string) {
  let [values, level] = [1, 0];
  let long: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
    } else if (char === ',') {
      values += 1;
    } else if (char === '{' || char === '[') {
      values += 1;
      level += 1;
      if (level > MAX_JSON_DEPTH) throw badRequest(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
    } else if (char === '}' || char === ']') {
      level -= 1;
    } else if (isOfNumber(char)) {
      const start = at;
      while (isOfNumber(text[at + 1])) at += 1;
      if (long === undefined && isRounded(text.slice(start, at + 1))) long = text.slice(start, at + 1);
    }
  }
  return { values, long };
}

const isOfNumber = (char = ''): boolean => (char >= '0' && char <= '9') || (char !== '' && '.eE+-'.includes(char));

/** The parser refuses what is not a number, such as the letter of `true`. */
const isRounded = (number: string): boolean =>
  (number.length > LEAST_LONG || /[eE]/.test(number)) &&
  (number.length > MAX_DIGITS || (DECIMAL_TEXT.test(number) && !isHeldByDouble(number)));

/** Index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text[quote - 1] !== '\\') return quote;
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}
