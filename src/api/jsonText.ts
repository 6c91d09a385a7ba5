/** Parses JSON from outside (RFC 8259): within limits, without loss, and in pieces if it is long, so that other requests run in between. */
import { randomUUID } from 'node:crypto';
import { isHeldByDouble, type LongNumber } from '../domain/assetTypes/fieldTypes.js';
import { MAX_DIGITS, MAX_JSON_DEPTH, MAX_JSON_MEMBERS, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { Pauses } from '../supervision/waiting.js';
import { badRequest, HttpError } from './errors.js';

/** Characters to scan before the time is looked at: less than a millisecond. */
const SLICE = 131_072;

/** @throws HttpError 400 for text that is not JSON, too deep, or has a duplicate name; 413 for too many values */
export async function parseJson(text: string, longNumbers: LongNumbers = 'asObject'): Promise<unknown> {
  const scan = new JsonScan(text, longNumbers);
  const pauses = new Pauses();
  while (!scan.advance(SLICE)) if (pauses.isDue()) await pauses.take();
  const exact = scan.exactText();
  const value = scan.longArray === undefined ? parsed(exact) : await parsedInPieces(exact, scan.longArray, pauses);
  if (membersIn(value, scan.levels) < scan.members) throw await duplicateName(exact);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

/** @param cuts beginning of the long array, the commas to cut it at, its end */
async function parsedInPieces(text: string, cuts: readonly number[], pauses: Pauses): Promise<unknown> {
  const [start = 0, end = 0] = [cuts[0], cuts.at(-1)];
  // Parse the text around the array, with one unique entry in place of its contents.
  const mark = randomUUID();
  const document = parsed(`${text.slice(0, start)}"${mark}"${text.slice(end)}`);
  const array = arrayWith(mark, document);
  array.pop();
  for (const [index, to] of cuts.slice(1).entries()) {
    if (pauses.isDue()) await pauses.take();
    const piece = text.slice(index === 0 ? start : (cuts[index] ?? 0) + 1, to);
    // Nothing between two commas would parse as an empty array.
    if (piece.trim() === '') throw notJson();
    const entries = parsed(`[${piece}]`);
    if (Array.isArray(entries)) for (const entry of entries) array.push(entry);
  }
  return document;
}

/**
 * The array that holds only the mark. If a duplicate name has replaced it, some other array: the body is refused later.
 */
function arrayWith(mark: string, document: unknown): unknown[] {
  const members: unknown[] = Object.values(Object(document));
  const found = members.find((member) => Array.isArray(member) && member.length === 1 && member[0] === mark);
  return Array.isArray(found) ? found : [mark];
}

/** What to do with a number that has more digits than a double holds. */
export type LongNumbers =
  /**
   * Replace it by an object that has its text (`LongNumber`). No field accepts that, and each field's rule says why.
   */
  | 'asObject'
  /** Refuse the body: it has members of any type, which no field's rule would check. */
  | 'refused';

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

/**
 * Scans the text once before it is parsed: its depth, the number of its values, and numbers that a parser would round.
 * Linear in the length of the text.
 */
class JsonScan {
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
    // A name must be a string, so a number there is left to the parser, which refuses it.
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
function endOfString(text: string, start: number): number {
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

/** Characters of a long array to parse before the time is looked at: about a millisecond. */
const PIECE = 131_072;

/** A double holds any number of this many digits exactly. */
const LEAST_LONG = 15;

/** Whether a colon follows the token that ends at `end`. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === COLON;
}

/**
 * Members of all objects in a parsed value. The text has more if a name is duplicated in an object, which is refused:
 * RFC 8259 §4 leaves open which of the two counts, and parsers differ.
 * @param levels nesting depth of the value; the innermost level is only counted
 */
function membersIn(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  if (levels <= 1) return isArray ? 0 : Object.keys(value).length;
  const parts: readonly unknown[] = isArray ? value : Object.values(value);
  return parts.reduce<number>((members, part) => members + membersIn(part, levels - 1), isArray ? 0 : parts.length);
}

/** An open object with its names so far and the current one, or an open array with the current index. */
type Open = { readonly names?: Set<string>; at: string | number };

/** @param text JSON that has a duplicate name. @returns HttpError 400 with the path of the first one */
async function duplicateName(text: string): Promise<HttpError> {
  const pauses = new Pauses();
  const open: Open[] = [];
  let lookAt = SLICE;
  for (let at = 0; at < text.length; at += 1) {
    if (at > lookAt) {
      lookAt = at + SLICE;
      if (pauses.isDue()) await pauses.take();
    }
    const inner = open.at(-1);
    switch (text[at]) {
      case '{':
        open.push({ names: new Set(), at: '' });
        break;
      case '[':
        open.push({ at: 0 });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (typeof inner?.at === 'number') inner.at += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (inner?.names !== undefined && isName(text, end + 1)) {
          const name: string = JSON.parse(text.slice(at, end + 1));
          inner.at = name;
          if (inner.names.has(name)) return duplicateAt(open);
          inner.names.add(name);
        }
        at = end;
      }
    }
  }
  return badRequest('The body has a name twice in one object.');
}

const duplicateAt = (open: readonly Open[]): HttpError =>
  badRequest(`The body has ${open.map(({ at }) => shownName(String(at))).join('.')} twice.`);
