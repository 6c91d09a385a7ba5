/** The standard asset types of both order models (spec §1, §2.3). Names follow UBL (Consignment, GoodsItem, AllowanceCharge). */
import { ORDER_STATUSES } from '../order/events.js';
import { type AssetField, type AssetType, labelOf, type Relationship } from './assetType.js';
import type { FieldType } from './fieldTypes.js';

/** A field, the records that it refers to or that refer to this one, or both. */
type Column = { readonly field?: AssetField; readonly relationship?: Relationship };
type Columns = readonly Column[];
type Options = Partial<AssetField>;

const SEARCHED = { filterable: true, sortable: true };
const SHOWN = { filterable: false, sortable: false };
const REQUIRED = { required: true };

/** Makes fields alike, of names separated by spaces. */
const fields =
  (type: FieldType, search: typeof SHOWN) =>
  (names: string, options: Options = {}): Columns =>
    names
      .split(' ')
      .map((name) => ({ field: { name, label: labelOf(name), type, required: false, ...search, ...options } }));

/** Text that people search by. */
export const string = fields('String', SEARCHED);
/** Text that is only shown. */
export const plainString = fields('String', SHOWN);
export const longText = fields('LongText', SHOWN);
export const integer = fields('Integer', SHOWN);
export const dateTime = fields('DateTime', SEARCHED);
const decimal = fields('Decimal', SHOWN);
const date = fields('Date', SEARCHED);
const boolean = fields('Boolean', SHOWN);

/** The UUID of a record of another table. */
const uuid = (name: string, options: Options = {}): Columns =>
  string(name, { ...options, format: 'uuid', maxLength: 36 });

const refersTo = (table: string, key: string, field: string, name = field.replace(/_id$/, '')): Column => ({
  relationship: { name, kind: 'belongs_to', table, field, key },
});
const idOf = (table: string, field: string, options?: Options, name?: string): Columns => [
  ...uuid(field, options),
  refersTo(table, 'id', field, name),
];
const keyOf = (table: string, field: string, label: string, options?: Options, name?: string): Columns => [
  ...string(field, { label, ...options }),
  refersTo(table, 'external_id', field, name),
];
const partyOf = (name: string, label: string, field = `${name}_id`): Columns =>
  keyOf('dyn_party', field, `${label} (party's external id)`, {}, name);
/** The records of `table` whose field refers to this one. */
const hasMany = (name: string, table: string, field: string): Columns => [
  { relationship: { name, kind: 'has_many', table, field, key: 'id' } },
];

type Rest = Pick<AssetType, 'supportingData' | 'role' | 'uniqueField'>;

export const tableOf =
  (rest: Rest, first: readonly Columns[] = []) =>
  (name: string, label: string, description: string, others: readonly Columns[]): AssetType => {
    const all = [...first, ...others].flat();
    const relationships = all.flatMap(({ relationship = [] }) => relationship);
    return { name, label, description, ...rest, fields: all.flatMap(({ field = [] }) => field), relationships };
  };

/** Master Data: the root of an order model. */
const orderTable = tableOf({ supportingData: false, role: 'order' });

/** Master Data: a part of an order, which names its parent: the order as `order`. */
const partTable = (table: string, field: string, ...rest: Parameters<typeof orderTable>): AssetType => ({
  ...tableOf({ supportingData: false, role: 'part' }, [
    idOf(table, field, REQUIRED, table.endsWith('_order') ? 'order' : undefined),
  ])(...rest),
  parent: { field, table },
});

const referenceTable = tableOf({ supportingData: true, role: 'reference', uniqueField: 'external_id' }, [
  string('external_id', REQUIRED),
]);
/** Reference Data of codes and their meanings. */
const codeTable = tableOf({ supportingData: true, role: 'reference', uniqueField: 'code' }, [
  string('code', { maxLength: 32, ...REQUIRED }),
  string('value', REQUIRED),
]);

