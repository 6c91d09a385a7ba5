/** JSON Schema of an asset type's records: as they come in, from the zod schemas that check them, and as they go out. */
import type { AssetField, AssetType } from '../../domain/assetTypes/assetType.js';
import { DECIMAL_MAX_DIGITS, type FieldType } from '../../domain/assetTypes/fieldTypes.js';
import { type BodyKind, recordSchemas } from '../../domain/assetTypes/recordSchema.js';
import { FAILED } from '../../domain/order/status.js';
import { inputSchema } from './inputSchema.js';
import { closedObject, type JsonSchema } from './types.js';

const SAFE_INTEGER: JsonSchema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};

/** What zod's refinements check but cannot say. */
const REFINED: { readonly [type in FieldType]?: JsonSchema } = {
  Integer: SAFE_INTEGER,
  Decimal: {
    description: `A number, or a string that holds one, of at most ${DECIMAL_MAX_DIGITS} significant digits.`,
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

const OUTPUT: { readonly [type in FieldType]: JsonSchema } = {
  String: { type: 'string' },
  LongText: { type: 'string' },
  Integer: SAFE_INTEGER,
  Decimal: { type: 'number' },
  Date: { type: 'string', format: 'date' },
  DateTime: { type: 'string', format: 'date-time' },
  Boolean: { type: 'boolean' },
};

/** A record as it is read: every field is there. */
export function recordOutputSchema(assetType: AssetType): JsonSchema {
  const timestamp: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };
  const fields = assetType.fields.map((field) => [field.name, outputField(assetType, field)] as const);
  return {
    title: assetType.label,
    description: assetType.description,
    ...closedObject({
      id: { type: 'string', format: 'uuid' },
      created_at: timestamp,
      updated_at: timestamp,
      ...Object.fromEntries(fields),
    }),
    additionalProperties: false,
  };
}

function outputField(assetType: AssetType, field: AssetField): JsonSchema {
  const annotations: JsonSchema = { title: field.label, ...(field.readOnly === true ? { readOnly: true } : {}) };
  const value = outputValue(field);
  // A field that was added later is null in older records, also when it is required now.
  const isAlwaysSet = field.required && (field.custom !== true || field.name === assetType.uniqueField);
  return isAlwaysSet ? { ...annotations, ...value } : { ...annotations, anyOf: [value, { type: 'null' }] };
}

function outputValue(field: AssetField): JsonSchema {
  if (field.list === true) return { type: 'array', items: OUTPUT[field.type] };
  if (field.format === 'uuid') return { type: 'string', format: 'uuid' };
  if (field.oneOf !== undefined) {
    // Shown, but never accepted: the service alone sets it (spec §3).
    const shown = field.name === 'processing_status' ? [...field.oneOf, FAILED] : field.oneOf;
    return { type: 'string', enum: shown };
  }
  return OUTPUT[field.type];
}
