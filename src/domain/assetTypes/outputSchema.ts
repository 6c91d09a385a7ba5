/** JSON Schema (2020-12) of records in answers and webhook payloads. */
import { FAILED } from '../order/status.js';
import type { AssetField, AssetType } from './assetType.js';
import { fieldRules, type JsonSchema } from './fieldTypes.js';

export type { JsonSchema };
export type Properties = { readonly [name: string]: JsonSchema };

/** An object with all properties required. */
export const closedObject = (properties: Properties): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const TIMESTAMP: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };

/** A record in an answer: has every field, and may get further ones later. */
export function recordOutputSchema(assetType: AssetType): JsonSchema {
  return {
    title: assetType.label,
    description: assetType.description,
    ...closedObject(recordProperties(assetType)),
  };
}

/** The properties of a record: id, created_at, updated_at, then each field of the asset type. */
export function recordProperties(assetType: AssetType): Properties {
  const fields = assetType.fields.map((field) => [field.name, outputField(assetType, field)] as const);
  return {
    id: { type: 'string', format: 'uuid' },
    created_at: TIMESTAMP,
    updated_at: TIMESTAMP,
    ...Object.fromEntries(fields),
  };
}

function outputField(assetType: AssetType, field: AssetField): JsonSchema {
  const annotations: JsonSchema = { title: field.label, ...(field.readOnly === true ? { readOnly: true } : {}) };
  const value = outputValue(field);
  // Records older than the field have null in it, even if it is required now.
  const isAlwaysSet = field.required && (field.custom !== true || field.name === assetType.uniqueField);
  return isAlwaysSet ? { ...annotations, ...value } : { ...annotations, anyOf: [value, { type: 'null' }] };
}

function outputValue(field: AssetField): JsonSchema {
  if (field.list === true) return { type: 'array', items: fieldRules(field.type).output };
  if (field.format === 'uuid') return { type: 'string', format: 'uuid' };
  if (field.oneOf !== undefined) {
    // `failed` is shown but never accepted: only the service sets it (spec §3).
    const shown = field.name === 'processing_status' ? [...field.oneOf, FAILED] : field.oneOf;
    return { type: 'string', enum: shown };
  }
  return fieldRules(field.type).output;
}
