/** What the document says of each table: tests that try every operation try it at each of them. */
import type { Json } from './apiDocument.js';
import { ASSETS, type TenantClient } from './tenant.js';

const SCHEMAS = '#/components/schemas/';

/** The tenant's documents for clients and for people as one. */
export async function wholeDocument(tenant: Pick<TenantClient, 'send'>): Promise<Json> {
  const [clients, people] = await Promise.all(
    ['clients', 'people'].map(
      async (audience) => (await tenant.send('GET', '/openapi.json', { query: { for: audience } })).body as Json,
    ),
  );
  const components = Object.keys(clients.components).map((kind) => [
    kind,
    { ...people.components[kind], ...clients.components[kind] },
  ]);
  const paths = { ...clients.paths, ...people.paths };
  return { ...clients, paths, components: Object.fromEntries(components) };
}

/** The same with a path for each table in place of `{table}`, and the table's own schemas, scope and filters. */
export function withTables(document: Json): Json {
  const paths: Json = {};
  for (const [path, { parameters, ...item }] of Object.entries<Json>(document.paths)) {
    if (!path.startsWith(`${ASSETS}/{table}`)) {
      paths[path] = document.paths[path];
      continue;
    }
    for (const [method, operation] of Object.entries<Json>(item)) {
      for (const table of tablesOf(document, operation)) {
        const ofTable = path.replace('{table}', table);
        paths[ofTable] ??= parameters === undefined ? {} : { parameters };
        paths[ofTable][method] = operationOf(document, operation, table, path.endsWith('/history'));
      }
    }
  }
  return { ...document, paths };
}

const isTable = (parameter: Json): boolean => parameter.name === 'table' && parameter.in === 'path';

function tablesOf({ components }: Json, { parameters }: Json): readonly string[] {
  const { $ref } = parameters.find(isTable).schema;
  return components.schemas[$ref.slice(SCHEMAS.length)].enum;
}

/** @param isHistory that of an order goes by page, that of another record by cursor */
function operationOf(document: Json, operation: Json, table: string, isHistory: boolean): Json {
  const { schemas } = document.components;
  const name = recordOf(schemas, table);
  const own: { readonly [generic: string]: string } = {
    AnyRecord: name,
    CreateInput: `Create${name}Input`,
    UpdateInput: `Update${name}Input`,
    BatchItem: `Batch${name}Item`,
  };
  const isGeneric = (schema: string): boolean => own[schema] !== undefined || reaches(schemas, schema, own);
  const made = (part: Json): Json => {
    if (Array.isArray(part)) return part.map(made);
    if (typeof part !== 'object' || part === null) return part;
    const schema = String(part.$ref).startsWith(SCHEMAS) ? part.$ref.slice(SCHEMAS.length) : '';
    if (own[schema] !== undefined) return { ...part, $ref: SCHEMAS + own[schema] };
    if (schema !== '' && isGeneric(schema)) return made(schemas[schema]);
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, made(value)]));
  };
  const { parameters, requestBody, security, responses, ...rest } = operation;
  const kind = schemas.ReferenceTableName.enum.includes(table) ? 'reference_data' : 'order_data';
  const scopes = security.filter(({ oauth2 }: Json) => oauth2 === undefined || oauth2[0].endsWith(kind));
  return {
    ...rest,
    security: scopes,
    parameters: parameters.filter(
      (each: Json) =>
        !isTable(each) &&
        hasField(schemas[name], each) &&
        (!isHistory || /^(?:page|perPage)$/.test(each.name) === schemas.OrderTableName.enum.includes(table)),
    ),
    ...(requestBody === undefined ? {} : { requestBody: made(requestBody) }),
    responses: made(responses),
  };
}

const hasField = ({ properties }: Json, { name = '' }: Json): boolean => {
  const [, field] = /^filter\[(\w+)\]/.exec(name) ?? [];
  return field === undefined || properties[field] !== undefined;
};

/** `DynOrderLine` of dyn_order_line. */
function recordOf(schemas: Json, table: string): string {
  const folded = (text: string) => text.replaceAll('_', '').toLowerCase();
  const found = Object.keys(schemas).find((name) => /^Dyn/.test(name) && folded(name) === folded(table));
  if (found === undefined) throw new Error(`The document has no schema of ${table}.`);
  return found;
}

/** Whether a schema refers, at any depth, to one that stands for that of any table. */
function reaches(schemas: Json, name: string, own: object, passed = new Set<string>()): boolean {
  if (passed.has(name)) return false;
  passed.add(name);
  const named = [...JSON.stringify(schemas[name] ?? {}).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    ([, each = '']) => each,
  );
  return named.some((each) => Object.hasOwn(own, each) || reaches(schemas, each, own, passed));
}
