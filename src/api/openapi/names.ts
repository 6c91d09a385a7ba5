/**
 * Names of what stands within a schema. Generators of clients call a type by its name in `components.schemas`, or else by a
 * property or a title, with numbers behind it where another has that too: so every object and every list of values gets one.
 */
import { isObject, type JsonSchema, ref, type Schemas } from './schema.js';

/** A schema under its name, and beside it what stands within, under names of their own. Titles become descriptions. */
export function named(name: string, schema: JsonSchema): Schemas {
  const nested: Record<string, JsonSchema> = {};
  return { [name]: namedSchema(name, schema, nested), ...nested };
}

function namedSchema(name: string, { title, ...schema }: JsonSchema, nested: Record<string, JsonSchema>): JsonSchema {
  const texts = [title, schema.description].filter((text) => typeof text === 'string' && text !== '');
  const parts = Object.entries(schema).map(([keyword, value]) => [keyword, inKeyword(name, keyword, value, nested)]);
  return { ...Object.fromEntries(parts), ...(texts.length === 0 ? {} : { description: texts.join('. ') }) };
}

function inKeyword(name: string, keyword: string, value: unknown, nested: Record<string, JsonSchema>): unknown {
  if (keyword === 'anyOf' && Array.isArray(value)) return value.map((each) => part(name, each, nested));
  if (!isObject(value)) return value;
  if (keyword === 'items') return part(`${name}Item`, value, nested);
  if (keyword === 'additionalProperties') return part(`${name}Value`, value, nested);
  if (keyword !== 'properties') return value;
  const properties = Object.entries(value).map(([field, each]) => [field, part(partName(name, field), each, nested)]);
  return Object.fromEntries(properties);
}

/** Tables have names that begin with Dyn: a field of one must not get the name of another. */
function partName(owner: string, field: string): string {
  const words = field.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return owner.startsWith('Dyn') ? `${words.join('')}Of${owner}` : owner + words.join('');
}

function part(name: string, schema: unknown, nested: Record<string, JsonSchema>): unknown {
  if (!isObject(schema)) return schema;
  if (schema.properties === undefined && schema.enum === undefined) return namedSchema(name, schema, nested);
  const { description, ...rest } = namedSchema(name, schema, nested);
  nested[name] = rest;
  return { ...ref(name), ...(description === undefined ? {} : { description }) };
}
