/** The stock model's standard asset types (spec §1, §2.3). */
import type { AssetType } from './assetType.js';
import { boolean, date, decimal, integer, longText, plainString, reference, string } from './define.js';
import { orderHeadFields, orderStateFields } from './orderFields.js';
import { dynParty } from './party.js';

const dynStockOrder: AssetType = {
  name: 'dyn_stock_order',
  label: 'Stock orders',
  description: 'All order information.',
  supportingData: false,
  role: 'order',
  fields: [
    ...orderHeadFields,
    string('buyer_customer_party_id', { label: "Buyer (party's external id)" }),
    string('accounting_customer_party_id', { label: "Invoiced party (party's external id)" }),
    plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' }),
    ...orderStateFields,
  ],
  relationships: [
    {
      name: 'buyer_customer_party',
      kind: 'belongs_to',
      table: 'dyn_party',
      field: 'buyer_customer_party_id',
      key: 'external_id',
    },
    {
      name: 'accounting_customer_party',
      kind: 'belongs_to',
      table: 'dyn_party',
      field: 'accounting_customer_party_id',
      key: 'external_id',
    },
    { name: 'lines', kind: 'has_many', table: 'dyn_order_line', field: 'order_id', key: 'id' },
  ],
};

const dynOrderLine: AssetType = {
  name: 'dyn_order_line',
  label: 'Order lines',
  description: 'All order line information.',
  supportingData: false,
  role: 'part',
  parent: { field: 'order_id', table: 'dyn_stock_order' },
  fields: [
    reference('order_id', { required: true }),
    integer('line_number', { sortable: true }),
    reference('item_id'),
    reference('unit_code_id'),
    decimal('quantity', { required: true }),
    decimal('unit_price'),
    longText('description'),
    date('delivery_date'),
  ],
  relationships: [
    { name: 'order', kind: 'belongs_to', table: 'dyn_stock_order', field: 'order_id', key: 'id' },
    { name: 'item', kind: 'belongs_to', table: 'dyn_item', field: 'item_id', key: 'id' },
    { name: 'unit_code', kind: 'belongs_to', table: 'dyn_unit_code', field: 'unit_code_id', key: 'id' },
  ],
};

const dynItem: AssetType = {
  name: 'dyn_item',
  label: 'Items',
  description: 'Product information.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  fields: [
    string('external_id', { required: true, label: 'External id' }),
    string('name', { required: true }),
    longText('description'),
    string('brand_name'),
    string('sku', { label: 'SKU' }),
    string('ean', { maxLength: 14, label: 'EAN / GTIN' }),
    reference('base_unit_code_id', { filterable: false, sortable: false }),
    plainString('category_id'),
    plainString('category_name'),
    plainString('product_id'),
    decimal('net_weight', { label: 'Net weight (kg)' }),
    boolean('active'),
  ],
  relationships: [
    { name: 'base_unit_code', kind: 'belongs_to', table: 'dyn_unit_code', field: 'base_unit_code_id', key: 'id' },
  ],
};

const dynUnitCode: AssetType = {
  name: 'dyn_unit_code',
  label: 'Unit codes',
  description: 'Units in which a product can be ordered, such as piece or box (UN/CEFACT Recommendation 20).',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [string('code', { required: true, maxLength: 32 }), string('value', { required: true })],
  relationships: [],
};

const dynItemUnitsOfMeasure: AssetType = {
  name: 'dyn_item_units_of_measure',
  label: 'Item units of measure',
  description: 'Palletization: how many base units a packaging unit of an item holds, and its size.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  fields: [
    string('external_id', { required: true, label: 'External id' }),
    reference('item_id', { required: true }),
    reference('unit_code_id', { required: true }),
    decimal('quantity_per_unit', { required: true, label: 'Base units in one of this unit' }),
    integer('units_per_layer'),
    integer('layers_per_pallet'),
    integer('units_per_pallet'),
    decimal('gross_weight', { label: 'Gross weight (kg)' }),
    decimal('length', { label: 'Length (cm)' }),
    decimal('width', { label: 'Width (cm)' }),
    decimal('height', { label: 'Height (cm)' }),
    string('ean', { maxLength: 14, label: 'EAN / GTIN' }),
  ],
  relationships: [
    { name: 'item', kind: 'belongs_to', table: 'dyn_item', field: 'item_id', key: 'id' },
    { name: 'unit_code', kind: 'belongs_to', table: 'dyn_unit_code', field: 'unit_code_id', key: 'id' },
  ],
};

const dynPartyItems: AssetType = {
  name: 'dyn_party_items',
  label: 'Party items',
  description: 'Which products a customer may order.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  fields: [
    string('external_id', { required: true, label: 'External id' }),
    string('party_id', { required: true, label: 'Party (its external id)' }),
    reference('item_id', { required: true }),
    string('customer_item_code', { label: "Customer's own item code" }),
    boolean('active'),
    date('valid_from', { filterable: false, sortable: false }),
    date('valid_until', { filterable: false, sortable: false }),
  ],
  relationships: [
    { name: 'party', kind: 'belongs_to', table: 'dyn_party', field: 'party_id', key: 'external_id' },
    { name: 'item', kind: 'belongs_to', table: 'dyn_item', field: 'item_id', key: 'id' },
  ],
};

const dynOrderHistory: AssetType = {
  name: 'dyn_order_history',
  label: 'Order history',
  description: 'Earlier orders of each customer, used by the platform to improve the accuracy of new orders.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  fields: [
    string('external_id', { required: true, label: 'External id' }),
    string('party_id', { required: true, label: 'Party (its external id)' }),
    reference('item_id'),
    string('item_external_id'),
    reference('unit_code_id', { filterable: false, sortable: false }),
    decimal('quantity'),
    date('order_date'),
    plainString('order_number'),
  ],
  relationships: [
    { name: 'party', kind: 'belongs_to', table: 'dyn_party', field: 'party_id', key: 'external_id' },
    { name: 'item', kind: 'belongs_to', table: 'dyn_item', field: 'item_id', key: 'id' },
    { name: 'unit_code', kind: 'belongs_to', table: 'dyn_unit_code', field: 'unit_code_id', key: 'id' },
  ],
};

export const stockModel: readonly AssetType[] = [
  dynStockOrder,
  dynOrderLine,
  dynItem,
  dynParty,
  dynUnitCode,
  dynItemUnitsOfMeasure,
  dynPartyItems,
  dynOrderHistory,
];
