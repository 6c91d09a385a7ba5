/** The transport model's standard asset types (spec §1). Names follow UBL (Consignment, GoodsItem, AllowanceCharge). */
import type { AssetField, AssetType } from './assetType.js';
import { boolean, date, decimal, integer, longText, plainString, reference, string } from './define.js';
import { orderHeadFields, orderStateFields } from './orderFields.js';
import { dynParty } from './party.js';

/** When and where goods are loaded or unloaded. */
const stopFields = (stop: 'loading' | 'unloading'): readonly AssetField[] => [
  string(`${stop}_location_id`, { label: `${stop} location (its external id)` }),
  date(`${stop}_date`),
  plainString(`${stop}_time_from`, { maxLength: 8 }),
  plainString(`${stop}_time_until`, { maxLength: 8 }),
  plainString(`${stop}_reference`),
  longText(`${stop}_notes`),
];

const dynTransportOrder: AssetType = {
  name: 'dyn_transport_order',
  label: 'Transport orders',
  description: 'Transport information: overall notes, transport reference.',
  supportingData: false,
  role: 'order',
  fields: [
    ...orderHeadFields,
    string('transport_reference'),
    plainString('transport_mode', { maxLength: 32 }),
    plainString('incoterms', { maxLength: 3 }),
    string('buyer_customer_party_id', { label: "Client (party's external id)" }),
    string('accounting_customer_party_id', { label: "Invoiced party (party's external id)" }),
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
    { name: 'consignments', kind: 'has_many', table: 'dyn_consignment', field: 'transport_order_id', key: 'id' },
    {
      name: 'allowance_charges',
      kind: 'has_many',
      table: 'dyn_allowance_charge',
      field: 'transport_order_id',
      key: 'id',
    },
  ],
};

const dynConsignment: AssetType = {
  name: 'dyn_consignment',
  label: 'Consignments',
  description: 'Consignments of a transport: loading and unloading information.',
  supportingData: false,
  role: 'part',
  parent: { field: 'transport_order_id', table: 'dyn_transport_order' },
  fields: [
    reference('transport_order_id', { required: true }),
    string('consignment_reference'),
    string('consignor_party_id', { label: "Consignor (party's external id)" }),
    string('consignee_party_id', { label: "Consignee (party's external id)" }),
    ...stopFields('loading'),
    ...stopFields('unloading'),
    longText('notes'),
  ],
  relationships: [
    { name: 'order', kind: 'belongs_to', table: 'dyn_transport_order', field: 'transport_order_id', key: 'id' },
    { name: 'consignor', kind: 'belongs_to', table: 'dyn_party', field: 'consignor_party_id', key: 'external_id' },
    { name: 'consignee', kind: 'belongs_to', table: 'dyn_party', field: 'consignee_party_id', key: 'external_id' },
    {
      name: 'loading_location',
      kind: 'belongs_to',
      table: 'dyn_location',
      field: 'loading_location_id',
      key: 'external_id',
    },
    {
      name: 'unloading_location',
      kind: 'belongs_to',
      table: 'dyn_location',
      field: 'unloading_location_id',
      key: 'external_id',
    },
    { name: 'goods', kind: 'has_many', table: 'dyn_goods', field: 'consignment_id', key: 'id' },
  ],
};

const dynGoods: AssetType = {
  name: 'dyn_goods',
  label: 'Goods',
  description: 'Transported goods: product, measurements, weight, quantity.',
  supportingData: false,
  role: 'part',
  parent: { field: 'consignment_id', table: 'dyn_consignment' },
  fields: [
    reference('consignment_id', { required: true }),
    string('product_name'),
    longText('description'),
    decimal('quantity', { required: true }),
    reference('packing_type_id'),
    decimal('gross_weight', { label: 'Gross weight (kg)' }),
    decimal('net_weight', { label: 'Net weight (kg)' }),
    decimal('length', { label: 'Length (cm)' }),
    decimal('width', { label: 'Width (cm)' }),
    decimal('height', { label: 'Height (cm)' }),
    decimal('volume', { label: 'Volume (m3)' }),
    decimal('loading_meters'),
    boolean('stackable'),
    plainString('un_number', { maxLength: 6, label: 'UN number (dangerous goods)' }),
  ],
  relationships: [
    { name: 'consignment', kind: 'belongs_to', table: 'dyn_consignment', field: 'consignment_id', key: 'id' },
    { name: 'packing_type', kind: 'belongs_to', table: 'dyn_packing_type', field: 'packing_type_id', key: 'id' },
  ],
};

const dynAllowanceCharge: AssetType = {
  name: 'dyn_allowance_charge',
  label: 'Allowances and charges',
  description: 'Charges related to a transport.',
  supportingData: false,
  role: 'part',
  parent: { field: 'transport_order_id', table: 'dyn_transport_order' },
  fields: [
    reference('transport_order_id', { required: true }),
    boolean('charge_indicator', { required: true, label: 'Charge (true) or allowance (false)' }),
    reference('allowance_charge_reason_id'),
    decimal('amount', { required: true }),
    plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' }),
    longText('notes'),
  ],
  relationships: [
    { name: 'order', kind: 'belongs_to', table: 'dyn_transport_order', field: 'transport_order_id', key: 'id' },
    {
      name: 'allowance_charge_reason',
      kind: 'belongs_to',
      table: 'dyn_allowance_charge_reason',
      field: 'allowance_charge_reason_id',
      key: 'id',
    },
  ],
};

const dynLocation: AssetType = {
  name: 'dyn_location',
  label: 'Locations',
  description: 'Address data: where goods are loaded and unloaded.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  fields: [
    string('external_id', { required: true, label: 'External id' }),
    string('name', { required: true }),
    plainString('street_name'),
    plainString('address_number'),
    string('postal_zone', { maxLength: 20 }),
    string('city_name'),
    plainString('country_subentity', { label: 'Region' }),
    string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' }),
    decimal('latitude'),
    decimal('longitude'),
    plainString('contact_name'),
    plainString('contact_telephone'),
    plainString('opening_hours'),
    longText('notes'),
  ],
  relationships: [],
};

const codeTable = (name: string, label: string, description: string, more: readonly AssetField[] = []): AssetType => ({
  name,
  label,
  description,
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [string('code', { required: true, maxLength: 32 }), string('value', { required: true }), ...more],
  relationships: [],
});

export const transportModel: readonly AssetType[] = [
  dynTransportOrder,
  dynConsignment,
  dynGoods,
  dynAllowanceCharge,
  dynParty,
  dynLocation,
  codeTable('dyn_packing_type', 'Packing types', 'Packing types that can be transported, such as pallet or big bag.', [
    decimal('length', { label: 'Length (cm)' }),
    decimal('width', { label: 'Width (cm)' }),
    decimal('height', { label: 'Height (cm)' }),
    integer('max_stack'),
  ]),
  codeTable(
    'dyn_allowance_charge_reason',
    'Allowance and charge reasons',
    'Kinds of allowance and charge, such as fuel or toll (UN/CEFACT 4465, 5189).',
  ),
];
