/** How the document shows the operators of filters: one parameter for all, with an object for each field. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, type FieldType } from '../../domain/assetTypes/fieldTypes.js';
import { MAX_FILTER_VALUE_LENGTH } from '../../domain/limits.js';
import * as json from '../openapi/schema.js';
import { operatorsOf, TIMES } from './filters.js';

const text: json.JsonSchema = { type: 'string', maxLength: MAX_FILTER_VALUE_LENGTH };

const VALUES: { readonly [type in FieldType]: json.JsonSchema } = {
  String: text,
  LongText: text,
  Integer: { type: 'integer' },
  Decimal: { type: 'number' },
  Date: { type: 'string', format: 'date' },
  DateTime: { type: 'string', format: 'date-time' },
  Boolean: { type: 'boolean' },
};

const nameOf = (type: FieldType): string => `${type}Filter`;

const operatorsSchema = (type: FieldType): json.JsonSchema => ({
  type: 'object',
  properties: {
    ...Object.fromEntries(operatorsOf({ type }).map((operator) => [operator, VALUES[type]])),
    in: { type: 'string', minLength: 1, description: 'Several values, separated by commas; \\, is a comma in one.' },
    null: { type: 'boolean', description: 'true: it has no value; false: it has one.' },
  },
  additionalProperties: false,
});

/** What can be asked of a field of each type. */
export const filterSchemas: json.Schemas = Object.fromEntries(
  FIELD_TYPES.map((type) => [nameOf(type), operatorsSchema(type)]),
);

export function operatorsParameter({ fields }: AssetType): json.Parameter {
  const compared = [...TIMES, ...fields.filter(({ filterable, list }) => filterable && list !== true)];
  return {
    name: 'filter',
    in: 'query',
    style: 'deepObject',
    explode: true,
    description:
      'filter[<field>][<operator>]=<value> compares values of the type of the field: eq, ne, in (exactly), gt, gte, lt, lte (in the order of lists: text without regard to case), null (true or false). ne finds records without a value as well. All filters must hold.',
    schema: {
      type: 'object',
      properties: Object.fromEntries(compared.map(({ name, type }) => [name, json.ref(nameOf(type))])),
      additionalProperties: false,
    },
    example: { updated_at: { gte: '2026-11-21T00:00:00Z' } },
  };
}
