/** The order of the catalogue's examples, made of one record of each table of the tenant. */
import type { AssetType, RecordView } from '../assetTypes/assetType.js';
import { EXAMPLE_TIME, type Fields, type FieldValue, fieldRules, ownValue } from '../assetTypes/fieldTypes.js';
import type { ExportSnapshot } from '../order/snapshot.js';

export type TenantTables = {
  /** The table of its orders. */
  readonly orderModel: string;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
};

/** What fields of these names have in examples, in whatever table. */
export const EXAMPLE_VALUES: Fields = {
  external_id: 'C-1001',
  account_id: 'C-1001',
  buyer_customer_party_id: 'C-1001',
  accounting_customer_party_id: 'C-1001',
  name: 'Bakkerij De Molen',
  code: 'PCE',
  value: 'Piece',
  country: 'NL',
  delivery_date: '2026-11-27',
  customer_reference: 'PO 4711',
  quantity: 24,
};

export const CREATED_AT = '2026-11-20T14:02:31.482913Z';

export function exampleSnapshot({ orderModel, assetTypes }: TenantTables): ExportSnapshot {
  const types = [...assetTypes.values()];
  const idOf = (table: string): string =>
    `019aa4a5-3d51-7c3e-9d2f-${String(types.findIndex(({ name }) => name === table) + 1).padStart(12, '0')}`;
  const recordOf = (type: AssetType): RecordView => {
    const named = type.relationships.flatMap(({ kind, field, key, table }) =>
      kind === 'belongs_to' && key === 'id' ? [[field, idOf(table)] as const] : [],
    );
    const values: Fields = { ...EXAMPLE_VALUES, ...Object.fromEntries(named) };
    const fields = type.fields.map(({ name, type: valueType, required }): [string, FieldValue] => [
      name,
      ownValue(values, name) ?? (required ? fieldRules(valueType).example : null),
    ]);
    const times = { created_at: CREATED_AT, updated_at: EXAMPLE_TIME };
    return { id: idOf(type.name), ...times, ...Object.fromEntries(fields) };
  };
  const order = assetTypes.get(orderModel);
  if (order === undefined) throw new Error(`${orderModel} is no order model.`);
  const records = types.map((type) => ({ type, table: type.name, record: recordOf(type) }));
  const related = records.map(({ type, table, record }) => {
    // Relations refer to it by its id or its unique field.
    return [table, { [record.id]: record, [String(ownValue(record, type.uniqueField ?? 'id'))]: record }];
  });
  const parts = records.filter(({ type }) => type.role === 'part');
  return { table: orderModel, order: recordOf(order), parts, related: Object.fromEntries(related) };
}
