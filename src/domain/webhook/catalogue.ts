/**
 * The event catalogue: the kinds of events that a webhook can subscribe to, and their bodies (spec §6, §6.5). One table says
 * all of a kind.
 */

import type { AssetType, Relationship } from '../assetTypes/assetType.js';
import { EXAMPLE_TIME, type Fields } from '../assetTypes/fieldTypes.js';
import { closedObject, type JsonSchema, type Properties, recordProperties } from '../assetTypes/outputSchema.js';
import type { EventOf } from '../eventTypes.js';
import type { StatusChange } from '../order/events.js';
import { type Approval, isPromised, orderDocument } from '../order/exportDocument.js';
import { FAILED, ORDER_STATUSES, type OrderStatus } from '../order/status.js';
import { CREATED_AT, exampleSnapshot, type TenantTables } from './exampleOrder.js';

const text: JsonSchema = { type: 'string' };
const nothing: JsonSchema = { type: 'null' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const timestamp: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };
const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, nothing] });

type Kind = {
  /** Types of events of the log that cause it. */
  readonly causes: readonly string[];
  /**
   * `webhook-event-version`. Raised when something in the body is removed, or changes its type or meaning; not when something
   * is added.
   */
  readonly version: string;
  /** When it is sent, and what it is about. */
  readonly description: string;
  /** JSON Schema of the body, for the tenant's own tables. It allows further properties inside. */
  readonly schema: (tenant: TenantTables, kind: string) => JsonSchema;
  /** The body before the custom data; a test delivery sends it. */
  readonly example: (tenant: TenantTables, kind: string) => object;
};

const customData: JsonSchema = { type: 'object', description: "The webhook's own custom_data." };

/**
 * @param values of the example, in place of those of the order
 * @param approved whether the example was approved; schemas of status and approval where the kind says more of them
 */
const orderKind = (
  causes: readonly string[],
  description: string,
  values: Fields,
  { approved, state = ANY_STATE }: { readonly approved?: true; readonly state?: Properties } = {},
): Kind => ({
  causes,
  version: '2',
  description,
  schema: (tenant) => ({
    ...closedObject({ validated_order: { $ref: `#/$defs/${tenant.orderModel}` }, custom_data: customData }),
    additionalProperties: false,
    $defs: orderSchema(tenant, state),
  }),
  example: (tenant) => ({
    validated_order: orderDocument(exampleSnapshot(tenant), approved && APPROVAL, tenant.assetTypes, values),
  }),
});

const BATCH_ID: JsonSchema = { type: 'string', description: 'The _batch_id of the items.' };
const REVISION: JsonSchema = { ...count, description: 'Grows with each event of the table; webhook-sequence.' };

/** @param counts schemas of how many records were created, updated and so on, and an example of each */
const tableKind = (
  causes: readonly string[],
  description: string,
  batchId: JsonSchema,
  counts: { readonly [what: string]: readonly [schema: JsonSchema, example: number] },
): Kind => ({
  causes,
  version: '1',
  description,
  schema: (_, kind) => {
    const schemas = Object.fromEntries(Object.entries(counts).map(([what, [schema]]) => [what, schema]));
    const data = closedObject({ table: text, batch_id: batchId, ...schemas, revision: REVISION });
    return closedObject({ type: { const: kind }, timestamp, data, custom_data: customData });
  },
  example: (_, kind) => {
    const numbers = Object.fromEntries(Object.entries(counts).map(([what, [, number]]) => [what, number]));
    const about = { table: 'dyn_party', revision: 42, occurredAt: EXAMPLE_TIME };
    return tableBody(kind, about, 'sync-2026-11-21', numbers);
  },
});

/** The body of kinds `reference.…` before the custom data. @param counts of created, updated, unchanged, or deleted records */
export const tableBody = (
  kind: string,
  { table, revision, occurredAt }: { readonly table: string; readonly revision: number; readonly occurredAt: string },
  batchId: string | null,
  counts: { readonly [what: string]: number },
) => ({ type: kind, timestamp: occurredAt, data: { table, batch_id: batchId, ...counts, revision } });

const APPROVED: Properties = {
  approved_at: {
    type: 'string',
    pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
    description: 'UTC, YYYY-MM-DD HH:MM:SS.',
  },
  approved_by: { type: 'integer', minimum: 1, description: 'Id of the user who approved.' },
  approver: closedObject({
    id: { type: 'integer', minimum: 1 },
    first_name: text,
    last_name: text,
    locale: text,
    email: text,
  }),
};
const ANY_STATE: Properties = {
  processing_status: { type: 'string', enum: [...ORDER_STATUSES, FAILED] },
  ...Object.fromEntries(Object.entries(APPROVED).map(([name, schema]) => [name, orNull(schema)])),
};
const APPROVAL: Approval = {
  approvedAt: EXAMPLE_TIME,
  approver: { id: 7, first_name: 'Eva', last_name: 'Smit', locale: 'nl_NL', email: 'eva@acme.example' },
};
const FAILURES = [
  'All 5 attempts to deliver to webhook ERP failed.',
  ...[1, 2, 3, 4, 5].map((attempt) => `Attempt ${attempt}: The receiver answered 503.`),
];

