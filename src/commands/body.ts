/** Checked bodies of requests, with errors by field as in spec §7: records by their asset type, others by a zod schema. */
import { z } from 'zod';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import {
  FIELD_RULES,
  isStorableText,
  Refusal,
  readDateTime,
  UNSTORABLE_TEXT,
} from '../domain/assetTypes/fieldTypes.js';
import { type BodyKind, checkRecord, FieldErrorList, type RecordInput } from '../domain/assetTypes/recordSchema.js';
import { MAX_STRING_LENGTH } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { ValidationError } from './context.js';

/** A text that is not empty. @param most characters */
export const textUpTo = (most: number) =>
  z.string('must be a string.').min(1, 'must not be empty.').max(most, `must be at most ${most} characters.`);
export const shortText = textUpTo(MAX_STRING_LENGTH);
export const truth = z.boolean('must be true or false.');
export const choiceOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}.`);

/** A time in a body or query, as a DateTime field takes it. Becomes UTC with six digits. */
export const dateTime = z
  .string('must be a string.')
  .meta(FIELD_RULES.DateTime.input)
  .transform((value, context): string => {
    const time = readDateTime(value);
    if (!(time instanceof Refusal)) return time;
    context.addIssue({ code: 'custom', message: time.message });
    return z.NEVER;
  });

/** The fields of a record that a body names. @throws ValidationError with every error by field */
export function checkedInput(assetType: AssetType, kind: BodyKind, body: unknown): RecordInput {
  const result = checkRecord(assetType, kind, body);
  if (!result.ok) throw new ValidationError(result.errors);
  return result.input;
}

/**
 * The body as its schema has it. Texts that an engine would change on storing (values, names of members) are refused too.
 * @param unstorable fields with such texts; none where these are looked for later
 * @throws ValidationError with every error, keyed by the path of the field
 */
export function parseBody<S extends z.ZodType>(
  schema: S,
  body: unknown,
  unstorable: readonly string[] = unstorableIn(body),
): z.output<S> {
  const result = schema.safeParse(body, { reportInput: true });
  const errors = new FieldErrorList();
  errors.addIssues(result.error?.issues ?? [], ({ code, input }) => code === 'invalid_type' && input === undefined);
  for (const field of unstorable) errors.add(field, `The ${field} field ${UNSTORABLE_TEXT}`);
  if (result.success && errors.isEmpty) return result.data;
  throw new ValidationError(errors.toErrors());
}

function unstorableIn(value: unknown, field = ''): readonly string[] {
  if (typeof value === 'string') return isStorableText(value) ? [] : [field];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = field === '' ? shownName(name) : `${field}.${shownName(name)}`;
    return isStorableText(name) ? unstorableIn(member, inner) : [inner];
  });
}
