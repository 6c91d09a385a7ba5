/** JSON Schema (2020-12) of the body of each kind, made from the tenant's asset types. */
import type { AssetType, Relationship } from '../../assetTypes/assetType.js';
import { closedObject, type JsonSchema, type Properties, recordProperties } from '../../assetTypes/outputSchema.js';
import { isPromised } from '../../order/exportDocument.js';
import { FAILED, ORDER_STATUSES } from '../../order/status.js';
import type { WebhookEventKind } from '../events.js';
import type { TenantTables } from './example.js';

const text: JsonSchema = { type: 'string' };
const nothing: JsonSchema = { type: 'null' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const timestamp: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };
const customData: JsonSchema = { type: 'object', description: "The webhook's own custom_data." };
const batchId: JsonSchema = { type: 'string', description: 'The _batch_id of the items.' };
const revision: JsonSchema = { ...count, description: 'Grows with each event of the table; webhook-sequence.' };

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, nothing] });
const definition = (table: string): JsonSchema => ({ $ref: `#/$defs/${table}` });

/** The schema of a kind's body. It allows further properties inside, which may be added without a new version. */
export function bodySchema(kind: WebhookEventKind, tenant: TenantTables): JsonSchema {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: kind, ...rootsOf(kind, tenant) };
}

function rootsOf(kind: WebhookEventKind, tenant: TenantTables): JsonSchema {
  switch (kind) {
    case 'reference.batch_upserted':
      return referenceSchema(kind, {
        table: text,
        batch_id: orNull(batchId),
        created: count,
        updated: count,
        unchanged: { ...count, description: 'Sent again as they were, now under this batch_id.' },
        revision,
      });
    case 'reference.cleaned_up':
      return referenceSchema(kind, { table: text, batch_id: batchId, deleted: count, revision });
    default:
      return {
        ...closedObject({ validated_order: definition(tenant.orderModel), custom_data: customData }),
        additionalProperties: false,
        $defs: tableSchemas(kind, tenant),
      };
  }
}

const referenceSchema = (kind: WebhookEventKind, data: Properties): JsonSchema =>
  closedObject({ type: { const: kind }, timestamp, data: closedObject(data), custom_data: customData });

/** The schema of each table that the order leads to. */
function tableSchemas(kind: WebhookEventKind, { orderModel, assetTypes }: TenantTables): Properties {
  const found = new Map<string, JsonSchema>();
  const waiting: string[] = [orderModel];
  for (let table = waiting.pop(); table !== undefined; table = waiting.pop()) {
    const type = assetTypes.get(table);
    if (type === undefined || found.has(table)) continue;
    const shown = type.relationships.filter((relation) => isShown(relation, assetTypes));
    found.set(table, recordSchema(type, shown, table === orderModel ? stateOf(kind) : {}));
    waiting.push(...shown.map((relation) => relation.table));
  }
  return Object.fromEntries(found);
}

/** A part does not show its order. */
const isShown = ({ kind, table }: Relationship, assetTypes: ReadonlyMap<string, AssetType>): boolean =>
  kind === 'has_many' || assetTypes.get(table)?.role === 'reference';

function recordSchema(type: AssetType, relations: readonly Relationship[], state: Properties): JsonSchema {
  const properties: Properties = {
    ...recordProperties(type),
    ...Object.fromEntries(relations.map((relation) => relationProperty(type, relation))),
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

function relationProperty(type: AssetType, { name, kind, table }: Relationship): [string, JsonSchema] {
  if (kind === 'has_many') return [name, { type: 'array', items: definition(table) }];
  return [name, isPromised(type.name, name) ? definition(table) : orNull(definition(table))];
}

const leftOut: JsonSchema = {
  type: 'array',
  items: closedObject({ field: text, reason: text }),
  description: 'Objects that the order could not be sent with, and why; only where there are some.',
};

const category = orNull(closedObject({ id: text, name: orNull(text) }));

const approver = closedObject({
  id: { type: 'integer', minimum: 1 },
  first_name: text,
  last_name: text,
  locale: text,
  email: text,
});
const approvedAt: JsonSchema = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
  description: 'UTC, YYYY-MM-DD HH:MM:SS.',
};
const approvedBy: JsonSchema = { type: 'integer', minimum: 1, description: 'Id of the user who approved.' };

/** Schemas of status and approval, which differ between the kinds. */
function stateOf(kind: WebhookEventKind): Properties {
  const approval: Properties = { approved_at: approvedAt, approved_by: approvedBy, approver };
  switch (kind) {
    case 'order.approved':
      return { processing_status: { const: 'submitted' }, error_reason: nothing, ...approval };
    case 'order.export_failed':
      return { processing_status: { const: FAILED }, ...approval };
    default: {
      const beforeApproval = Object.entries(approval).map(([name, schema]) => [name, orNull(schema)] as const);
      const status: JsonSchema = { type: 'string', enum: [...ORDER_STATUSES, FAILED] };
      return { processing_status: status, ...Object.fromEntries(beforeApproval) };
    }
  }
}
