/** What a test of a webhook sends: an order of one record of each table of the tenant, or what a batch did. */
import type { AssetType, RecordView } from '../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { orderDocument } from '../../domain/order/document.js';
import type { WebhookEventKind } from '../../domain/webhook/catalogue.js';

const TIME = '2026-11-21T03:11:47.123456Z';
const APPROVER = { id: 7, first_name: 'Eva', last_name: 'Smit', locale: 'nl_NL', email: 'eva@acme.example' };

/** Of fields of these names, in whatever table. */
const VALUES: Fields = {
  processing_status: 'submitted',
  external_id: 'C-1001',
  name: 'Bakkerij De Molen',
  code: 'PCE',
  country: 'NL',
  delivery_date: '2026-11-27',
  customer_reference: 'PO 4711',
  quantity: 24,
};

type TenantTables = { readonly orderModel: string; readonly assetTypes: ReadonlyMap<string, AssetType> };

export function exampleOf(kind: WebhookEventKind, { orderModel, assetTypes }: TenantTables): object {
  if (!kind.startsWith('order.')) {
    const counts = kind === 'reference.cleaned_up' ? { deleted: 7 } : { created: 12, updated: 3, unchanged: 985 };
    return { type: kind, timestamp: TIME, data: { table: 'dyn_party', batch_id: 'sync-1', ...counts, revision: 42 } };
  }
  const types = [...assetTypes.values()];
  const idOf = (table: string): string =>
    `019aa4a5-3d51-7c3e-9d2f-${String(types.findIndex(({ name }) => name === table) + 1).padStart(12, '0')}`;
  const records = types.map((type): readonly [AssetType, RecordView] => {
    const named = type.relationships.flatMap(({ kind, field, key, table }) =>
      kind === 'belongs_to' ? [[field, key === 'id' ? idOf(table) : VALUES[key]]] : [],
    );
    const values: Fields = { ...VALUES, ...Object.fromEntries(named) };
    const fields = type.fields.map(({ name }) => [name, ownValue(values, name) ?? null]);
    return [type, { id: idOf(type.name), created_at: TIME, updated_at: TIME, ...Object.fromEntries(fields) }];
  });
  const [, order] = records.find(([{ name }]) => name === orderModel) ?? [];
  if (order === undefined) throw new Error(`${orderModel} is no order model.`);
  const parts = records.flatMap(([{ name: table, role }, record]) => (role === 'part' ? { table, record } : []));
  // Relations refer to it by its id or its unique field.
  const related = records.map(([{ name, uniqueField = 'id' }, record]) => [
    name,
    { [record.id]: record, [String(ownValue(record, uniqueField))]: record },
  ]);
  const snapshot = { table: orderModel, order, parts, related: Object.fromEntries(related) };
  const approval = { approvedAt: TIME, approver: APPROVER };
  return { validated_order: orderDocument(snapshot, approval, assetTypes) };
}
