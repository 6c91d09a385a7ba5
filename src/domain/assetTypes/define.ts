/** Short forms in which the standard asset types are written as readable tables, and the parts that both order models share. */
import { ORDER_STATUSES } from '../order/events.js';
import { type AssetField, type AssetType, labelOf, type Relationship } from './assetType.js';
import type { FieldType } from './fieldTypes.js';

type Options = Partial<Omit<AssetField, 'name' | 'label' | 'type'>> & { readonly label?: string };

function field(type: FieldType, defaults: { filterable: boolean; sortable: boolean }) {
  return (name: string, options: Options = {}): AssetField => ({
    label: labelOf(name),
    required: false,
    ...defaults,
    ...options,
    name,
    type,
  });
}

/** Text that people search by: filterable and sortable. */
export const string = field('String', { filterable: true, sortable: true });
/** Text that is only shown. */
export const plainString = field('String', { filterable: false, sortable: false });
export const longText = field('LongText', { filterable: false, sortable: false });
export const integer = field('Integer', { filterable: false, sortable: false });
export const decimal = field('Decimal', { filterable: false, sortable: false });
export const date = field('Date', { filterable: true, sortable: true });
export const dateTime = field('DateTime', { filterable: true, sortable: true });
export const boolean = field('Boolean', { filterable: false, sortable: false });

/** The UUID of a record of another table. */
export const reference = (name: string, options: Options = {}): AssetField =>
  string(name, { ...options, format: 'uuid', maxLength: 36 });

/** Dimensions of goods and packing. */
export const sizeFields: readonly AssetField[] = ['length', 'width', 'height'].map((name) =>
  decimal(name, { label: `${labelOf(name)} (cm)` }),
);

/** Tables whose records are referred to by their external id; others by the id. */
const BY_EXTERNAL_ID: readonly string[] = ['dyn_party', 'dyn_location'];

/** The record that a field refers to, by the name of the relationship: its table, and the field if that is not `<name>_id`. */
export const belongsTo = (tables: {
  readonly [name: string]: string | readonly [table: string, field: string];
}): readonly Relationship[] =>
  Object.entries(tables).map(([name, to]) => {
    const [table, field] = typeof to === 'string' ? [to, `${name}_id`] : to;
    return { name, kind: 'belongs_to', table, field, key: BY_EXTERNAL_ID.includes(table) ? 'external_id' : 'id' };
  });

/** The records of `table` whose field refers to this one. */
export const hasMany = (name: string, table: string, field: string): Relationship => ({
  name,
  kind: 'has_many',
  table,
  field,
  key: 'id',
});

type Described = Pick<AssetType, 'name' | 'label' | 'description' | 'fields' | 'parent'> &
  Partial<Pick<AssetType, 'relationships'>>;

/** Master Data: the root of an order model, or a part of an order, which names its parent. */
export const orderTable = ({ fields, parent, relationships = [], ...described }: Described): AssetType => ({
  ...described,
  supportingData: false,
  ...(parent === undefined ? { role: 'order' } : { role: 'part', parent }),
  fields,
  relationships,
});

const referenceTableBy =
  (unique: AssetField, ...first: readonly AssetField[]) =>
  ({ fields, relationships = [], ...described }: Described): AssetType => ({
    ...described,
    supportingData: true,
    role: 'reference',
    uniqueField: unique.name,
    fields: [unique, ...first, ...fields],
    relationships,
  });

/** Reference Data with the unique field `external_id`. */
export const referenceTable = referenceTableBy(string('external_id', { required: true, label: 'External id' }));

/** Reference Data of codes and their meanings. */
export const codeTable = referenceTableBy(
  string('code', { required: true, maxLength: 32 }),
  string('value', { required: true }),
);

/** Status and approval. The service and the status update (spec §4.9) write them. */
export const orderStateFields: readonly AssetField[] = [
  string('processing_status', { oneOf: ORDER_STATUSES, maxLength: 32 }),
  longText('error_reason', { list: true }),
  dateTime('approved_at', { readOnly: true }),
  integer('approved_by', { readOnly: true }),
];

/** The parties that both kinds of orders name. */
export const orderParties = belongsTo({ buyer_customer_party: 'dyn_party', accounting_customer_party: 'dyn_party' });

export const orderHeadFields: readonly AssetField[] = [
  string('sales_order_id', { label: 'Sales order id' }),
  date('issue_date'),
  plainString('issue_time', { maxLength: 8 }),
  date('delivery_date'),
  longText('notes'),
  string('customer_reference'),
  decimal('accuracy'),
  reference('order_inquiry_id', { filterable: false, sortable: false }),
];

/** The one table that both models share (spec §1; fields of the party object, §2.3). */
export const dynParty = referenceTable({
  name: 'dyn_party',
  label: 'Parties',
  description: 'Customer information: buyers, invoiced parties, consignors and consignees.',
  fields: [
    string('account_id'),
    string('name', { required: true }),
    string('language', { maxLength: 10, filterable: false, sortable: false }),
    plainString('website_uri', { label: 'Website URI' }),
    plainString('street_name'),
    plainString('additional_street_name'),
    plainString('address_number'),
    string('city_name'),
    string('postal_zone', { maxLength: 20 }),
    string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' }),
    plainString('contact_name'),
    plainString('contact_telephone'),
    plainString('contact_email'),
    plainString('vat_number', { label: 'VAT number' }),
    longText('notes'),
    // Short names that integrations use in requests (spec §2.1), beside the UBL names.
    plainString('street'),
    plainString('city'),
  ],
});
