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
  language: 'nl',
  street_name: 'Dorpsstraat',
  address_number: '12',
  city_name: 'Utrecht',
  postal_zone: '3511 AB',
  country: 'NL',
  currency_code: 'EUR',
  issue_date: '2026-11-20',
  delivery_date: '2026-11-27',
  notes: 'Deliver before 10:00.',
  customer_reference: 'PO 4711',
  accuracy: 0.97,
  category_id: 'CAT-1',
  category_name: 'Hot drinks',
  quantity: 24,
  unit_price: 1.85,
  loading_date: '2026-11-26',
  unloading_date: '2026-11-27',
  product_name: 'Wheat flour',
};

/** What the fields of a table have, where other values would be odd. */
const OF_TABLE: { readonly [table: string]: Fields } = {
  dyn_item: { external_id: 'ITEM-005', name: 'Black tea, 100 bags', sku: 'BT-100', active: true },
  dyn_packing_type: { code: 'EUR', value: 'Euro pallet' },
  dyn_allowance_charge_reason: { code: 'FC', value: 'Fuel charge' },
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
    const values: Fields = { ...EXAMPLE_VALUES, ...OF_TABLE[type.name], ...Object.fromEntries(named) };
    const fields = type.fields.map(({ name, type: valueType, required }): [string, FieldValue] => [
      name,
      ownValue(values, name) ?? (required ? fieldRules(valueType).example : null),
    ]);
    const times = { created_at: CREATED_AT, updated_at: EXAMPLE_TIME };
    return { id: idOf(type.name), ...times, ...Object.fromEntries(fields) };
  };
  const order = assetTypes.get(orderModel);
  if (order === undefined) throw new Error(`${orderModel} is no order model.`);
  const parts = types.filter(({ role }) => role === 'part');
  const references = types.filter(({ role }) => role === 'reference');
  return {
    table: orderModel,
    order: recordOf(order),
    parts: parts.map((type) => ({ table: type.name, record: recordOf(type) })),
    related: Object.fromEntries(
      references.map((type) => {
        const record = recordOf(type);
        // Relations refer to it by its id or its unique field.
        return [type.name, { [record.id]: record, [String(ownValue(record, type.uniqueField ?? 'id'))]: record }];
      }),
    ),
  };
}
