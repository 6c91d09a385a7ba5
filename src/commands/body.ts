/** Checked bodies of requests, with errors by field as in spec §7: records by their asset type, others by a zod schema. */
import { z } from 'zod';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../domain/assetTypes/fieldErrors.js';
import { isStorableText, UNSTORABLE_TEXT } from '../domain/assetTypes/fieldTypes.js';
import { type BodyKind, checkRecord, type RecordInput } from '../domain/assetTypes/recordSchema.js';
import { MAX_STRING_LENGTH } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { ValidationError } from './context.js';

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
  const result = schema.safeParse(body, { reportInput: true });
  const errors = new FieldErrorList();
  errors.addIssues(result.error?.issues ?? [], ({ code, input }) => code === 'invalid_type' && input === undefined);
  for (const field of unstorableIn(body))
    if (!errors.has(field)) errors.add(field, `The ${field} field ${UNSTORABLE_TEXT}`);
  if (result.success && errors.count === 0) return result.data;
  throw new ValidationError(errors.toErrors(), errors.unnamed);
}

function unstorableIn(value: unknown, field = ''): readonly string[] {
  if (typeof value === 'string') return isStorableText(value) ? [] : [field];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = field === '' ? shownName(name) : `${field}.${shownName(name)}`;
    return isStorableText(name) ? unstorableIn(member, inner) : [inner];
  });
}
