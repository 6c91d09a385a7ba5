/** The standard asset types of both order models (spec §1, §2.3). Names follow UBL (Consignment, GoodsItem, AllowanceCharge). */
import { ORDER_STATUSES } from '../order/events.js';
import { type AssetField, type AssetType, labelOf, type Relationship } from './assetType.js';
import type { FieldType } from './fieldTypes.js';

/** A field, the records that it refers to or that refer to this one, or both. */
type Column = { readonly field?: AssetField; readonly relationship?: Relationship };
type Columns = readonly Column[];
/** `to`: the table of the record that the field refers to, by its id or external id; `as`: the name of the relationship. */
type Options = Partial<AssetField> & { readonly to?: string; readonly as?: string };

const SEARCHED = { filterable: true, sortable: true };
const SHOWN = { filterable: false, sortable: false };
const REQUIRED = { required: true };

/** Makes fields alike, of names separated by spaces. */
const fields =
  (type: FieldType, search: typeof SHOWN) =>
  (names: string, { to, as, ...options }: Options = {}): Columns =>
    names.split(' ').map((name) => {
      const field = { name, label: labelOf(name), type, required: false, ...search, ...options };
      if (to === undefined) return { field };
      const key = options.format === 'uuid' ? 'id' : 'external_id';
      const kind = 'belongs_to';
      return { field, relationship: { name: as ?? name.slice(0, -3), kind, table: to, field: name, key } };
    });

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

/** The external id of a party. */
const party = (name: string, label: string, as?: string): Columns =>
  string(name, { label: `${label} (party's external id)`, to: 'dyn_party', ...(as && { as }) });
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
    uuid(field, { to: table, ...(table.endsWith('_order') && { as: 'order' }), ...REQUIRED }),
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
  decimal('accuracy', SEARCHED),
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
    party('buyer_customer_party_id', 'Buyer'),
    party('accounting_customer_party_id', 'Invoiced party'),
    CURRENCY,
    ORDER_STATE,
    hasMany('lines', 'dyn_order_line', 'order_id'),
  ]),
  partTable('dyn_stock_order', 'order_id', 'dyn_order_line', 'Order lines', 'All order line information.', [
    integer('line_number', { sortable: true }),
    uuid('item_id', { to: 'dyn_item' }),
    uuid('unit_code_id', { to: 'dyn_unit_code' }),
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
    uuid('base_unit_code_id', { to: 'dyn_unit_code', ...SHOWN }),
    plainString('category_id category_name product_id'),
    NET_WEIGHT,
    boolean('active'),
  ]),
  dynParty,
  codeTable('dyn_unit_code', 'Unit codes', 'Units of a product, such as box (UN/CEFACT Recommendation 20).', []),
  referenceTable('dyn_item_units_of_measure', 'Item units of measure', 'Palletization of items.', [
    uuid('item_id', { to: 'dyn_item', ...REQUIRED }),
    uuid('unit_code_id', { to: 'dyn_unit_code', ...REQUIRED }),
    decimal('quantity_per_unit', { label: 'Base units in one of this unit', ...REQUIRED }),
    integer('units_per_layer layers_per_pallet units_per_pallet'),
    GROSS_WEIGHT,
    SIZES,
    EAN,
  ]),
  referenceTable('dyn_party_items', 'Party items', 'Which products a customer may order.', [
    string('party_id', { label: 'Party (its external id)', to: 'dyn_party', ...REQUIRED }),
    uuid('item_id', { to: 'dyn_item', ...REQUIRED }),
    string('customer_item_code', { label: "Customer's own item code" }),
    boolean('active'),
    date('valid_from valid_until', SHOWN),
  ]),
  referenceTable('dyn_order_history', 'Order history', 'Earlier orders of each customer.', [
    string('party_id', { label: 'Party (its external id)', to: 'dyn_party', ...REQUIRED }),
    uuid('item_id', { to: 'dyn_item' }),
    string('item_external_id'),
    uuid('unit_code_id', { to: 'dyn_unit_code', ...SHOWN }),
    decimal('quantity'),
    date('order_date'),
    plainString('order_number'),
  ]),
];

/** When and where goods are loaded or unloaded. */
const stop = (name: 'loading' | 'unloading'): Columns =>
  [
    string(`${name}_location_id`, { label: `${name} location (its external id)`, to: 'dyn_location' }),
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
    party('buyer_customer_party_id', 'Client'),
    party('accounting_customer_party_id', 'Invoiced party'),
    ORDER_STATE,
    hasMany('consignments', 'dyn_consignment', 'transport_order_id'),
    hasMany('allowance_charges', 'dyn_allowance_charge', 'transport_order_id'),
  ]),
  partTable(...TRANSPORT_ORDER, 'dyn_consignment', 'Consignments', 'Loading and unloading information.', [
    string('consignment_reference'),
    party('consignor_party_id', 'Consignor', 'consignor'),
    party('consignee_party_id', 'Consignee', 'consignee'),
    stop('loading'),
    stop('unloading'),
    longText('notes'),
    hasMany('goods', 'dyn_goods', 'consignment_id'),
  ]),
  partTable('dyn_consignment', 'consignment_id', 'dyn_goods', 'Goods', 'Transported goods.', [
    string('product_name'),
    longText('description'),
    decimal('quantity', REQUIRED),
    uuid('packing_type_id', { to: 'dyn_packing_type' }),
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
    uuid('allowance_charge_reason_id', { to: 'dyn_allowance_charge_reason' }),
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
