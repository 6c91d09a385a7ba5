/** The stock model's standard asset types (spec §1, §2.3). */
import type { AssetType } from './assetType.js';
import {
  belongsTo,
  belongsToExternal,
  boolean,
  codeTable,
  date,
  decimal,
  dynParty,
  hasMany,
  integer,
  longText,
  orderHeadFields,
  orderStateFields,
  orderTable,
  plainString,
  reference,
  referenceTable,
  sizeFields,
  string,
} from './define.js';

const dynStockOrder = orderTable({
  name: 'dyn_stock_order',
  label: 'Stock orders',
  description: 'All order information.',
  fields: [
    ...orderHeadFields,
    string('buyer_customer_party_id', { label: "Buyer (party's external id)" }),
    string('accounting_customer_party_id', { label: "Invoiced party (party's external id)" }),
    plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' }),
    ...orderStateFields,
  ],
  relationships: [
    belongsToExternal('buyer_customer_party', 'dyn_party'),
    belongsToExternal('accounting_customer_party', 'dyn_party'),
    hasMany('lines', 'dyn_order_line', 'order_id'),
  ],
});

const dynOrderLine = orderTable({
  name: 'dyn_order_line',
  label: 'Order lines',
  description: 'All order line information.',
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
    belongsTo('order', 'dyn_stock_order'),
    belongsTo('item', 'dyn_item'),
    belongsTo('unit_code', 'dyn_unit_code'),
  ],
});

const dynItem = referenceTable({
  name: 'dyn_item',
  label: 'Items',
  description: 'Product information.',
  fields: [
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
  relationships: [belongsTo('base_unit_code', 'dyn_unit_code')],
});

const dynUnitCode = codeTable({
  name: 'dyn_unit_code',
  label: 'Unit codes',
  description: 'Units in which a product can be ordered, such as piece or box (UN/CEFACT Recommendation 20).',
  fields: [],
});

const dynItemUnitsOfMeasure = referenceTable({
  name: 'dyn_item_units_of_measure',
  label: 'Item units of measure',
  description: 'Palletization: how many base units a packaging unit of an item holds, and its size.',
  fields: [
    reference('item_id', { required: true }),
    reference('unit_code_id', { required: true }),
    decimal('quantity_per_unit', { required: true, label: 'Base units in one of this unit' }),
    integer('units_per_layer'),
    integer('layers_per_pallet'),
    integer('units_per_pallet'),
    decimal('gross_weight', { label: 'Gross weight (kg)' }),
    ...sizeFields,
    string('ean', { maxLength: 14, label: 'EAN / GTIN' }),
  ],
  relationships: [belongsTo('item', 'dyn_item'), belongsTo('unit_code', 'dyn_unit_code')],
});

const dynPartyItems = referenceTable({
  name: 'dyn_party_items',
  label: 'Party items',
  description: 'Which products a customer may order.',
  fields: [
    string('party_id', { required: true, label: 'Party (its external id)' }),
    reference('item_id', { required: true }),
    string('customer_item_code', { label: "Customer's own item code" }),
    boolean('active'),
    date('valid_from', { filterable: false, sortable: false }),
    date('valid_until', { filterable: false, sortable: false }),
  ],
  relationships: [belongsToExternal('party', 'dyn_party'), belongsTo('item', 'dyn_item')],
});

const dynOrderHistory = referenceTable({
  name: 'dyn_order_history',
  label: 'Order history',
  description: 'Earlier orders of each customer, used by the platform to improve the accuracy of new orders.',
  fields: [
    string('party_id', { required: true, label: 'Party (its external id)' }),
    reference('item_id'),
    string('item_external_id'),
    reference('unit_code_id', { filterable: false, sortable: false }),
    decimal('quantity'),
    date('order_date'),
    plainString('order_number'),
  ],
  relationships: [
    belongsToExternal('party', 'dyn_party'),
    belongsTo('item', 'dyn_item'),
    belongsTo('unit_code', 'dyn_unit_code'),
  ],
});

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
