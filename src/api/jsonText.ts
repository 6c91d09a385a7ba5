/**
 * JSON text from outside (RFC 8259), looked over once before it is parsed: how deep it is, how many values it has, and which
 * of its numbers a parser would round. Every character is looked at once, whatever the text is.
 */
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { badRequest, HttpError } from './errors.js';

/** What becomes of a number with more digits than a double holds. */
export type LongNumbers =
  /** It arrives as text, digit by digit, so that the rule of its field decides about it. */
  | 'asText'
  /** The body is refused: it has places where any value may stand, which no rule would look at. */
  | 'refused';

/** @throws HttpError 400 for what is no JSON, or too deep; 413 for too many values */
export function parseJson(text: string, longNumbers: LongNumbers = 'asText'): unknown {
  const exact = lookOver(text, longNumbers);
  try {
    return JSON.parse(exact);
  } catch {
    throw notJson();
  }
}

const notJson = (): HttpError => badRequest('The body is not valid JSON.');

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** The text, with quotes around numbers that would be rounded. */
function lookOver(text: string, longNumbers: LongNumbers): string {
  let depth = 0;
  let values = 1;
  let copied = 0;
  let exact = '';
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA) {
      values += 1;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
      values += 1;
      if (depth > MAX_JSON_DEPTH) throw badRequest(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth -= 1;
    } else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      // Fewer characters than a double has digits, and no exponent: nothing to round.
      if (
        (end - at > LEAST_LONG || hasExponent(text, at, end)) &&
        !isExact(text.slice(at, end)) &&
        !isName(text, end)
      ) {
        if (longNumbers === 'refused') throw longNumber(text.slice(at, end));
        exact += `${text.slice(copied, at)}"${text.slice(at, end)}"`;
        copied = end;
      }
      at = end - 1;
    }
    if (values > MAX_JSON_VALUES) {
      throw new HttpError(413, 'The body is too large.', `The body has more than ${MAX_JSON_VALUES} values.`);
    }
  }
  return copied === 0 ? text : exact + text.slice(copied);
}

const longNumber = (token: string): HttpError =>
  badRequest(`The number ${shownName(token)} has more digits than can be kept; send it as text.`);

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Where the string ends that begins here: its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  if (end === start) throw notJson();
  return end;
}

/** Behind the number that begins here (RFC 8259 §6). @throws HttpError 400 where it is none */
function endOfNumber(text: string, start: number): number {
  const whole = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let end = endOfDigits(text, whole);
  if (text.charCodeAt(whole) === ZERO && end > whole + 1) throw notJson();
  if (text.charCodeAt(end) === POINT) end = endOfDigits(text, end + 1);
  if (isE(text.charCodeAt(end))) {
    const sign = text.charCodeAt(end + 1);
    end = endOfDigits(text, sign === PLUS || sign === MINUS ? end + 2 : end + 1);
  }
  return end;
}

const isE = (code: number): boolean => code === LOWER_E || code === UPPER_E;

/** Every number of so many digits comes back from a double as it was. */
const LEAST_LONG = 15;
/** The most that tell two doubles apart. */
const MOST_DIGITS = 17;

function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (isE(text.charCodeAt(at))) return true;
  return false;
}

function isExact(token: string): boolean {
  const digits = digitsOf(token);
  return digits !== undefined && digits === digitsOf(String(Number(token)));
}

/** Digits of a number from the first to the last that is not zero; undefined where they are more than a double has. */
function digitsOf(number: string): string | undefined {
  let first = -1;
  let last = -1;
  let point = -1;
  for (let at = 0; at < number.length && !isE(number.charCodeAt(at)); at += 1) {
    const code = number.charCodeAt(at);
    if (code === POINT) point = at;
    if (code <= ZERO || code > NINE) continue;
    if (first < 0) first = at;
    // One more character may be the point.
    if (at - first > MOST_DIGITS) return undefined;
    last = at;
  }
  if (first < 0) return '';
  const hasPoint = point > first && point < last;
  return hasPoint ? number.slice(first, point) + number.slice(point + 1, last + 1) : number.slice(first, last + 1);
}

/** Whether a colon follows: a name must be a string, and quotes would make one of a number. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === COLON;
}
