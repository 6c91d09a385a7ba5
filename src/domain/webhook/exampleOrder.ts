/** The order of the catalogue's examples, for both order models, in the tenant's own tables. */
import type { AssetType, RecordView } from '../assetTypes/assetType.js';
import { EXAMPLE_TIME, type Fields, type FieldValue, fieldRules, ownValue } from '../assetTypes/fieldTypes.js';

import type { ExportSnapshot } from '../order/snapshot.js';
import type { TenantTables } from './orderSchema.js';

type ExampleRow = { readonly id: string } & Fields;

const id = (end: string): string => `019aa4a5-3d51-7c3e-9d2f-${end.padStart(12, '0')}`;

const EXAMPLE_ORDER_ID = id('1');

const orderHead: ExampleRow = {
  id: EXAMPLE_ORDER_ID,
  issue_date: '2026-11-20',
  delivery_date: '2026-11-27',
  notes: 'Deliver before 10:00.',
  customer_reference: 'PO 4711',
  accuracy: 0.97,
  order_inquiry_id: id('2'),
  buyer_customer_party_id: 'C-1001',
  accounting_customer_party_id: 'C-1001',
};

const bakery: ExampleRow = {
  id: id('3'),
  external_id: 'C-1001',
  account_id: 'C-1001',
  name: 'Bakkerij De Molen',
  language: 'nl',
  street_name: 'Dorpsstraat',
  address_number: '12',
  city_name: 'Utrecht',
  postal_zone: '3511 AB',
  country: 'NL',
  contact_name: 'Vera Bos',
  contact_email: 'vera@molen.example',
};

const mill: ExampleRow = {
  id: id('4'),
  external_id: 'C-1002',
  name: 'Korenmolen De Ster',
  street_name: 'Molenpad',
  address_number: '3',
  city_name: 'Rotterdam',
  postal_zone: '3011 CD',
  country: 'NL',
};

const ADDRESS = ['name', 'street_name', 'address_number', 'postal_zone', 'city_name', 'country'];
const location = (row: ExampleRow, party: ExampleRow): ExampleRow => ({
  ...Object.fromEntries(ADDRESS.map((field) => [field, party[field] ?? null])),
  ...row,
});

/** By table, for both order models. Parts refer to the order and to rows of reference tables. */
const EXAMPLE_ROWS: { readonly [table: string]: readonly ExampleRow[] } = {
  dyn_stock_order: [{ ...orderHead, currency_code: 'EUR' }],
  dyn_order_line: [
    {
      id: id('10'),
      order_id: EXAMPLE_ORDER_ID,
      line_number: 1,
      item_id: id('11'),
      unit_code_id: id('12'),
      quantity: 24,
      unit_price: 1.85,
      delivery_date: '2026-11-27',
    },
  ],
  dyn_item: [
    {
      id: id('11'),
      external_id: 'ITEM-005',
      name: 'Black tea, 100 bags',
      brand_name: 'Theehuis',
      sku: 'BT-100',
      ean: '8712345678906',
      base_unit_code_id: id('12'),
      category_id: 'CAT-1',
      category_name: 'Hot drinks',
      product_id: 'P-5',
      net_weight: 0.2,
      active: true,
    },
  ],
  dyn_unit_code: [{ id: id('12'), code: 'PCE', value: 'Piece' }],
  dyn_party: [bakery, mill],
  dyn_transport_order: [{ ...orderHead, transport_reference: 'TR 2026-118', transport_mode: 'road', incoterms: 'DAP' }],
  dyn_consignment: [
    {
      id: id('20'),
      transport_order_id: EXAMPLE_ORDER_ID,
      consignment_reference: 'CN 1',
      consignor_party_id: 'C-1002',
      consignee_party_id: 'C-1001',
      loading_location_id: 'L-2',
      loading_date: '2026-11-26',
      loading_time_from: '08:00',
      loading_time_until: '12:00',
      unloading_location_id: 'L-1',
      unloading_date: '2026-11-27',
      unloading_time_until: '10:00',
    },
  ],
  dyn_goods: [
    {
      id: id('21'),
      consignment_id: id('20'),
      product_name: 'Wheat flour',
      quantity: 12,
      packing_type_id: id('22'),
      gross_weight: 7_500,
      net_weight: 7_200,
      stackable: false,
    },
  ],
  dyn_packing_type: [{ id: id('22'), code: 'EUR', value: 'Euro pallet', length: 120, width: 80, height: 14.4 }],
  dyn_location: [
    location({ id: id('23'), external_id: 'L-1', opening_hours: '06:00-14:00' }, bakery),
    location({ id: id('24'), external_id: 'L-2' }, mill),
  ],
  dyn_allowance_charge: [
    {
      id: id('25'),
      transport_order_id: EXAMPLE_ORDER_ID,
      charge_indicator: true,
      allowance_charge_reason_id: id('26'),
      amount: 37.5,
      currency_code: 'EUR',
    },
  ],
  dyn_allowance_charge_reason: [{ id: id('26'), code: 'FC', value: 'Fuel charge' }],
};

export const CREATED_AT = '2026-11-20T14:02:31.482913Z';

export function exampleSnapshot({ orderModel, assetTypes }: TenantTables): ExportSnapshot {
  const types = [...assetTypes.values()];
  const [order] = recordsOf(assetTypes.get(orderModel));
  if (order === undefined) throw new Error(`${orderModel} is no order model.`);
  const parts = types.filter(({ role }) => role === 'part');
  const references = types.filter(({ role }) => role === 'reference');
  return {
    table: orderModel,
    order,
    parts: parts.flatMap((type) => recordsOf(type).map((record) => ({ table: type.name, record }))),
    related: Object.fromEntries(references.map((type) => [type.name, byEveryKey(type)])),
  };
}

/** Relations refer to a record by its id or its unique field. */
const byEveryKey = (type: AssetType): { readonly [key: string]: RecordView } =>
  Object.fromEntries(
    recordsOf(type).flatMap((record) => [
      [record.id, record],
      [String(ownValue(record, type.uniqueField ?? 'id')), record],
    ]),
  );

/** Each has every field of the type. Required fields that the row does not name get an example value. */
function recordsOf(type: AssetType | undefined): readonly RecordView[] {
  return (EXAMPLE_ROWS[type?.name ?? ''] ?? []).map((row) => {
    const fields = (type?.fields ?? []).map(({ name, required, type: valueType }): [string, FieldValue] => [
      name,
      ownValue(row, name) ?? (required ? fieldRules(valueType).example : null),
    ]);
    return { id: row.id, created_at: CREATED_AT, updated_at: EXAMPLE_TIME, ...Object.fromEntries(fields) };
  });
}
