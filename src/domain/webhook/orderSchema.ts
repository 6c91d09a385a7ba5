/** JSON Schema (2020-12) of an order as webhooks send it, made from the tenant's asset types. */
import type { AssetType, Relationship } from '../assetTypes/assetType.js';
import { closedObject, type JsonSchema, type Properties, recordProperties } from '../assetTypes/outputSchema.js';
import { isPromised } from '../order/exportDocument.js';

export type TenantTables = {
  /** The table of its orders. */
  readonly orderModel: string;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
};

export const text: JsonSchema = { type: 'string' };
export const nothing: JsonSchema = { type: 'null' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const timestamp: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };
export const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, nothing] });

/** The schema of each table that the order leads to. @param state schemas of the order's status and approval */
export function orderSchema({ orderModel, assetTypes }: TenantTables, state: Properties): Properties {
  const found = new Map<string, JsonSchema>();
  const waiting: string[] = [orderModel];
  // A part does not show its order.
  const isShown = ({ kind, table }: Relationship) => kind === 'has_many' || assetTypes.get(table)?.role === 'reference';
  for (let table = waiting.pop(); table !== undefined; table = waiting.pop()) {
    const type = assetTypes.get(table);
    if (type === undefined || found.has(table)) continue;
    const shown = type.relationships.filter(isShown);
    found.set(table, recordSchema(type, shown, table === orderModel ? state : {}));
    waiting.push(...shown.map((relation) => relation.table));
  }
  return Object.fromEntries(found);
}

const leftOut: JsonSchema = {
  type: 'array',
  items: closedObject({ field: text, reason: text }),
  description: 'Objects that the order could not be sent with, and why; only where there are some.',
};
const category = orNull(closedObject({ id: text, name: orNull(text) }));

function recordSchema(type: AssetType, relations: readonly Relationship[], state: Properties): JsonSchema {
  const properties: Properties = {
    ...recordProperties(type),
    ...Object.fromEntries(relations.map((relation) => [relation.name, relationSchema(type, relation)])),
    ...(type.role === 'order' ? { left_out: leftOut } : {}),
    ...(type.name === 'dyn_item' ? { category } : {}),
    ...state,
  };
  // Orders that were approved before the tenant added a field lack it, and missing related records are left out.
  const optional = new Set([
    ...type.fields.filter(({ custom }) => custom === true).map(({ name }) => name),
    ...(type.role === 'reference' ? [] : relations.filter(({ kind }) => kind === 'belongs_to').map(({ name }) => name)),
    'left_out',
  ]);
  const required = Object.keys(properties).filter((name) => !optional.has(name));
  return { title: type.label, description: type.description, type: 'object', properties, required };
}

function relationSchema(type: AssetType, { name, kind, table }: Relationship): JsonSchema {
  const record: JsonSchema = { $ref: `#/$defs/${table}` };
  if (kind === 'has_many') return { type: 'array', items: record };
  return isPromised(type.name, name) ? record : orNull(record);
}
