/** Checks bodies against the schemas of the catalogue. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '#app/domain/assetTypes/outputSchema.js';

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema with every object closed, so that a body may hold only what the schema names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)]));
  return isObject(schema.properties) && schema.type === 'object' ? { ...inner, additionalProperties: false } : inner;
}

/** Errors of a body; empty if it has everything that the schema requires and nothing that it does not name. */
export function errorsOf(schema: JsonSchema, body: unknown): unknown {
  const ajv = addFormats.default(new Ajv2020({ allErrors: true, strictTypes: false }));
  const validate = ajv.compile(closed(schema) as object);
  return validate(body) ? [] : validate.errors;
}
