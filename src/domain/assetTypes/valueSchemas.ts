/**
 * The schemas of field values (spec §2.1). They are not in fieldTypes.ts because threads that only store and read values
 * should not load zod, which takes 5 MB in each.
 */
import { z } from 'zod';
import { MAX_DIGITS } from '../limits.js';
import {
  DATE_TIME,
  DECIMAL_MAX_DIGITS,
  DECIMAL_TEXT,
  type FieldType,
  type FieldValue,
  fieldRules,
  isHeldByDouble,
  isStorableText,
  namesZone,
  normalizeDateTime,
  significantDigits,
  UNSTORABLE_TEXT,
} from './fieldTypes.js';

export const text = (maxLength: number) =>
  z
    .string('must be a string.')
    .max(maxLength, `must be at most ${maxLength} characters.`)
    .refine(isStorableText, UNSTORABLE_TEXT);

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

const TOO_MANY_DIGITS = `must have at most ${DECIMAL_MAX_DIGITS} significant digits.`;
const NO_NUMBER = 'must be a number.';

/** Why a text is no Decimal; undefined when it is one. */
function whyNoDecimal(text: string): string | undefined {
  if (text.length > MAX_DIGITS) return TOO_MANY_DIGITS;
  if (!DECIMAL_TEXT.test(text)) return NO_NUMBER;
  if (significantDigits(text).length > DECIMAL_MAX_DIGITS) return TOO_MANY_DIGITS;
  return isHeldByDouble(text) ? undefined : 'must not be so large, or so close to 0, that it would be rounded.';
}

/** A number, as a number or a string, of at most 15 significant digits: more would be rounded silently. */
const decimal = z.union([z.number(), z.string()], NO_NUMBER).transform((value, context) => {
  const source = typeof value === 'number' ? String(value) : value.trim();
  // A number has no more digits than characters.
  const isShort = typeof value === 'number' && source.length <= DECIMAL_MAX_DIGITS;
  const refused = isShort ? undefined : whyNoDecimal(source);
  if (refused !== undefined) return refuse(context, refused);
  const number = Number(source);
  return number === 0 ? 0 : number;
});

const NO_INTEGER = 'must be an integer.';
const NO_SAFE_INTEGER = 'must be an integer between -(2^53 - 1) and 2^53 - 1.';

const integer = z
  .number(NO_INTEGER)
  .refine(Number.isInteger, { error: NO_INTEGER, abort: true })
  .refine(Number.isSafeInteger, NO_SAFE_INTEGER)
  .transform((value) => (value === 0 ? 0 : value));

const NO_DATE_TIME =
  'must be an ISO 8601 date and time that exists, in microseconds at most, such as 2026-11-21T03:11:47Z or 2026-11-21T04:11:47.123456+01:00.';

const dateTimeText = (message: string, zone: string) =>
  z
    .string(message)
    .regex(DATE_TIME, { error: NO_DATE_TIME, abort: true })
    .describe(
      `ISO 8601 or RFC 3339, such as 2026-11-21T04:11:47.123456+01:00. ${zone} Digits behind the sixth of a fraction must be zeros.`,
    );

const inUtc = (value: string, context: z.RefinementCtx): string =>
  normalizeDateTime(value) ?? refuse(context, NO_DATE_TIME);

/** In the form of DATE_TIME; without a zone it is UTC. Stored as UTC with six digits. */
export const dateTime = dateTimeText(NO_DATE_TIME, 'UTC where no zone is given.').transform(inUtc);

const NO_ZONE = 'must be a time with its zone, such as 2026-11-21T03:11:47Z.';

/** The same, but its zone is required. */
export const zonedDateTime = dateTimeText(NO_ZONE, 'With its zone.').refine(namesZone, NO_ZONE).transform(inUtc);

const SCHEMAS: {
  readonly [type in FieldType]: z.ZodType<FieldValue> | ((maxLength: number) => z.ZodType<FieldValue>);
} = {
  String: text,
  LongText: text,
  Integer: integer,
  Decimal: decimal,
  Date: z.iso.date('must be a date in the form YYYY-MM-DD.'),
  DateTime: dateTime,
  Boolean: z.boolean('must be true or false.'),
};

/** The zod schema of a value of a field type, without null. */
export function valueSchema(type: FieldType, maxLength = fieldRules(type).maxLength ?? 0): z.ZodType<FieldValue> {
  const schema = SCHEMAS[type];
  return typeof schema === 'function' ? schema(maxLength) : schema;
}