const KINDS = {
  'order.created': orderKind(
    ['OrderCreated', 'OrderCreatedWithParts'],
    'An order was created, with the parts that were sent with it (lines, or consignments, goods and charges). A part added later is an order.updated.',
    { processing_status: 'pending_validation', updated_at: CREATED_AT },
  ),
  'order.updated': orderKind(
    ['OrderChanged', 'OrderPartAdded', 'OrderPartChanged', 'OrderPartsChanged'],
    'Fields of an order were changed, or parts of it were added, changed or removed.',
    { processing_status: 'saved' },
  ),
  /** Also caused by each other event that moves the status of an order. */
  'order.status_changed': orderKind(
    [],
    'The processing_status of an order changed, also by an approval or a failed export.',
    { processing_status: 'completed' },
    { approved: true },
  ),
  'order.approved': orderKind(
    ['OrderApproved'],
    'An order was approved: this is its export. The body is the order as approved, the same at each attempt and resend. Only a failed delivery of this kind changes the order: after the fifth failed attempt its status is failed.',
    { processing_status: 'submitted' },
    { approved: true, state: { processing_status: { const: 'submitted' }, error_reason: nothing, ...APPROVED } },
  ),
  'order.export_failed': orderKind(
    ['OrderExportFailed'],
    'The last attempt to deliver an order.approved failed: the order is with the validators again, with the reasons in error_reason.',
    { processing_status: FAILED, error_reason: FAILURES },
    { approved: true, state: { processing_status: { const: FAILED }, ...APPROVED } },
  ),
  'reference.batch_upserted': tableKind(
    ['BatchUpserted', 'BatchUndone'],
    'A batch changed a reference table. One delivery for each batch_id in the batch; a batch of very large records may take several.',
    orNull(BATCH_ID),
    {
      created: [count, 12],
      updated: [count, 3],
      unchanged: [{ ...count, description: 'Sent again as they were, now under this batch_id.' }, 985],
    },
  ),
  'reference.cleaned_up': tableKind(
    ['TableCleanedUp'],
    'A clean-up deleted the records of a reference table that did not have the batch_id.',
    BATCH_ID,
    { deleted: [count, 7] },
  ),
};

/** What a webhook can subscribe to. */
export type WebhookEventKind = keyof typeof KINDS;
const isKind = (name: string): name is WebhookEventKind => Object.hasOwn(KINDS, name);
export const WEBHOOK_EVENT_KINDS: readonly WebhookEventKind[] = Object.keys(KINDS).filter(isKind);

/**
 * The kinds of an event of the log, in the order of `WEBHOOK_EVENT_KINDS`: one event may have several, most have none.
 */
export function kindsOf({ type, data }: EventOf<string, unknown>): readonly WebhookEventKind[] {
  // A new order has no status before.
  const { status } = (data ?? {}) as { readonly status?: StatusChange | OrderStatus };
  const isMoved = type.startsWith('Order') && typeof status === 'object' && status.from !== status.to;
  const isCaused = (kind: WebhookEventKind) =>
    KINDS[kind].causes.includes(type) || (isMoved && kind === 'order.status_changed');
  return WEBHOOK_EVENT_KINDS.filter(isCaused);
}

export const payloadVersion = (kind: WebhookEventKind): string => KINDS[kind].version;

export const exampleBody = (kind: WebhookEventKind, tenant: TenantTables, customData: object): object => ({
  ...KINDS[kind].example(tenant, kind),
  custom_data: customData,
});

export type CatalogueEntry = Pick<Kind, 'version' | 'description'> & {
  readonly kind: WebhookEventKind;
  readonly schema: JsonSchema;
  readonly example: object;
};

/** Every kind, for a tenant's own tables. `schema`: JSON Schema 2020-12 of the body. */
export const eventCatalogue = (tenant: TenantTables): readonly CatalogueEntry[] =>
  WEBHOOK_EVENT_KINDS.map((kind) => {
    const { version, description, schema } = KINDS[kind];
    const $schema = 'https://json-schema.org/draft/2020-12/schema';
    return {
      kind,
      version,
      description,
      schema: { $schema, title: kind, ...schema(tenant, kind) },
      example: exampleBody(kind, tenant, { warehouse: 'north' }),
    };
  });

/** The schema of each table that the order leads to. @param state schemas of the order's status and approval */
function orderSchema({ orderModel, assetTypes }: TenantTables, state: Properties): Properties {
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
