/** Checked bodies of requests, with errors by field as in spec §7: records by their asset type, others by a zod schema. */
import { z } from 'zod';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../domain/assetTypes/fieldErrors.js';
import { isStorableText, UNSTORABLE_TEXT } from '../domain/assetTypes/fieldTypes.js';
import { type BodyKind, checkRecord, type RecordInput } from '../domain/assetTypes/recordSchema.js';
import { MAX_STRING_LENGTH } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { ValidationError } from './context.js';

/** A name or another short text. */
export const shortText = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(MAX_STRING_LENGTH, `must be at most ${MAX_STRING_LENGTH} characters.`);

/** The fields of a record that a body names. @throws ValidationError with every error by field */
export function checkedInput(assetType: AssetType, kind: BodyKind, body: unknown): RecordInput {
  const result = checkRecord(assetType, kind, body);
  if (!result.ok) throw new ValidationError(result.errors, result.unnamed);
  return result.input;
}

/**
 * The body as its schema has it. Texts that an engine would change on storing (values, names of members) are refused too.
 * @throws ValidationError with every error, keyed by the path of the field
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  const errors = new FieldErrorList();
  errors.addIssues(
    result.error?.issues ?? [],
    ({ code, path }) => code === 'invalid_type' && at(body, path) === undefined,
  );
  addUnstorable(errors, body, []);
  if (result.success && errors.count === 0) return result.data;
  throw new ValidationError(errors.toErrors(), errors.unnamed);
}

/** A field that has an error gets no second one, and its members are not looked at: there may be thousands. */
function addUnstorable(errors: FieldErrorList, value: unknown, path: readonly string[]): void {
  const field = path.join('.');
  if (errors.has(field)) return;
  if (typeof value === 'string' && !isStorableText(value)) {
    errors.add(field, `The ${field} field ${UNSTORABLE_TEXT}`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const inner = [...path, shownName(name)];
    const named = inner.join('.');
    if (!isStorableText(name) && !errors.has(named))
      errors.add(named, `The name ${shownName(name)} ${UNSTORABLE_TEXT}`);
    addUnstorable(errors, member, inner);
  }
}

const at = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );
