/** The transport model's standard asset types (spec §1). Names follow UBL (Consignment, GoodsItem, AllowanceCharge). */
import type { AssetField, AssetType } from './assetType.js';
import * as define from './define.js';

/** When and where goods are loaded or unloaded. */
const stopFields = (stop: 'loading' | 'unloading'): readonly AssetField[] => [
  define.string(`${stop}_location_id`, { label: `${stop} location (its external id)` }),
  define.date(`${stop}_date`),
  define.plainString(`${stop}_time_from`, { maxLength: 8 }),
  define.plainString(`${stop}_time_until`, { maxLength: 8 }),
  define.plainString(`${stop}_reference`),
  define.longText(`${stop}_notes`),
];

const dynTransportOrder = define.orderTable({
  name: 'dyn_transport_order',
  label: 'Transport orders',
  description: 'Transport information: overall notes, transport reference.',
  fields: [
    ...define.orderHeadFields,
    define.string('transport_reference'),
    define.plainString('transport_mode', { maxLength: 32 }),
    define.plainString('incoterms', { maxLength: 3 }),
    define.string('buyer_customer_party_id', { label: "Client (party's external id)" }),
    define.string('accounting_customer_party_id', { label: "Invoiced party (party's external id)" }),
    ...define.orderStateFields,
  ],
  relationships: [
    ...define.orderParties,
    define.hasMany('consignments', 'dyn_consignment', 'transport_order_id'),
    define.hasMany('allowance_charges', 'dyn_allowance_charge', 'transport_order_id'),
  ],
});

const dynConsignment = define.orderTable({
  name: 'dyn_consignment',
  label: 'Consignments',
  description: 'Consignments of a transport: loading and unloading information.',
  parent: { field: 'transport_order_id', table: 'dyn_transport_order' },
  fields: [
    define.reference('transport_order_id', { required: true }),
    define.string('consignment_reference'),
    define.string('consignor_party_id', { label: "Consignor (party's external id)" }),
    define.string('consignee_party_id', { label: "Consignee (party's external id)" }),
    ...stopFields('loading'),
    ...stopFields('unloading'),
    define.longText('notes'),
  ],
  relationships: [
    ...define.belongsTo({
      order: ['dyn_transport_order', 'transport_order_id'],
      consignor: ['dyn_party', 'consignor_party_id'],
      consignee: ['dyn_party', 'consignee_party_id'],
      loading_location: 'dyn_location',
      unloading_location: 'dyn_location',
    }),
    define.hasMany('goods', 'dyn_goods', 'consignment_id'),
  ],
});

const dynGoods = define.orderTable({
  name: 'dyn_goods',
  label: 'Goods',
  description: 'Transported goods: product, measurements, weight, quantity.',
  parent: { field: 'consignment_id', table: 'dyn_consignment' },
  fields: [
    define.reference('consignment_id', { required: true }),
    define.string('product_name'),
    define.longText('description'),
    define.decimal('quantity', { required: true }),
    define.reference('packing_type_id'),
    define.decimal('gross_weight', { label: 'Gross weight (kg)' }),
    define.decimal('net_weight', { label: 'Net weight (kg)' }),
    ...define.sizeFields,
    define.decimal('volume', { label: 'Volume (m3)' }),
    define.decimal('loading_meters'),
    define.boolean('stackable'),
    define.plainString('un_number', { maxLength: 6, label: 'UN number (dangerous goods)' }),
  ],
  relationships: define.belongsTo({ consignment: 'dyn_consignment', packing_type: 'dyn_packing_type' }),
});

const dynAllowanceCharge = define.orderTable({
  name: 'dyn_allowance_charge',
  label: 'Allowances and charges',
  description: 'Charges related to a transport.',
  parent: { field: 'transport_order_id', table: 'dyn_transport_order' },
  fields: [
    define.reference('transport_order_id', { required: true }),
    define.boolean('charge_indicator', { required: true, label: 'Charge (true) or allowance (false)' }),
    define.reference('allowance_charge_reason_id'),
    define.decimal('amount', { required: true }),
    define.plainString('currency_code', { maxLength: 3, label: 'Currency (ISO 4217)' }),
    define.longText('notes'),
  ],
  relationships: define.belongsTo({
    order: ['dyn_transport_order', 'transport_order_id'],
    allowance_charge_reason: 'dyn_allowance_charge_reason',
  }),
});

const dynLocation = define.referenceTable({
  name: 'dyn_location',
  label: 'Locations',
  description: 'Address data: where goods are loaded and unloaded.',
  fields: [
    define.string('name', { required: true }),
    define.plainString('street_name'),
    define.plainString('address_number'),
    define.string('postal_zone', { maxLength: 20 }),
    define.string('city_name'),
    define.plainString('country_subentity', { label: 'Region' }),
    define.string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' }),
    define.decimal('latitude'),
    define.decimal('longitude'),
    define.plainString('contact_name'),
    define.plainString('contact_telephone'),
    define.plainString('opening_hours'),
    define.longText('notes'),
  ],
});

const dynPackingType = define.codeTable({
  name: 'dyn_packing_type',
  label: 'Packing types',
  description: 'Packing types that can be transported, such as pallet or big bag.',
  fields: [...define.sizeFields, define.integer('max_stack')],
});

const dynAllowanceChargeReason = define.codeTable({
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
  define.dynParty,
  dynLocation,
  dynPackingType,
  dynAllowanceChargeReason,
];
