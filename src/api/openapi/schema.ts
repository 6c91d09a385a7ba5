/** Types of an OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.1), as far as used here, and short constructors. */
import { z } from 'zod';
import { closedObject, type JsonSchema } from '../../domain/assetTypes/outputSchema.js';

export { closedObject, type JsonSchema };

export type Parameter = {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

type MediaTypes = {
  readonly [mediaType: string]: { readonly schema: JsonSchema; readonly example?: unknown };
};

export type ResponseObject = {
  readonly description: string;
  readonly content?: MediaTypes;
};

export type Schemas = { readonly [name: string]: JsonSchema };

export const text: JsonSchema = { type: 'string' };
export const nullableText: JsonSchema = { type: ['string', 'null'] };
export const truth: JsonSchema = { type: 'boolean' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const uuid: JsonSchema = { type: 'string', format: 'uuid' };
export const link: JsonSchema = { type: 'string', format: 'uri' };
export const timestamp: JsonSchema = { type: 'string', format: 'date-time' };
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
export const oneOf = (values: readonly string[]): JsonSchema => ({ type: 'string', enum: values });
export const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** `dyn_order_line` becomes DynOrderLine. No two tables have one name: a letter in upper case is all that stands for `_`. */
const tableName = (table: string): string =>
  table.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Names of a table's schemas. Table names begin with `Dyn`, so the prefixes cannot cause a clash. */
export const tableSchemaName = {
  record: (table: string): string => tableName(table),
  create: (table: string): string => `Create${tableName(table)}Input`,
  update: (table: string): string => `Update${tableName(table)}Input`,
  batchItem: (table: string): string => `Batch${tableName(table)}Item`,
} as const;

export const tableRef = (kind: keyof typeof tableSchemaName, { name }: { readonly name: string }): JsonSchema =>
  ref(tableSchemaName[kind](name));

/**
 * How a value is shown: for each property its schema and its source. A schema alone shows the value's own property of the same
 * name in camel case, and null where it has none.
 */
type View<T extends object> = {
  readonly properties: Schemas;
  /** All properties are required. */
  readonly schema: JsonSchema;
  readonly show: (value: T) => { readonly [property: string]: unknown };
};

type Shown<T> = readonly [JsonSchema, (value: T) => unknown];
const hasSource = <T>(field: JsonSchema | Shown<T>): field is Shown<T> => Array.isArray(field);

export function view<T extends object>(fields: { readonly [property: string]: JsonSchema | Shown<T> }): View<T> {
  const entries = Object.entries(fields).map(([name, field]): readonly [string, Shown<T>] => {
    const source = name.replace(/_./g, ([, letter = '']) => letter.toUpperCase());
    return [name, hasSource(field) ? field : [field, (value) => Reflect.get(value, source) ?? null]];
  });
  const properties = Object.fromEntries(entries.map(([name, [schema]]) => [name, schema]));
  return {
    properties,
    schema: closedObject(properties),
    show: (value) => Object.fromEntries(entries.map(([name, [, read]]) => [name, read(value)])),
  };
}

/** With more properties. */
export const extended = ({ properties, ...schema }: JsonSchema, more: Schemas): JsonSchema => ({
  ...schema,
  properties: { ...Object(properties), ...more },
});

/** `{ data: … }` (spec §2.2). */
export const dataOf = (schema: JsonSchema): JsonSchema => closedObject({ data: schema });

/** A page of a list (spec §2.2). */
export const pageOf = (record: JsonSchema): JsonSchema =>
  closedObject({ data: listOf(record), links: ref('PageLinks'), meta: ref('PageMeta') });

export const jsonContent = (schema: JsonSchema, example?: unknown): MediaTypes => ({
  'application/json': { schema, example },
});

export const answer = (description: string, schema: JsonSchema): ResponseObject => ({
  description,
  content: jsonContent(schema),
});

export const one = (schema: string, description = 'Done.'): ResponseObject => answer(description, dataOf(ref(schema)));

/** A page of a list whose pages are linked one to the next. */
export const linkedPage = (entry: string, maxItems?: number): ResponseObject =>
  answer('One page.', linkedEntries(entry, maxItems));

export const linkedEntries = (entry: string, maxItems?: number): JsonSchema =>
  closedObject({
    data: { ...listOf(ref(entry)), maxItems },
    links: closedObject({ next: nullableText }),
  });

/** A short list, which is not paged. */
export const all = (schema: string): ResponseObject => answer('All there are.', dataOf(listOf(ref(schema))));

export const NO_CONTENT: ResponseObject = { description: 'Done.' };

/** Describes a body that is checked by a zod schema. */
export const bodyOf = (schema: z.ZodType, example: object) => ({ schema: inputSchema(schema), example });

/** These formats are clearer than the patterns that zod adds to them. */
const FORMATS_WITHOUT_PATTERN: readonly unknown[] = ['uuid', 'date', 'date-time', 'email'];

/** JSON Schema (2020-12) of a zod schema's input, before its transformations. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (FORMATS_WITHOUT_PATTERN.includes(jsonSchema.format)) delete jsonSchema.pattern;
    },
  });
  return json;
}
