/**
 * The filters of a list (spec §4.3), parsed and documented: `filter[<field>]=` for a part of a text, and
 * `filter[<field>][<operator>]=` for a typed value.
 */
import { ALWAYS_SORTABLE, type AssetField, type AssetType, findField } from '../../domain/assetTypes/assetType.js';
import { DECIMAL_TEXT, fieldRules, isHeldByDouble, Refusal } from '../../domain/assetTypes/fieldTypes.js';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import { MAX_FILTER_VALUES, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import { COMPARISONS, type Filter } from '../../queries/conditions.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';

const OPERATORS = ['eq', 'ne', ...COMPARISONS, 'in', 'null'] as const;
type Operator = (typeof OPERATORS)[number];

/** `filter[name]`; `filter[name][]` and `filter[name][0]` for several values; `filter[name][gte]`. */
const FILTER_NAME = /^filter\[([^[\]]+)\](?:\[(\d{0,4}|[a-z]+)\])?$/;

/** @throws HttpError 400 for a disallowed field, an unknown operator, a value of another type, or too many filters */
export function parseFilters(assetType: AssetType, parameters: URLSearchParams): readonly Filter[] {
  const parts = new Map<string, string[]>();
  const typed: Filter[] = [];
  for (const [name, value] of parameters) {
    if (!/^(filter|sort)(\[|$)/.test(name) || name === 'sort') continue;
    const [, field, bracket = ''] = FILTER_NAME.exec(name) ?? [];
    if (field === undefined)
      throw badRequest(`${quoted(name)} is malformed: write filter[<field>]=<value> and sort=<field>,-<field>.`);
    if (/[a-z]/.test(bracket)) {
      const compared = TIMES.find(({ name }) => name === field) ?? filterableField(assetType, field);
      typed.push(typedFilter(compared, operatorOf(field, bracket), value));
      continue;
    }
    filterableField(assetType, field);
    const anyOf = parts.get(field) ?? [];
    anyOf.push(...separated(`filter[${field}]`, value));
    parts.set(field, anyOf);
  }
  const filters = [...[...parts].map(([field, anyOf]): Filter => ({ kind: 'contains', field, anyOf })), ...typed];
  // Each value is compared with each record, so their sum has a limit.
  const count = filters.reduce((sum, filter) => sum + ('anyOf' in filter ? filter.anyOf.length : 1), 0);
  if (count > MAX_FILTER_VALUES) throw badRequest(`The filters have more than ${MAX_FILTER_VALUES} values in all.`);
  return filters;
}

/** @throws HttpError 400 */
function filterableField(assetType: AssetType, name: string): AssetField {
  const field = findField(assetType, name);
  if (field?.filterable === true) return field;
  const names = assetType.fields.filter(({ filterable }) => filterable).map((each) => each.name);
  const instead = TIMES.some((time) => time.name === name)
    ? `compare it, as with filter[${name}][gte].`
    : `it can be by ${[...names, ...ALWAYS_SORTABLE].join(', ')}.`;
  throw badRequest(`${assetType.name} cannot be filtered by ${quoted(name)}; ${instead}`);
}

type ComparedField = Pick<AssetField, 'name' | 'type' | 'format' | 'list'>;

/** Timestamps that every record has. */
const TIMES: readonly ComparedField[] = ALWAYS_SORTABLE.map((name) => ({ name, type: 'DateTime' }));

/** The operators of a field: booleans have no order, and a list has no single value. */
function operatorsOf({ type, list }: Pick<AssetField, 'type' | 'list'>): readonly Operator[] {
  if (list === true) return ['null'];
  return type === 'Boolean' ? ['eq', 'ne', 'in', 'null'] : OPERATORS;
}

function operatorOf(field: string, text: string): Operator {
  const operator = OPERATORS.find((each) => each === text);
  if (operator !== undefined) return operator;
  throw badRequest(
    `filter[${field}][${shownName(text)}] has an unknown operator; known ones are ${OPERATORS.join(', ')}.`,
  );
}

function typedFilter(compared: ComparedField, operator: Operator, text: string): Filter {
  const { name: field } = compared;
  const name = `filter[${field}][${operator}]`;
  const taken = operatorsOf(compared);
  if (!taken.includes(operator)) throw badRequest(`${name}: ${quoted(field)} takes ${taken.join(', ')}.`);
  if (operator === 'null') {
    if (text !== 'true' && text !== 'false') throw badRequest(`${name} must be true or false.`);
    return { kind: 'null', field, isNull: text === 'true' };
  }
  if (operator === 'in')
    return { kind: 'equals', field, anyOf: separated(name, text).map((each) => typedValue(name, compared, each)) };
  const value = typedValue(name, compared, checkedLength(name, text));
  if (operator === 'eq') return { kind: 'equals', field, anyOf: [value] };
  if (operator === 'ne') return { kind: 'differs', field, anyOf: [value] };
  return { kind: 'compares', field, is: operator, value: typeof value === 'boolean' ? Number(value) : value };
}

/** Converts to the field's type. @throws HttpError 400 */
function typedValue(name: string, { type, format }: ComparedField, text: string): string | number | boolean {
  const value = fieldRules(type).read(bodyValue(type, text), fieldRules(type).maxLength ?? 0);
  if (value instanceof Refusal) throw badRequest(`${name} ${value.message}`);
  if (typeof value === 'object') throw badRequest(`${name} has no value of its type.`);
  return format === 'uuid' && typeof value === 'string' ? value.toLowerCase() : value;
}

/** Converts a text of the URL to the value that a JSON body would have. */
function bodyValue(type: AssetField['type'], text: string): string | number | boolean {
  if (type === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true';
  // What a double does not hold is refused as the text that it is.
  return type === 'Integer' && DECIMAL_TEXT.test(text) && isHeldByDouble(text) ? Number(text) : text;
}

/** Splits at commas; `\,` is a literal comma. An empty value would match everything, so it is refused. */
function separated(name: string, text: string): readonly string[] {
  const values = splitAtCommas(text).filter((value) => value !== '');
  if (values.length === 0) throw badRequest(`${name} has an empty value.`);
  return values.map((value) => checkedLength(name, value));
}

/** @throws HttpError 400 */
export function checkedLength(name: string, value: string): string {
  // Counts characters as fields do: a surrogate pair is one.
  if (value.length > MAX_STRING_LENGTH && [...value].length > MAX_STRING_LENGTH) {
    throw badRequest(`${name} has a value of more than ${MAX_STRING_LENGTH} characters.`);
  }
  return value;
}

const splitAtCommas = (text: string): string[] => text.split(/(?<!\\),/).map((piece) => piece.replaceAll('\\,', ','));

export const quoted = (name: string): string => JSON.stringify(shownName(name));

export const FILTERS_TEXT =
  'filter[<field>] finds the records whose field contains the value, without regard to case; of several values, separated by commas, one must match. filter[<field>][<operator>] compares with a value of the type of the field: eq, ne, in (exactly), gt, gte, lt, lte (in the order of lists), null (true or false). Filters are combined by AND. The parameters name the fields of all tables; the info of a table says which of them it has.';

/** Components of filters. */
export const filterSchemas: json.Schemas = { DateTimeFilter: json.inputSchema(dateTime) };

/**
 * One parameter for each field of the tables and for the most usual operators. Not one object for all: generators of clients
 * send objects in three ways, two of them wrong.
 */
export function filterParameters(tables: readonly AssetType[]): readonly json.Parameter[] {
  const fields = new Map(
    tables.flatMap((table) => table.fields.filter((each) => each.filterable)).map((each) => [each.name, each]),
  );
  const text: json.JsonSchema = { type: 'string', minLength: 1 };
  const times = TIMES.flatMap(({ name }) =>
    COMPARISONS.map((operator) => filterParameter(`[${name}][${operator}]`, json.ref('DateTimeFilter'))),
  );
  const named = [...fields.values()].flatMap(({ name, type, list }) => [
    filterParameter(`[${name}]`, text),
    // A text may equal the empty one.
    ...(list === true ? [] : [filterParameter(`[${name}][eq]`, { type: 'string' })]),
    ...(fieldRules(type).isRanged
      ? [filterParameter(`[${name}][gte]`, text), filterParameter(`[${name}][lte]`, text)]
      : []),
  ]);
  return [...times, ...named];
}

const filterParameter = (name: string, schema: json.JsonSchema): json.Parameter => ({
  name: `filter${name}`,
  in: 'query',
  schema,
});

/** For people, whose tables the document does not name. */
export const anyFilter: json.Parameter = {
  name: 'filter',
  in: 'query',
  style: 'deepObject',
  explode: true,
  description: 'As for API clients, by the fields of the table.',
  schema: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
};
