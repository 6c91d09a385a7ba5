/** A value of each field type, for examples in descriptions. */
import type { FieldType, FieldValue } from './fieldTypes.js';

export const EXAMPLE_TIME = '2026-11-21T03:11:47.123456Z';

export const EXAMPLE_VALUES: { readonly [type in FieldType]: FieldValue } = {
  String: 'text',
  LongText: 'A longer text.',
  Integer: 12,
  Decimal: 12.5,
  Date: '2026-11-21',
  DateTime: EXAMPLE_TIME,
  Boolean: true,
};
