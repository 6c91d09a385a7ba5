/** JSON Schema (2020-12) of request bodies, made from the zod schemas that check them. */
import { z } from 'zod';
import type { AssetField, AssetType } from '../../domain/assetTypes/assetType.js';
import { type BodyKind, recordSchemas } from '../../domain/assetTypes/recordSchema.js';

export type JsonSchema = { readonly [keyword: string]: unknown };

const made = new WeakMap<AssetType, Map<BodyKind, JsonSchema>>();

/** Schema of a body that creates or updates a record of this asset type, or of a batch item. */
export function bodyJsonSchema(assetType: AssetType, kind: BodyKind): JsonSchema {
  const known = made.get(assetType) ?? new Map<BodyKind, JsonSchema>();
  made.set(assetType, known);
  let schema = known.get(kind);
  if (schema === undefined) {
    schema = annotated(assetType, toJsonSchema(recordSchemas(assetType)[kind]));
    known.set(kind, schema);
  }
  return schema;
}

/** What a schema accepts, before it normalizes: transforms are left out, checks that JSON Schema cannot say as well. */
export const toJsonSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;

/** Adds what zod does not know: labels, formats, and which fields are read-only. */
function annotated(assetType: AssetType, schema: JsonSchema): JsonSchema {
  const properties: Record<string, unknown> = { ...(schema.properties as object) };
  for (const field of assetType.fields) {
    properties[field.name] = { title: field.label, ...(properties[field.name] as object), ...annotations(field) };
  }
  for (const name of ['created_at', 'updated_at'])
    properties[name] = { type: 'string', format: 'date-time', readOnly: true };
  return { ...schema, title: assetType.label, description: assetType.description, properties };
}

const annotations = (field: AssetField): object => (field.readOnly === true ? { readOnly: true } : {});
