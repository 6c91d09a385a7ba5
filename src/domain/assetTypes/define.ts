/** Short forms for writing the standard asset types down as tables one can read. */
import type { AssetField } from './assetType.js';
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
