/**
 * A fast path of validation: recognises values that the schema of a field would pass unchanged, for a tenth of the schema's
 * cost. Most values are of this kind; all others are left to the schema.
 */
import { MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH } from '../limits.js';
import type { AssetField } from './assetType.js';
import { type Fields, type FieldValue, isStorableText, ownValue } from './fieldTypes.js';

type IsPlain = (value: FieldValue) => boolean;

const never: IsPlain = () => false;

/** Up to 7 digits after the point are recognised, and up to 15 in all, which a double keeps. */
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

/** @returns an object's values of these fields, in their order; undefined when the schema has to check it */
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
    // Any further member is an error, or a field that the schema handles.
    return Object.keys(body).length === count ? plain : undefined;
  };
}
