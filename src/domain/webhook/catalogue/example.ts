/** The example body of each kind, for the tenant's own tables; a test delivery sends it. */
import type { AssetType, RecordView } from '../../assetTypes/assetType.js';
import { EXAMPLE_TIME, EXAMPLE_VALUES, type Fields, type FieldValue, ownValue } from '../../assetTypes/fieldTypes.js';
import type { Tenant } from '../../identity/directory.js';
import { type Approval, exportText, orderText } from '../../order/exportDocument.js';
import type { ExportSnapshot } from '../../order/snapshot.js';
import type { CustomData, WebhookEventKind } from '../events.js';
import { EXAMPLE_ROWS, type ExampleRow } from './exampleRows.js';

type TableEvent = {
  readonly table: string;
  readonly revision: number;
  /** ISO 8601. */
  readonly occurredAt: string;
};

/** The body of kinds `reference.…` before the custom data. @param counts of created, updated, unchanged, or deleted records */
export const tableBody = (
  kind: WebhookEventKind,
  { table, revision, occurredAt }: TableEvent,
  batchId: string | null,
  counts: { readonly [what: string]: number },
) => ({ type: kind, timestamp: occurredAt, data: { table, batch_id: batchId, ...counts, revision } });

export type TenantTables = Pick<Tenant, 'orderModel' | 'assetTypes'>;

const CREATED_AT = '2026-11-20T14:02:31.482913Z';
const APPROVAL: Approval = {
  approvedAt: EXAMPLE_TIME,
  approver: { id: 7, first_name: 'Eva', last_name: 'Smit', locale: 'nl_NL', email: 'eva@acme.example' },
};
const FAILURES = [
  'All 5 attempts to deliver to webhook ERP failed.',
  ...[1, 2, 3, 4, 5].map((attempt) => `Attempt ${attempt}: The receiver answered 503.`),
];
const TABLE_EVENT: TableEvent = { table: 'dyn_party', revision: 42, occurredAt: EXAMPLE_TIME };
const BATCH_ID = 'sync-2026-11-21';

export const exampleBody = (kind: WebhookEventKind, tenant: TenantTables, customData: CustomData): object => ({
  ...exampleOf(kind, tenant),
  custom_data: customData,
});

function exampleOf(kind: WebhookEventKind, tenant: TenantTables): object {
  switch (kind) {
    case 'reference.batch_upserted':
      return tableBody(kind, TABLE_EVENT, BATCH_ID, { created: 12, updated: 3, unchanged: 985 });
    case 'reference.cleaned_up':
      return tableBody(kind, TABLE_EVENT, BATCH_ID, { deleted: 7 });
    default:
      return { validated_order: JSON.parse([...exampleOrder(kind, tenant)].join('')) };
  }
}

type OrderKind = Extract<WebhookEventKind, `order.${string}`>;

function exampleOrder(kind: OrderKind, tenant: TenantTables): Iterable<string> {
  const { assetTypes } = tenant;
  const order = (fields: Fields) => exampleSnapshot(tenant, fields);
  switch (kind) {
    case 'order.created': {
      // Its parts are added after it.
      const created = { ...order({ processing_status: 'pending_validation', updated_at: CREATED_AT }), parts: [] };
      return orderText(created, undefined, assetTypes);
    }
    case 'order.updated':
      return orderText(order({ processing_status: 'saved' }), undefined, assetTypes);
    case 'order.status_changed':
      return orderText(order({ processing_status: 'completed' }), APPROVAL, assetTypes);
    case 'order.approved':
      return exportText(order({}), APPROVAL, assetTypes);
    case 'order.export_failed':
      return orderText(order({ processing_status: 'failed', error_reason: FAILURES }), APPROVAL, assetTypes);
  }
}

/** @param fields of the order, in addition to those of its row */
function exampleSnapshot({ orderModel, assetTypes }: TenantTables, fields: Fields): ExportSnapshot {
  const types = [...assetTypes.values()];
  const [orderRow] = EXAMPLE_ROWS[orderModel] ?? [];
  const orderType = assetTypes.get(orderModel);
  if (orderRow === undefined || orderType === undefined) throw new Error(`${orderModel} is no order model.`);
  const references = types.filter(({ role }) => role === 'reference');
  return {
    table: orderModel,
    order: { ...exampleRecord(orderType, { ...orderRow, ...fields }), ...fields },
    parts: types
      .filter(({ role }) => role === 'part')
      .flatMap((type) => rowsOf(type).map((row) => ({ table: type.name, record: exampleRecord(type, row) }))),
    related: Object.fromEntries(references.map((type) => [type.name, byEveryKey(type)])),
  };
}

const rowsOf = ({ name }: AssetType): readonly ExampleRow[] => EXAMPLE_ROWS[name] ?? [];

/** Relations refer to a record by its id or its unique field. */
function byEveryKey(type: AssetType): { readonly [key: string]: RecordView } {
  const records = rowsOf(type).map((row) => exampleRecord(type, row));
  return Object.fromEntries(
    records.flatMap((record) => [
      [record.id, record],
      [String(ownValue(record, type.uniqueField ?? 'id')), record],
    ]),
  );
}

/** Has every field of the type. Required fields that the row does not name get an example value. */
function exampleRecord(type: AssetType, row: ExampleRow): RecordView {
  const fields = type.fields.map(({ name, required, type: fieldType }): [string, FieldValue] => [
    name,
    ownValue(row, name) ?? (required ? EXAMPLE_VALUES[fieldType] : null),
  ]);
  return { id: row.id, created_at: CREATED_AT, updated_at: EXAMPLE_TIME, ...Object.fromEntries(fields) };
}
