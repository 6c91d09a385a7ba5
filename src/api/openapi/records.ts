/** Records in a document: JSON Schema of bodies, and examples. */
import type { AssetField, AssetType } from '../../domain/assetTypes/assetType.js';
import { type Fields, type FieldValue, fieldRules, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { recordInputSchema as checkedSchema, recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { BodyKind } from '../../domain/assetTypes/recordSchema.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { standardTables } from '../../domain/identity/tenantTables.js';
import { isObject, type JsonSchema, listOf, type Schemas } from './schema.js';

/** Body of create, update, or one item of a batch. */
export function recordInputSchema(assetType: AssetType, kind: BodyKind): JsonSchema {
  const { properties, ...schema } = checkedSchema(assetType, kind);
  const own: Record<string, unknown> = { ...(isObject(properties) ? properties : {}) };
  if (assetType.role !== 'order') return { ...schema, properties: own };
  if (kind === 'update') own.processing_status = oneStatus(own);
  return { ...schema, properties: { ...own, ...givenLists(assetType, kind) } };
}

/** An order has a status: an update may leave it out, and not clear it. */
function oneStatus({ processing_status: status }: { readonly [name: string]: unknown }): unknown {
  if (!isObject(status) || !Array.isArray(status.anyOf)) return status;
  const { anyOf, ...property } = status;
  const forms: readonly unknown[] = anyOf;
  return { ...property, ...forms.filter(isObject).find(({ type }) => type === 'string') };
}

/** Lists of parts in an order, or in a part. */
function partLists(assetType: AssetType, part: (partType: AssetType) => JsonSchema): Schemas {
  const lists = assetType.relationships.filter(({ kind }) => kind === 'has_many');
  return Object.fromEntries(
    lists.flatMap(({ name, table }) => {
      const type = PART_TYPES.get(table);
      return type === undefined ? [] : [[name, listOf(part(type))]];
    }),
  );
}

/** Parts are Master Data: the same for all tenants. */
const PART_TYPES: ReadonlyMap<string, AssetType> = new Map(ORDER_MODELS.flatMap((model) => [...standardTables(model)]));

/** A part within its parent need not name the parent's id: null counts as absent. */
const givenLists = (assetType: AssetType, kind: BodyKind): Schemas =>
  partLists(assetType, (partType) => {
    const { properties, required, ...schema } = recordInputSchema(partType, kind);
    const names: readonly unknown[] = Array.isArray(required) ? required : [];
    const parent = partType.parent?.field ?? '';
    const own: Record<string, unknown> = { ...(isObject(properties) ? properties : {}) };
    if (isObject(own[parent])) own[parent] = { ...own[parent], type: ['string', 'null'] };
    return {
      ...schema,
      properties: { ...own, ...givenLists(partType, kind) },
      required: names.filter((name) => name !== parent),
    };
  });

/** An order as creates and updates answer it: with its parts, if it was sent with some. Parts include theirs. */
export function withPartsOutputSchema(assetType: AssetType): JsonSchema {
  const { properties, ...schema } = recordOutputSchema(assetType);
  return {
    ...schema,
    properties: { ...(isObject(properties) ? properties : {}), ...partLists(assetType, withPartsOutputSchema) },
  };
}

export const EXAMPLE_ID = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';
export const EXAMPLE_BATCH_ID = 'sync-2026-11-21';

/** What fields of these names have in examples. */
const EXAMPLE_VALUES: Fields = {
  external_id: 'C-1001',
  account_id: 'C-1001',
  buyer_customer_party_id: 'C-1001',
  name: 'Bakkerij De Molen',
  code: 'PCE',
  country: 'NL',
  quantity: 24,
};

function exampleValue(field: AssetField): FieldValue {
  if (field.list === true) return ['Item 4711 is out of stock.'];
  if (field.format === 'uuid') return EXAMPLE_ID;
  const value = ownValue(EXAMPLE_VALUES, field.name) ?? fieldRules(field.type).example;
  if (field.oneOf !== undefined) return field.oneOf[0] ?? null;
  if (typeof fieldRules(field.type).example !== typeof value) return fieldRules(field.type).example;
  return typeof value === 'string' && field.maxLength !== undefined ? value.slice(0, field.maxLength) : value;
}

/** The required fields, and some of the optional ones. */
export function createExample(assetType: AssetType): Fields {
  const writable = assetType.fields.filter((field) => field.readOnly !== true && field.list !== true);
  const named = writable.filter((field, index) => field.required || index < 8);
  return Object.fromEntries(named.map((field) => [field.name, exampleValue(field)]));
}

/** One changed field; for an order, a status update (spec §4.9). */
export function updateExample(assetType: AssetType): Fields {
  if (assetType.role === 'order') return { processing_status: 'completed' };
  const field = assetType.fields.find(
    ({ name, readOnly }) => name !== assetType.uniqueField && name !== assetType.parent?.field && readOnly !== true,
  );
  return field === undefined ? createExample(assetType) : { [field.name]: exampleValue(field) };
}
