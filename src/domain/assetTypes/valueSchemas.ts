/**
 * How a value of each field type is checked (spec §2.1). Apart from the types themselves: threads that only store and read
 * values need not load zod, which takes 5 MB in each.
 */
import { z } from 'zod';
import { MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH } from '../limits.js';
import { type FieldType, type FieldValue, isStorableText, normalizeDateTime, UNSTORABLE_TEXT } from './fieldTypes.js';

/** More digits than this would be rounded by a double. */
export const DECIMAL_MAX_DIGITS = 15;
/** The smallest double, written out, has fewer characters. */
const LONGEST_DECIMAL = 400;

export const text = (maxLength: number) =>
  z
    .string('must be a string.')
    .max(maxLength, `must be at most ${maxLength} characters.`)
    .refine(isStorableText, UNSTORABLE_TEXT);

export const DECIMAL_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$/;

/** Digits that count: `0012.50` has 4 (12.50), `1200` has 4, `0.05` has 1. @param text matches DECIMAL_TEXT */
function significantDigits(text: string): number {
  const mantissa = text.toLowerCase().split('e', 1)[0] ?? '';
  const first = mantissa.search(/[1-9]/);
  return first < 0 ? 0 : mantissa.slice(first).replace('.', '').length;
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

/**
 * A number, or a string that holds one, of at most 15 significant digits: more would be rounded
 * silently on its way through JSON, so it is refused.
 */
const decimal = z.union([z.number(), z.string()], 'must be a number.').transform((value, context) => {
  const source = typeof value === 'number' ? String(value) : value.trim();
  // It has no more digits than characters.
  if (typeof value === 'number' && source.length <= DECIMAL_MAX_DIGITS) return value === 0 ? 0 : value;
  if (source.length > LONGEST_DECIMAL) {
    return refuse(context, `must have at most ${DECIMAL_MAX_DIGITS} significant digits.`);
  }
  const number = DECIMAL_TEXT.test(source) ? Number(source) : Number.NaN;
  const digits = significantDigits(source);
  const isRoundedToZero = number === 0 && digits > 0;
  if (!Number.isFinite(number) || isRoundedToZero) return refuse(context, 'must be a number.');
  if (digits > DECIMAL_MAX_DIGITS) {
    return refuse(context, `must have at most ${DECIMAL_MAX_DIGITS} significant digits.`);
  }
  return number === 0 ? 0 : number;
});

const integer = z
  .number('must be an integer.')
  .refine((value) => Number.isSafeInteger(value), 'must be an integer between -(2^53 - 1) and 2^53 - 1.')
  .transform((value) => (value === 0 ? 0 : value));

const date = z.iso.date('must be a date in the form YYYY-MM-DD.');

const NO_DATE_TIME = 'must be an ISO 8601 date and time, such as 2026-11-21T03:11:47Z.';

/** ISO 8601 with a zone; without one it is UTC. Stored as UTC with six digits. */
export const dateTime = z.iso
  .datetime({ offset: true, local: true, error: NO_DATE_TIME })
  .transform((value, context) => normalizeDateTime(value) ?? refuse(context, NO_DATE_TIME));

const boolean = z.boolean('must be true or false.');

/** The zod schema of one value of a field type, null not included. */
export function valueSchema(type: FieldType, maxLength?: number): z.ZodType<FieldValue> {
  switch (type) {
    case 'String':
      return text(maxLength ?? MAX_STRING_LENGTH);
    case 'LongText':
      return text(maxLength ?? MAX_LONG_TEXT_LENGTH);
    case 'Integer':
      return integer;
    case 'Decimal':
      return decimal;
    case 'Date':
      return date;
    case 'DateTime':
      return dateTime;
    case 'Boolean':
      return boolean;
  }
}
