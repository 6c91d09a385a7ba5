/** The types of asset fields (spec §2.1), and the possible values of each. */
import { MAX_DIGITS, MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH } from '../limits.js';

/** A double keeps every decimal number of this many digits. */
const DECIMAL_MAX_DIGITS = 15;
/** In place of an erased text that must not be null. */
export const ERASED = 'erased';

/** A list of strings occurs only in fields marked `list` (error_reason). */
export type FieldValue = string | number | boolean | null | readonly string[];
export type Fields = { readonly [field: string]: FieldValue };

/** The record's own value of a field, never an inherited property; undefined when it has none. */
export function ownValue(fields: Fields, name: string): FieldValue | undefined {
  const value = fields[name];
  // Inherited properties are functions, and the prototype. Other values are the record's own: `hasOwn` would be slower.
  if (typeof value !== 'function' && typeof value !== 'object') return value;
  return value === null || Object.hasOwn(fields, name) ? value : undefined;
}

/** Fields with their values before and after; null where unset. */
export type Changes = { readonly [field: string]: { readonly from: FieldValue; readonly to: FieldValue } };

/** Each field that is set, with its value before. */
export const changesOf = (before: Fields, set: Fields): Changes =>
  Object.fromEntries(
    Object.entries(set).map(([name, to]) => [name, { from: ownValue(before, name) ?? null, to: to ?? null }]),
  );

export const sideOf = (changes: Changes, side: 'from' | 'to'): Fields =>
  Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change[side]]));

/** The fields of what is deleted, each with its value before. */
export const clearedFields = (before: Fields): Changes =>
  changesOf(before, Object.fromEntries(Object.keys(before).map((name) => [name, null])));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

/** @param hex 32 digits in lower case */
export const uuidText = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

/** Whether every engine stores and compares the text alike: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The message for other texts, to follow "The … field". */
export const UNSTORABLE_TEXT = 'must be well-formed Unicode text without NUL characters.';

