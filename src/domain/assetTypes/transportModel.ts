/** The transport model's standard asset types (spec §1). Names follow UBL (Consignment, GoodsItem, AllowanceCharge). */
import type { AssetField, AssetType } from './assetType.js';
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

/** When and where goods are loaded or unloaded. */
const stopFields = (stop: 'loading' | 'unloading'): readonly AssetField[] => [
  string(`${stop}_location_id`, { label: `${stop} location (its external id)` }),
  date(`${stop}_date`),
  plainString(`${stop}_time_from`, { maxLength: 8 }),
  plainString(`${stop}_time_until`, { maxLength: 8 }),
  plainString(`${stop}_reference`),
  longText(`${stop}_notes`),
];

const dynTransportOrder = orderTable({
  name: 'dyn_transport_order',
  label: 'Transport orders',
  description: 'Transport information: overall notes, transport reference.',
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
    belongsToExternal('buyer_customer_party', 'dyn_party'),
    belongsToExternal('accounting_customer_party', 'dyn_party'),
    hasMany('consignments', 'dyn_consignment', 'transport_order_id'),
    hasMany('allowance_charges', 'dyn_allowance_charge', 'transport_order_id'),
  ],
});

const dynConsignment = orderTable({
  name: 'dyn_consignment',
  label: 'Consignments',
  description: 'Consignments of a transport: loading and unloading information.',
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
    belongsTo('order', 'dyn_transport_order', 'transport_order_id'),
    belongsTo('consignor', 'dyn_party', 'consignor_party_id', 'external_id'),
    belongsTo('consignee', 'dyn_party', 'consignee_party_id', 'external_id'),
    belongsToExternal('loading_location', 'dyn_location'),
    belongsToExternal('unloading_location', 'dyn_location'),
    hasMany('goods', 'dyn_goods', 'consignment_id'),
  ],
});

const dynGoods = orderTable({
  name: 'dyn_goods',
  label: 'Goods',
  description: 'Transported goods: product, measurements, weight, quantity.',
  parent: { field: 'consignment_id', table: 'dyn_consignment' },
  fields: [
    reference('consignment_id', { required: true }),
    string('product_name'),
    longText('description'),
    decimal('quantity', { required: true }),
    reference('packing_type_id'),
    decimal('gross_weight', { label: 'Gross weight (kg)' }),
    decimal('net_weight', { label: 'Net weight (kg)' }),
    ...sizeFields,
    decimal('volume', { label: 'Volume (m3)' }),
    decimal('loading_meters'),
    boolean('stackable'),
    plainString('un_number', { maxLength: 6, label: 'UN number (dangerous goods)' }),
  ],
  relationships: [belongsTo('consignment', 'dyn_consignment'), belongsTo('packing_type', 'dyn_packing_type')],
});

const dynAllowanceCharge = orderTable({
  name: 'dyn_allowance_charge',
  label: 'Allowances and charges',
  description: 'Charges related to a transport.',
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
    belongsTo('order', 'dyn_transport_order', 'transport_order_id'),
    belongsTo('allowance_charge_reason', 'dyn_allowance_charge_reason'),
  ],
});

const dynLocation = referenceTable({
  name: 'dyn_location',
  label: 'Locations',
  description: 'Address data: where goods are loaded and unloaded.',
  fields: [
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
});

const dynPackingType = codeTable({
  name: 'dyn_packing_type',
  label: 'Packing types',
  description: 'Packing types that can be transported, such as pallet or big bag.',
  fields: [...sizeFields, integer('max_stack')],
});

const dynAllowanceChargeReason = codeTable({
  name: 'dyn_allowance_charge_reason',
  label: 'Allowance and charge reasons',
  description: 'Kinds of allowance and charge, such as fuel or toll (UN/CEFACT 4465, 5189).',
  fields: [],
});

export const transportModel: readonly AssetType[] = [
  dynTransportOrder,
  dynConsignment,
  dynGoods,
  dynAllowanceCharge,
  dynParty,
  dynLocation,
  dynPackingType,
  dynAllowanceChargeReason,
];
