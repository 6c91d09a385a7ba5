/** Documents the filters: a parameter for each field, with its operators. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, type FieldType } from '../../domain/assetTypes/fieldTypes.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
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
  DateTime: json.inputSchema(dateTime),
  Boolean: { type: 'boolean' },
};

/** As far as a pattern can say it. Not \\d, which some engines match with the digits of all scripts. */
const ANY_LIST = '[^,]';
const listOf = (value: string): string => `^${value}(,${value})*$`;
const LISTS: { readonly [type in FieldType]: string } = {
  String: ANY_LIST,
  LongText: ANY_LIST,
  Integer: listOf('-?[0-9]{1,16}'),
  Decimal: ANY_LIST,
  Date: listOf('[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'),
  DateTime: ANY_LIST,
  Boolean: listOf('(true|false)'),
};

const OPERATORS_TEXT =
  'Values of the type of the field are compared: eq, ne, in (exactly), gt, gte, lt, lte (in the order of lists: text without regard to case), null (true or false). ne finds records without a value as well.';
const PART: json.JsonSchema = { type: 'string', minLength: 1 };
const PART_TEXT = 'Contains this, without regard to case; of several values, separated by commas, one must match.';

const nameOf = (type: FieldType): string => `${type}Filter`;

const operatorsSchema = (type: FieldType): json.JsonSchema => ({
  type: 'object',
  description: OPERATORS_TEXT,
  properties: {
    ...Object.fromEntries(operatorsOf({ type }).map((operator) => [operator, VALUES[type]])),
    in: {
      type: 'string',
      pattern: LISTS[type],
      description: 'Several values, separated by commas; \\, is a comma in one.',
    },
    null: { type: 'boolean', description: 'true: it has no value; false: it has one.' },
  },
  additionalProperties: false,
});

/** The filters of each field type. */
export const filterSchemas: json.Schemas = Object.fromEntries(
  FIELD_TYPES.map((type) => [nameOf(type), operatorsSchema(type)]),
);

/**
 * A parameter for each field. Its properties are the operators, one level deep as OpenAPI defines it: generated clients
 * send `{ gte: … }` as `filter[<field>][gte]=…`.
 */
export function filterParameters({ fields }: AssetType): readonly json.Parameter[] {
  const times = TIMES.map(({ name, type }) => ({
    ...filterParameter(name, 'Compared, as by [gte].', json.ref(nameOf(type))),
    example: { gte: '2026-11-21T00:00:00Z' },
  }));
  const others = fields.filter(({ filterable }) => filterable);
  return [
    ...times,
    ...others.map(({ name, label, type, list }) =>
      list === true
        ? filterParameter(name, `${label}. ${PART_TEXT}`, PART)
        : filterParameter(name, `${label}. ${PART_TEXT} Or compared, as by [gte].`, {
            anyOf: [PART, json.ref(nameOf(type))],
          }),
    ),
  ];
}

const filterParameter = (field: string, description: string, schema: json.JsonSchema): json.Parameter => ({
  name: `filter[${field}]`,
  in: 'query',
  style: 'deepObject',
  explode: true,
  description,
  schema,
});

/** For any table; the table's info says which fields can be filtered. */
export const anyFilter: json.Parameter = {
  name: 'filter',
  in: 'query',
  style: 'deepObject',
  explode: true,
  description: 'As for API clients, by the fields of the table.',
  schema: { type: 'object', additionalProperties: PART },
};
