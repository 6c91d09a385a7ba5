/**
 * Values that the schema of a field passes as they are. Most of what is sent is of these; to tell costs a tenth of what a
 * schema costs. Of every other value nothing is said here: the schema decides.
 */
import { MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH } from '../limits.js';
import type { AssetField } from './assetType.js';
import { type Fields, type FieldValue, isStorableText, ownValue } from './fieldTypes.js';

type IsPlain = (value: FieldValue) => boolean;

const never: IsPlain = () => false;

/** So many digits behind the point are looked for, and so many at all come back from a double as they were. */
const SHIFT = 1e7;
const MOST = 1e15;

/** Division is exact to the last bit, so a quotient of whole numbers is the double of a decimal with those digits. */
function isShortDecimal(value: number): boolean {
  if (value === 0) return !Object.is(value, -0);
  const shifted = Math.round(value * SHIFT);
  return Math.abs(shifted) < MOST && shifted / SHIFT === value;
}

const isPlainText =
  (maxLength: number, isEmptyAllowed: boolean): IsPlain =>
  (value) =>
    typeof value === 'string' && value.length <= maxLength && (isEmptyAllowed || value !== '') && isStorableText(value);

function isPlainOf(field: AssetField): IsPlain {
  const { type, maxLength, oneOf, required } = field;
  if (field.list === true || field.format !== undefined || oneOf !== undefined) return never;
  switch (type) {
    case 'String':
      return isPlainText(maxLength ?? MAX_STRING_LENGTH, !required);
    case 'LongText':
      return isPlainText(maxLength ?? MAX_LONG_TEXT_LENGTH, true);
    case 'Integer':
      return (value) => Number.isSafeInteger(value) && !Object.is(value, -0);
    case 'Decimal':
      return (value) => typeof value === 'number' && isShortDecimal(value);
    case 'Boolean':
      return (value) => typeof value === 'boolean';
    case 'Date':
    case 'DateTime':
      return never;
  }
}

/** @returns of an object its members of these fields, in their order; undefined where a schema has to look at it */
export function plainFieldsOf(fields: readonly AssetField[]): (body: Fields, without: number) => Fields | undefined {
  const known = fields
    .filter(({ readOnly }) => readOnly !== true)
    .map((field) => ({ name: field.name, required: field.required, isPlain: isPlainOf(field) }));
  return (body, without) => {
    const plain: Record<string, FieldValue> = {};
    let count = without;
    for (const { name, required, isPlain } of known) {
      const value = ownValue(body, name);
      if (value === undefined) {
        if (required) return undefined;
        continue;
      }
      if (value === null ? required : !isPlain(value)) return undefined;
      plain[name] = value;
      count += 1;
    }
    // Another member is an error, or a field that is handled by itself.
    return Object.keys(body).length === count ? plain : undefined;
  };
}