const SIZES = ['length', 'width', 'height'].flatMap((name) => decimal(name, { label: `${labelOf(name)} (cm)` }));
const GROSS_WEIGHT = decimal('gross_weight', { label: 'Gross weight (kg)' });
const NET_WEIGHT = decimal('net_weight', { label: 'Net weight (kg)' });
const EAN = string('ean', { maxLength: 14, label: 'EAN / GTIN' });
const CURRENCY = plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' });
const POSTAL_ZONE = string('postal_zone', { maxLength: 20 });
const COUNTRY = string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' });

const ORDER_HEAD: Columns = [
  string('sales_order_id'),
  date('issue_date'),
  plainString('issue_time', { maxLength: 8 }),
  date('delivery_date'),
  longText('notes'),
  string('customer_reference'),
  decimal('accuracy'),
  uuid('order_inquiry_id', SHOWN),
].flat();

/** Status and approval. The service and the status update (spec §4.9) write them. */
const ORDER_STATE: Columns = [
  string('processing_status', { oneOf: ORDER_STATUSES, maxLength: 32 }),
  longText('error_reason', { list: true }),
  dateTime('approved_at', { readOnly: true }),
  integer('approved_by', { readOnly: true }),
].flat();

/** In both models (spec §2.3). */
export const dynParty = referenceTable('dyn_party', 'Parties', 'Customer information.', [
  string('account_id'),
  string('name', REQUIRED),
  plainString('language', { maxLength: 10 }),
  plainString('website_uri', { label: 'Website URI' }),
  plainString('street_name additional_street_name address_number'),
  string('city_name'),
  POSTAL_ZONE,
  COUNTRY,
  plainString('contact_name contact_telephone contact_email'),
  plainString('vat_number', { label: 'VAT number' }),
  longText('notes'),
  // Short names that integrations use in requests (spec §2.1), beside the UBL names.
  plainString('street city'),
]);

export const stockModel: readonly AssetType[] = [
  orderTable('dyn_stock_order', 'Stock orders', 'All order information.', [
    ORDER_HEAD,
    partyOf('buyer_customer_party', 'Buyer'),
    partyOf('accounting_customer_party', 'Invoiced party'),
    CURRENCY,
    ORDER_STATE,
    hasMany('lines', 'dyn_order_line', 'order_id'),
  ]),
  partTable('dyn_stock_order', 'order_id', 'dyn_order_line', 'Order lines', 'All order line information.', [
    integer('line_number', { sortable: true }),
    idOf('dyn_item', 'item_id'),
    idOf('dyn_unit_code', 'unit_code_id'),
    decimal('quantity', REQUIRED),
    decimal('unit_price'),
    longText('description'),
    date('delivery_date'),
  ]),
  referenceTable('dyn_item', 'Items', 'Product information.', [
    string('name', REQUIRED),
    longText('description'),
    string('brand_name'),
    string('sku', { label: 'SKU' }),
    EAN,
    idOf('dyn_unit_code', 'base_unit_code_id', SHOWN),
    plainString('category_id category_name product_id'),
    NET_WEIGHT,
    boolean('active'),
  ]),
  dynParty,
  codeTable('dyn_unit_code', 'Unit codes', 'Units of a product, such as box (UN/CEFACT Recommendation 20).', []),
  referenceTable('dyn_item_units_of_measure', 'Item units of measure', 'Palletization of items.', [
    idOf('dyn_item', 'item_id', REQUIRED),
    idOf('dyn_unit_code', 'unit_code_id', REQUIRED),
    decimal('quantity_per_unit', { label: 'Base units in one of this unit', ...REQUIRED }),
    integer('units_per_layer layers_per_pallet units_per_pallet'),
    GROSS_WEIGHT,
    SIZES,
    EAN,
  ]),
  referenceTable('dyn_party_items', 'Party items', 'Which products a customer may order.', [
    keyOf('dyn_party', 'party_id', 'Party (its external id)', REQUIRED),
    idOf('dyn_item', 'item_id', REQUIRED),
    string('customer_item_code', { label: "Customer's own item code" }),
    boolean('active'),
    date('valid_from valid_until', SHOWN),
  ]),
  referenceTable('dyn_order_history', 'Order history', 'Earlier orders of each customer.', [
    keyOf('dyn_party', 'party_id', 'Party (its external id)', REQUIRED),
    idOf('dyn_item', 'item_id'),
    string('item_external_id'),
    idOf('dyn_unit_code', 'unit_code_id', SHOWN),
    decimal('quantity'),
    date('order_date'),
    plainString('order_number'),
  ]),
];

