/** JSON Schema of an asset type's records as they come in, from the zod schemas that check them. */
import type { AssetField, AssetType } from '../../domain/assetTypes/assetType.js';
import { DECIMAL_MAX_DIGITS, DECIMAL_TEXT, type FieldType } from '../../domain/assetTypes/fieldTypes.js';
import { SAFE_INTEGER } from '../../domain/assetTypes/outputSchema.js';
import { type BodyKind, recordSchemas } from '../../domain/assetTypes/recordSchema.js';

import { inputSchema, type JsonSchema } from './schema.js';

/** What zod's refinements check but cannot say. */
const REFINED: { readonly [type in FieldType]?: JsonSchema } = {
  Integer: SAFE_INTEGER,
  Decimal: {
    description: `A number, or a string that holds one, of at most ${DECIMAL_MAX_DIGITS} significant digits.`,
    pattern: DECIMAL_TEXT.source,
  },
  DateTime: { description: 'ISO 8601; UTC where no zone is given.' },
};

const isObject = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

/** Body of create, update, or one item of a batch. */
export function recordInputSchema(assetType: AssetType, kind: BodyKind): JsonSchema {
  const schema = inputSchema(recordSchemas(assetType)[kind]);
  const properties: Record<string, unknown> = { ...(isObject(schema.properties) ? schema.properties : {}) };
  for (const field of assetType.fields) {
    const property = properties[field.name];
    if (!isObject(property)) continue;
    properties[field.name] =
      field.readOnly === true
        ? { title: field.label, description: 'Set by the service; accepted and ignored.' }
        : { title: field.label, ...refined(field, property) };
  }
  for (const name of ['created_at', 'updated_at']) {
    properties[name] = { description: 'Set by the service; accepted and ignored.' };
  }
  return { ...schema, properties };
}

/** Adds what the type demands; null stays allowed where it was, which zod says by `anyOf` or a list of types. */
function refined(field: AssetField, property: JsonSchema): JsonSchema {
  const more: JsonSchema = {
    ...REFINED[field.type],
    ...(field.required && field.type === 'String' && field.format === undefined ? { minLength: 1 } : {}),
  };
  const { anyOf, type } = property;
  if (Array.isArray(anyOf)) {
    const forms: readonly unknown[] = anyOf;
    return {
      ...property,
      anyOf: forms.map((form) => (isObject(form) && form.type !== 'null' ? { ...form, ...more } : form)),
    };
  }
  const isNullable = Array.isArray(type) && type.includes('null');
  return { ...property, ...more, ...(isNullable && more.type !== undefined ? { type: [more.type, 'null'] } : {}) };
}
