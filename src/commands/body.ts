/** Request bodies that are no records: checked by a zod schema, errors by field as in spec §7. */
import { z } from 'zod';
import { FieldErrorList } from '../domain/assetTypes/recordSchema.js';
import { ValidationError } from './context.js';

/** A name or another short text: 1 to 255 characters. */
export const shortText = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(255, 'must be at most 255 characters.');

/** @throws ValidationError with every error, keyed by the path of the field */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const errors = new FieldErrorList();
  for (const issue of result.error.issues) {
    const field = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) errors.add(field === '' ? key : `${field}.${key}`, `${key} is not a known field.`);
    } else if (field === '') {
      errors.add('body', 'The body must be a JSON object.');
    } else if (issue.code === 'invalid_type' && at(body, issue.path) === undefined) {
      errors.add(field, `The ${field} field is required.`);
    } else {
      errors.add(field, `The ${field} field ${issue.message}`);
    }
  }
  throw new ValidationError(errors.toErrors());
}

const at = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    body,
  );