/** When and where goods are loaded or unloaded. */
const stop = (name: 'loading' | 'unloading'): Columns =>
  [
    keyOf('dyn_location', `${name}_location_id`, `${name} location (its external id)`),
    date(`${name}_date`),
    plainString(`${name}_time_from ${name}_time_until`, { maxLength: 8 }),
    plainString(`${name}_reference`),
    longText(`${name}_notes`),
  ].flat();

const TRANSPORT_ORDER = ['dyn_transport_order', 'transport_order_id'] as const;

export const transportModel: readonly AssetType[] = [
  orderTable('dyn_transport_order', 'Transport orders', 'Transport information.', [
    ORDER_HEAD,
    string('transport_reference'),
    plainString('transport_mode', { maxLength: 32 }),
    plainString('incoterms', { maxLength: 3 }),
    partyOf('buyer_customer_party', 'Client'),
    partyOf('accounting_customer_party', 'Invoiced party'),
    ORDER_STATE,
    hasMany('consignments', 'dyn_consignment', 'transport_order_id'),
    hasMany('allowance_charges', 'dyn_allowance_charge', 'transport_order_id'),
  ]),
  partTable(...TRANSPORT_ORDER, 'dyn_consignment', 'Consignments', 'Loading and unloading information.', [
    string('consignment_reference'),
    partyOf('consignor', 'Consignor', 'consignor_party_id'),
    partyOf('consignee', 'Consignee', 'consignee_party_id'),
    stop('loading'),
    stop('unloading'),
    longText('notes'),
    hasMany('goods', 'dyn_goods', 'consignment_id'),
  ]),
  partTable('dyn_consignment', 'consignment_id', 'dyn_goods', 'Goods', 'Transported goods.', [
    string('product_name'),
    longText('description'),
    decimal('quantity', REQUIRED),
    idOf('dyn_packing_type', 'packing_type_id'),
    GROSS_WEIGHT,
    NET_WEIGHT,
    SIZES,
    decimal('volume', { label: 'Volume (m3)' }),
    decimal('loading_meters'),
    boolean('stackable'),
    plainString('un_number', { maxLength: 6, label: 'UN number (dangerous goods)' }),
  ]),
  partTable(...TRANSPORT_ORDER, 'dyn_allowance_charge', 'Allowances and charges', 'Charges related to a transport.', [
    boolean('charge_indicator', { label: 'Charge (true) or allowance (false)', ...REQUIRED }),
    idOf('dyn_allowance_charge_reason', 'allowance_charge_reason_id'),
    decimal('amount', REQUIRED),
    CURRENCY,
    longText('notes'),
  ]),
  dynParty,
  referenceTable('dyn_location', 'Locations', 'Address data: where goods are loaded and unloaded.', [
    string('name', REQUIRED),
    plainString('street_name address_number'),
    POSTAL_ZONE,
    string('city_name'),
    plainString('country_subentity', { label: 'Region' }),
    COUNTRY,
    decimal('latitude longitude'),
    plainString('contact_name contact_telephone opening_hours'),
    longText('notes'),
  ]),
  codeTable('dyn_packing_type', 'Packing types', 'Packing types that can be transported, such as pallets.', [
    SIZES,
    integer('max_stack'),
  ]),
  codeTable(
    'dyn_allowance_charge_reason',
    'Charge reasons',
    'Kinds of charge, such as fuel (UN/CEFACT 4465, 5189).',
    [],
  ),
];
