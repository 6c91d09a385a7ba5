/** The seven types a field of an asset can have (spec §2.1), and what a value of each can be. */

export const FIELD_TYPES = ['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** A list of strings occurs only in fields marked `list` (error_reason). */
export type FieldValue = string | number | boolean | null | readonly string[];
export type Fields = { readonly [field: string]: FieldValue };

/** Does every object of JavaScript have something of this name (`constructor`)? An earlier release took it for a field. */
export const isInheritedName = (name: string): boolean => name in Object.prototype;

/** What a record has in a field itself, whatever every object inherits under its name; undefined where it has nothing. */
export function ownValue(fields: Fields, name: string): FieldValue | undefined {
  const value = fields[name];
  // What every object inherits are functions, and its prototype: whose anything else is need not be asked, which takes longer.
  if (typeof value !== 'function' && typeof value !== 'object') return value;
  return value === null || Object.hasOwn(fields, name) ? value : undefined;
}

/** Is this text one that every engine stores and compares alike? (No NUL, no half surrogate pair.) */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Said of any other text, after "The … field". */
export const UNSTORABLE_TEXT = 'must be well-formed Unicode text without NUL characters.';

/** `2026-11-21T04:11:47.5+01:00` becomes `2026-11-21T03:11:47.500000Z`; undefined when it is no real time. */
export function normalizeDateTime(value: string): string | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?$/.exec(value);
  if (match === null) return undefined;
  const [, minutes, seconds = '00', fraction = '', zone = 'Z'] = match;
  const time = new Date(`${minutes}:${seconds}${zone}`);
  if (Number.isNaN(time.getTime())) return undefined;
  const utc = time.toISOString();
  // In UTC it may fall into a year that four digits cannot name.
  if (!/^\d{4}-/.test(utc)) return undefined;
  return `${utc.slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}

export const EXAMPLE_TIME = '2026-11-21T03:11:47.123456Z';

/** A value of each field type, for examples in descriptions. */
export const EXAMPLE_VALUES: { readonly [type in FieldType]: FieldValue } = {
  String: 'text',
  LongText: 'A longer text.',
  Integer: 12,
  Decimal: 12.5,
  Date: '2026-11-21',
  DateTime: EXAMPLE_TIME,
  Boolean: true,
};
