/** The stock model's standard asset types (spec §1, §2.3). */
import type { AssetType } from './assetType.js';
import * as define from './define.js';

const dynStockOrder = define.orderTable({
  name: 'dyn_stock_order',
  label: 'Stock orders',
  description: 'All order information.',
  fields: [
    ...define.orderHeadFields,
    define.string('buyer_customer_party_id', { label: "Buyer (party's external id)" }),
    define.string('accounting_customer_party_id', { label: "Invoiced party (party's external id)" }),
    define.plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' }),
    ...define.orderStateFields,
  ],
  relationships: [...define.orderParties, define.hasMany('lines', 'dyn_order_line', 'order_id')],
});

const dynOrderLine = define.orderTable({
  name: 'dyn_order_line',
  label: 'Order lines',
  description: 'All order line information.',
  parent: { field: 'order_id', table: 'dyn_stock_order' },
  fields: [
    define.reference('order_id', { required: true }),
    define.integer('line_number', { sortable: true }),
    define.reference('item_id'),
    define.reference('unit_code_id'),
    define.decimal('quantity', { required: true }),
    define.decimal('unit_price'),
    define.longText('description'),
    define.date('delivery_date'),
  ],
  relationships: define.belongsTo({ order: 'dyn_stock_order', item: 'dyn_item', unit_code: 'dyn_unit_code' }),
});

const dynItem = define.referenceTable({
  name: 'dyn_item',
  label: 'Items',
  description: 'Product information.',
  fields: [
    define.string('name', { required: true }),
    define.longText('description'),
    define.string('brand_name'),
    define.string('sku', { label: 'SKU' }),
    define.string('ean', { maxLength: 14, label: 'EAN / GTIN' }),
    define.reference('base_unit_code_id', { filterable: false, sortable: false }),
    define.plainString('category_id'),
    define.plainString('category_name'),
    define.plainString('product_id'),
    define.decimal('net_weight', { label: 'Net weight (kg)' }),
    define.boolean('active'),
  ],
  relationships: define.belongsTo({ base_unit_code: 'dyn_unit_code' }),
});

const dynUnitCode = define.codeTable({
  name: 'dyn_unit_code',
  label: 'Unit codes',
  description: 'Units in which a product can be ordered, such as piece or box (UN/CEFACT Recommendation 20).',
  fields: [],
});

const dynItemUnitsOfMeasure = define.referenceTable({
  name: 'dyn_item_units_of_measure',
  label: 'Item units of measure',
  description: 'Palletization: how many base units a packaging unit of an item holds, and its size.',
  fields: [
    define.reference('item_id', { required: true }),
    define.reference('unit_code_id', { required: true }),
    define.decimal('quantity_per_unit', { required: true, label: 'Base units in one of this unit' }),
    define.integer('units_per_layer'),
    define.integer('layers_per_pallet'),
    define.integer('units_per_pallet'),
    define.decimal('gross_weight', { label: 'Gross weight (kg)' }),
    ...define.sizeFields,
    define.string('ean', { maxLength: 14, label: 'EAN / GTIN' }),
  ],
  relationships: define.belongsTo({ item: 'dyn_item', unit_code: 'dyn_unit_code' }),
});

const dynPartyItems = define.referenceTable({
  name: 'dyn_party_items',
  label: 'Party items',
  description: 'Which products a customer may order.',
  fields: [
    define.string('party_id', { required: true, label: 'Party (its external id)' }),
    define.reference('item_id', { required: true }),
    define.string('customer_item_code', { label: "Customer's own item code" }),
    define.boolean('active'),
    define.date('valid_from', { filterable: false, sortable: false }),
    define.date('valid_until', { filterable: false, sortable: false }),
  ],
  relationships: define.belongsTo({ party: 'dyn_party', item: 'dyn_item' }),
});

const dynOrderHistory = define.referenceTable({
  name: 'dyn_order_history',
  label: 'Order history',
  description: 'Earlier orders of each customer, used by the platform to improve the accuracy of new orders.',
  fields: [
    define.string('party_id', { required: true, label: 'Party (its external id)' }),
    define.reference('item_id'),
    define.string('item_external_id'),
    define.reference('unit_code_id', { filterable: false, sortable: false }),
    define.decimal('quantity'),
    define.date('order_date'),
    define.plainString('order_number'),
  ],
  relationships: define.belongsTo({ party: 'dyn_party', item: 'dyn_item', unit_code: 'dyn_unit_code' }),
});

export const stockModel: readonly AssetType[] = [
  dynStockOrder,
  dynOrderLine,
  dynItem,
  define.dynParty,
  dynUnitCode,
  dynItemUnitsOfMeasure,
  dynPartyItems,
  dynOrderHistory,
];
