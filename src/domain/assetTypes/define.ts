/** Short forms for writing the standard asset types down as tables one can read. */
import type { AssetField, AssetType, Relationship } from './assetType.js';
import type { FieldType } from './fieldTypes.js';

type Options = Partial<Omit<AssetField, 'name' | 'label' | 'type'>> & { readonly label?: string };

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

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

/** Text one looks things up by: filterable and sortable. */
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

/** Of what is packed or carried. */
export const sizeFields: readonly AssetField[] = ['length', 'width', 'height'].map((name) =>
  decimal(name, { label: `${labelOf(name)} (cm)` }),
);

/** The record of `table` that this table's field names, by its id unless told otherwise. */
export const belongsTo = (name: string, table: string, field = `${name}_id`, key = 'id'): Relationship => ({
  name,
  kind: 'belongs_to',
  table,
  field,
  key,
});

/** The party or location that `<name>_id` names by its external id. */
export const belongsToExternal = (name: string, table: string): Relationship =>
  belongsTo(name, table, `${name}_id`, 'external_id');

/** The records of `table` whose field names this one. */
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

/** Reference Data that `external_id` tells apart. */
export const referenceTable = referenceTableBy(string('external_id', { required: true, label: 'External id' }));

/** Reference Data of codes and what they stand for. */
export const codeTable = referenceTableBy(
  string('code', { required: true, maxLength: 32 }),
  string('value', { required: true }),
);