/** A date and time as serialisers write it: ISO 8601 or RFC 3339 §5.6, with or without seconds and zone. */
const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,5}|\d{6}0*))?)?(?:([Zz])| ?([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;

/**
 * `2026-11-21T04:11:47.5+01:00` becomes `2026-11-21T03:11:47.500000Z`; without a zone it is UTC.
 * @returns undefined when there is no such time, or its year does not have four digits
 */
function normalizeDateTime(value: string): string | undefined {
  const match = DATE_TIME.exec(value);
  if (match === null) return undefined;
  const [, day = '', minutes, seconds = '00', fraction = '', , sign = '+', hours = '00', rest = '00'] = match;
  // JavaScript turns 30 February into 2 March.
  if (!new Date(`${day}T00:00Z`).toISOString().startsWith(day)) return undefined;
  const utc = new Date(`${day}T${minutes}:${seconds}${sign}${hours}:${rest}`).toISOString();
  return /^\d{4}-/.test(utc) ? `${utc.slice(0, 20)}${fraction.padEnd(6, '0').slice(0, 6)}Z` : undefined;
}

/** A decimal number as text. A JSON number matches, too. */
export const DECIMAL_TEXT = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** The digits of a number without leading and trailing zeros. @param number matches DECIMAL_TEXT */
const significantDigits = (number: string): string => number.replace(/[eE].*|\D/g, '').replace(/^0+|0+$/g, '');

/** Whether a double keeps all digits of the number. @param number matches DECIMAL_TEXT */
export const isExactDouble = (number: string): boolean =>
  significantDigits(number) === significantDigits(String(Number(number)));

export type JsonSchema = { readonly [keyword: string]: unknown };

/** Why a value is refused, to follow "The … field". */
export class Refusal {
  constructor(readonly message: string) {}
}

type FieldRules = {
  /** The value in its stored form. Most values are their own. @param maxLength in characters, of a text */
  readonly read: (value: unknown, maxLength: number) => FieldValue | Refusal;
  /** JSON Schema of a value in an answer. */
  readonly output: JsonSchema;
  /** In a body, where that takes more or other values. */
  readonly input?: JsonSchema;
  /** In the place of an erased value that must not be null. */
  readonly erased: FieldValue;
  /** In characters, where the field has no shorter limit. */
  readonly maxLength?: number;
  /** How its sort value is stored: see `sortValue`. */
  readonly sortsAs: 'text' | 'number';
  /** Lists are filtered by ranges of it. */
  readonly isRanged: boolean;
};

const NO_NUMBER = new Refusal('must be a number.');
const TOO_MANY_DIGITS = new Refusal(`must have at most ${DECIMAL_MAX_DIGITS} significant digits.`);
const NO_INTEGER = new Refusal('must be an integer between -(2^53 - 1) and 2^53 - 1.');
const NO_DATE = new Refusal('must be a date in the form YYYY-MM-DD.');
const NO_BOOLEAN = new Refusal('must be true or false.');
const NO_DATE_TIME = new Refusal(
  'must be an ISO 8601 date and time that exists, in microseconds at most, such as 2026-11-21T03:11:47Z or 2026-11-21T04:11:47.123456+01:00.',
);

/** A character is a code point. */
const isLonger = (text: string, maxLength: number): boolean => text.length > maxLength && [...text].length > maxLength;

export function readText(value: unknown, maxLength: number): string | Refusal {
  if (typeof value !== 'string') return new Refusal('must be a string.');
  if (isLonger(value, maxLength)) return new Refusal(`must be at most ${maxLength} characters.`);
  return isStorableText(value) ? value : new Refusal(UNSTORABLE_TEXT);
}

const readInteger = (value: unknown): number | Refusal =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value || 0 : NO_INTEGER;

/** A number, as a number or a text, of at most 15 significant digits: more would be rounded silently. */
function readDecimal(value: unknown): number | Refusal {
  if (typeof value !== 'number' && typeof value !== 'string') return NO_NUMBER;
  const source = typeof value === 'number' ? String(value) : value.trim();
  // A number has no more digits than characters.
  if (typeof value === 'number' && source.length <= DECIMAL_MAX_DIGITS) return value || 0;
  if (source.length > MAX_DIGITS) return TOO_MANY_DIGITS;
  if (!DECIMAL_TEXT.test(source)) return NO_NUMBER;
  if (significantDigits(source).length > DECIMAL_MAX_DIGITS) return TOO_MANY_DIGITS;
  return isExactDouble(source)
    ? Number(source) || 0
    : new Refusal('must not be so large, or so close to 0, that it would be rounded.');
}

const readDate = (value: unknown): string | Refusal =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && normalizeDateTime(`${value}T00:00Z`) !== undefined
    ? value
    : NO_DATE;

/** Without a zone it is UTC. */
export const readDateTime = (value: unknown): string | Refusal =>
  (typeof value === 'string' ? normalizeDateTime(value) : undefined) ?? NO_DATE_TIME;

const TEXT = { read: readText, output: { type: 'string' }, erased: ERASED, sortsAs: 'text', isRanged: false } as const;
const NUMBER = { erased: 0, sortsAs: 'number', isRanged: true } as const;
const TIME = { erased: null, sortsAs: 'text', isRanged: true } as const;

/** The types of asset fields (spec §2.1), and all that is particular to each. */
export const FIELD_RULES = {
  String: { ...TEXT, maxLength: MAX_STRING_LENGTH },
  LongText: { ...TEXT, maxLength: MAX_LONG_TEXT_LENGTH },
  Integer: {
    ...NUMBER,
    read: readInteger,
    output: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  },
  Decimal: {
    ...NUMBER,
    read: readDecimal,
    output: { type: 'number' },
    input: {
      type: ['number', 'string'],
      description: `A number, or a text that holds one, of at most ${DECIMAL_MAX_DIGITS} significant digits.`,
      pattern: DECIMAL_TEXT.source,
    },
  },
  Date: { ...TIME, read: readDate, output: { type: 'string', format: 'date' } },
  DateTime: {
    ...TIME,
    read: readDateTime,
    output: { type: 'string', format: 'date-time' },
    input: {
      type: 'string',
      description: 'ISO 8601 or RFC 3339, such as 2026-11-21T04:11:47.123456+01:00. UTC where no zone is given.',
      pattern: DATE_TIME.source,
    },
  },
  Boolean: {
    read: (value) => (typeof value === 'boolean' ? value : NO_BOOLEAN),
    output: { type: 'boolean' },
    erased: false,
    sortsAs: 'number',
    isRanged: false,
  },
} as const satisfies { readonly [type: string]: FieldRules };

export type FieldType = keyof typeof FIELD_RULES;
const isFieldType = (name: string): name is FieldType => Object.hasOwn(FIELD_RULES, name);
export const FIELD_TYPES: readonly FieldType[] = Object.keys(FIELD_RULES).filter(isFieldType);
export const fieldRules = (type: FieldType): FieldRules => FIELD_RULES[type];
