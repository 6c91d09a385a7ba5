/**
 * Names the schemas nested in others. Generators of clients name types by `components.schemas`, or else by a property
 * or title plus a number; so every nested object and enumeration gets a name.
 */
import { isObject, type JsonSchema, ref, type Schemas } from './schema.js';

/** The schema under its name, and its nested schemas under names of their own. Titles become descriptions. */
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

/** Table names begin with Dyn: a field of one table must not get the name of another. */
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
