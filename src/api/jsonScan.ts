/**
 * Scans JSON text from outside (RFC 8259) once before it is parsed: its depth, the number of its values, and numbers
 * that a parser would round. Linear in the length of the text.
 */
import { isHeldByDouble, type LongNumber } from '../domain/assetTypes/fieldTypes.js';
import { MAX_DIGITS, MAX_JSON_DEPTH, MAX_JSON_MEMBERS, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { badRequest, HttpError } from './errors.js';

/** What to do with a number that has more digits than a double holds. */
export type LongNumbers =
  /**
   * Replace it by an object that has its text (`LongNumber`). No field accepts that, and each field's rule says why.
   */
  | 'asObject'
  /** Refuse the body: it has members of any type, which no field's rule would check. */
  | 'refused';

export const notJson = (): HttpError => badRequest('The body is not valid JSON.');

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

export class JsonScan {
  #at = 0;
  #depth = 0;
  #values = 1;
  #allMembers = 0;
  /** Members of the open object at each depth. */
  readonly #members: number[] = [];
  /** The text so far with long numbers replaced by objects, and the length of the input that it covers. */
  #exact = '';
  #copied = 0;
  /** The opening character at each depth. */
  readonly #opened: number[] = [];
  /** Where the open array at depth 2 begins and may be cut. */
  #cuts: number[] = [];
  #longArray: readonly number[] | undefined;

  constructor(
    readonly text: string,
    readonly longNumbers: LongNumbers,
  ) {}

  /** Scans about this many more characters. @returns whether the end was reached */
  advance(characters: number): boolean {
    const { text } = this;
    const stop = Math.min(text.length, this.#at + characters);
    let at = this.#at;
    for (; at < stop; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        at = endOfString(text, at);
      } else if (code === COMMA) {
        this.#values += 1;
        if (this.#depth === 2) this.#cut(at, PIECE);
      } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
        this.#values += 1;
        this.#depth += 1;
        if (this.#depth > MAX_JSON_DEPTH) {
          throw badRequest(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
        }
        this.#members[this.#depth] = 0;
        this.#opened[this.#depth] = code;
        if (this.#depth === 2) this.#cuts = [this.#exactLength(at) + 1];
      } else if (code === COLON) {
        this.#countMember();
      } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
        if (this.#depth === 2) this.#close(at);
        this.#depth -= 1;
      } else if (code === MINUS || isDigit(code)) {
        at = this.#number(at) - 1;
      }
    }
    if (this.#values > MAX_JSON_VALUES) throw tooLarge(`The body has more than ${MAX_JSON_VALUES} values.`);
    this.#at = at;
    return at >= text.length;
  }

  exactText(): string {
    return this.#copied === 0 ? this.text : this.#exact + this.text.slice(this.#copied);
  }

  /** Members of all objects in the exact text. */
  get members(): number {
    return this.#allMembers;
  }

  /** Nesting depth of the exact text. */
  get levels(): number {
    return this.#opened.length - 1;
  }

  /**
   * The first long array that is a member of the outermost object, such as the items of a batch: its beginning in the
   * exact text, the commas to cut it at, and its end. Undefined if there is none.
   */
  get longArray(): readonly number[] | undefined {
    return this.#longArray;
  }

  /** Translates an index in the text to one in the exact text. */
  #exactLength(at: number): number {
    return this.#exact.length + at - this.#copied;
  }

  #cut(at: number, leastPiece: number): void {
    const position = this.#exactLength(at);
    if (position - (this.#cuts.at(-1) ?? 0) >= leastPiece) this.#cuts.push(position);
  }

  #close(at: number): void {
    const isMember = this.#opened[1] === OPENING_BRACE && this.#opened[2] === OPENING_BRACKET;
    if (!isMember || this.#cuts.length < 2) return;
    this.#longArray ??= [...this.#cuts, this.#exactLength(at)];
  }

  #countMember(): void {
    const members = (this.#members[this.#depth] ?? 0) + 1;
    if (members > MAX_JSON_MEMBERS) throw tooLarge(`The body has an object of more than ${MAX_JSON_MEMBERS} members.`);
    this.#members[this.#depth] = members;
    this.#allMembers += 1;
  }

  /** @returns the end of the number that begins at `start` */
  #number(start: number): number {
    const { text } = this;
    const { end, hasExponent } = endOfNumber(text, start);
    if (end - start <= LEAST_LONG && !hasExponent) return end;
    const token = text.slice(start, end);
    if (isHeldByDouble(token) || isName(text, end)) return end;
    if (this.longNumbers === 'refused') throw longNumber(token);
    const object: LongNumber = { number: token };
    this.#exact += text.slice(this.#copied, start) + JSON.stringify(object);
    this.#copied = end;
    this.#allMembers += 1;
    this.#opened[this.#depth + 1] = OPENING_BRACE;
    return end;
  }
}

const tooLarge = (reason: string): HttpError => new HttpError(413, 'The body is too large.', reason);

const longNumber = (token: string): HttpError =>
  badRequest(`The number ${shownName(token)} has more digits than can be kept; send it as text.`);

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
export function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  let end = start + 1;
  while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
  return end;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end)) && end - start <= MAX_DIGITS) end += 1;
  if (end - start > MAX_DIGITS) throw badRequest(`A number in the body has more than ${MAX_DIGITS} digits.`);
  if (end === start) throw notJson();
  return end;
}

/** The end of the number that begins at `start` (RFC 8259 §6). @throws HttpError 400 if it is not a number */
function endOfNumber(text: string, start: number): { readonly end: number; readonly hasExponent: boolean } {
  const digitsStart = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let end = endOfDigits(text, digitsStart);
  if (text.charCodeAt(digitsStart) === ZERO && end > digitsStart + 1) throw notJson();
  if (text.charCodeAt(end) === POINT) end = endOfDigits(text, end + 1);
  const hasExponent = isE(text.charCodeAt(end));
  if (hasExponent) {
    const sign = text.charCodeAt(end + 1);
    end = endOfDigits(text, sign === PLUS || sign === MINUS ? end + 2 : end + 1);
  }
  return { end, hasExponent };
}

const isE = (code: number): boolean => code === LOWER_E || code === UPPER_E;

/** Characters of a long array to parse at once: some milliseconds. */
const PIECE = 131_072;

/** A double holds any number of this many digits exactly. */
const LEAST_LONG = 15;

/** Whether a colon follows: a name must be a string, so it cannot be replaced by an object. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === COLON;
}
