/**
 * Builds a tenant's OpenAPI 3.1 document from the route table and the tenant's tables: paths with the table as a parameter, and
 * the schemas of each table.
 */
import { readFileSync } from 'node:fs';
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordInputSchema, recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { OrderModel } from '../../domain/identity/events.js';
import { AUDIT_SCOPE, DATA_SCOPES, isOfPeople, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { standardTables, type Tables } from '../../domain/identity/tenantTables.js';
import { IDEMPOTENCY_KEY_HOURS, MAX_OPENAPI_BYTES } from '../../domain/limits.js';
import { authenticateClient, authenticateUser, sessionTokenIn } from '../auth/principal.js';
import type { Api, Audience, Described } from '../deps.js';
import { badRequest, HttpError } from '../errors.js';
import { limitNetwork } from '../rateLimit.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type Call,
  type Operation,
  type PerTable,
  permissionOn,
  type RequestHeader,
  type Resource,
  type Route,
  routesOf,
  TABLE_KINDS,
} from '../routes/operation.js';
import { isLocalProgram, isOperatorHost, requestHost, requestOrigin, resolveTenant } from '../tenantHost.js';
import {
  answer,
  closedObject,
  type JsonSchema,
  jsonContent,
  listOf,
  oneOf,
  type Parameter,
  type ResponseObject,
  ref,
  type Schemas,
  tableRef,
  tableSchemaName,
  text,
} from './schema.js';

const SCOPE_TEXTS: { readonly [scope in Scope]: string } = {
  'read:reference_data': 'Read Reference Data',
  'write:reference_data': 'Write Reference Data',
  'read:order_data': 'Read order Master Data',
  'write:order_data': 'Write order Master Data, status updates included',
  'read:audit': 'Read everything of the tenant, activity included, and change nothing',
};

const errorSchema: JsonSchema = {
  ...closedObject({
    message: { ...text, description: 'What is wrong; of a 422 the first of the messages.' },
    error: { ...text, description: 'Why, or what to do about it; of a 500 the id of the request.' },
    errors: {
      type: 'object',
      description: 'Of a 422: messages by field; of a batch by `items` or `items.<index>.<field>`.',
      additionalProperties: { ...listOf(text), minItems: 1 },
    },
    error_description: { ...text, description: 'At the token endpoint (RFC 6749 §5.2), where `error` is a code.' },
  }),
  required: ['message'],
};

const ERRORS =
  '400 bad request, 401 no valid token, 403 a scope or role is missing, 404 nothing is there, 405 no such method, 409 its state does not allow this, 412 changed since the ETag of If-Match, 413 too large, 415 not JSON, 422 invalid (nothing was stored), 429 too many requests, 500 the service failed, 503 try again (`error` says whether a change may have been written), 507 a quota is used up.';

/** Making a document takes some 10 ms. */
const CACHE_BYTES = 32_000_000;
type Finished = { readonly tables: Tables; readonly json: string };
const STANDARD: { readonly [model in OrderModel]: Tables } = {
  dyn_stock_order: standardTables('dyn_stock_order'),
  dyn_transport_order: standardTables('dyn_transport_order'),
};

/** Makes the documents of these areas, each of which may name the schemas of all. */
export function openApiWriter(areasOf: { readonly [of in Audience]: readonly Area[] }): Api['openApi'] {
  const routes = Object.values(areasOf).flatMap((areas) => areas.flatMap(routesOf));
  const shared: Schemas = Object.assign({ Error: errorSchema }, ...routes.map(({ resource }) => resource.schemas));

  const made = new LRUCache<string, Finished>({ maxSize: CACHE_BYTES, sizeCalculation: ({ json }) => json.length });

  return (audience, { origin, title, tables }) => {
    const key = JSON.stringify([audience, origin, title]);
    const before = made.get(key);
    if (before?.tables === tables) return before.json;
    const all = [...tables.values()];
    const components = {
      // The answer to any request that is refused or fails (spec §7).
      responses: { Error: answer(ERRORS, ref('Error')) },
      securitySchemes: securitySchemesAt(origin),
    };
    const paths = pathsOf(areasOf[audience], all);
    // No operation answers one table's records, but programs of clients read answers as such.
    const records = audience === 'clients' ? all.map((table) => tableRef('record', table)) : [];
    const schemas = reachedFrom(JSON.stringify([paths, components, records]), { ...shared, ...tableSchemas(all) });
    const description = 'Dynamic tables (assets) over one uniform REST interface.';
    const json = JSON.stringify({
      openapi: '3.1.0',
      // The version of the API (spec §9), not of the service.
      info: { title, version: '1', description },
      servers: [{ url: origin }],
      paths,
      components: { schemas, ...components },
    });
    made.set(key, { tables, json });
    return json;
  };
}

/** @param origin of the service: tools need whole URLs */
function securitySchemesAt(origin: string) {
  const clientOf = (scopes: readonly Scope[]) => ({
    type: 'oauth2',
    flows: {
      clientCredentials: {
        tokenUrl: `${origin}/oauth/token`,
        scopes: Object.fromEntries(scopes.map((scope) => [scope, SCOPE_TEXTS[scope]])),
      },
    },
  });
  const bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token of a session.' };
  // Tools ask for all scopes of a scheme, so that of auditors, which most clients lack, has a scheme of its own.
  return { oauth2: clientOf(DATA_SCOPES), audit: clientOf([AUDIT_SCOPE]), platform: bearer, operator: bearer };
}

/** The schemas of all tables, their names by kind, and the bodies that one of them takes. @throws HttpError 413 */
function tableSchemas(tables: readonly AssetType[]): Schemas {
  const schemas: Record<string, JsonSchema> = {};
  let size = 0;
  for (const table of tables) {
    const { name, supportingData } = table;
    const own = {
      [tableSchemaName.record(name)]: recordOutputSchema(table),
      [tableSchemaName.create(name)]: recordInputSchema(table, 'create'),
      [tableSchemaName.update(name)]: recordInputSchema(table, 'update'),
      ...(supportingData && { [tableSchemaName.batchItem(name)]: recordInputSchema(table, 'batchItem') }),
    };
    size += JSON.stringify(own).length;
    if (size > MAX_OPENAPI_BYTES)
      throw new HttpError(
        413,
        'The document is too large.',
        `The description of ${tables.length} tables is over ${MAX_OPENAPI_BYTES} bytes; GET …/<table>/info describes each.`,
      );
    Object.assign(schemas, own);
  }
  for (const [kind, isOfKind] of Object.entries(TABLE_KINDS))
    schemas[`${kind}Name`] = oneOf(tables.filter(isOfKind).map(({ name }) => name));
  const anyOf = (kind: 'create' | 'update' | 'batchItem', of = tables): JsonSchema => ({
    description: 'That of the table.',
    anyOf: of.map((table) => tableRef(kind, table)),
  });
  schemas.CreateInput = anyOf('create');
  schemas.UpdateInput = anyOf('update');
  schemas.BatchItem = anyOf('batchItem', tables.filter(TABLE_KINDS.ReferenceTable));
  return schemas;
}

/** Those schemas that a text refers to, or one of them. */
function reachedFrom(text: string, schemas: Schemas): Schemas {
  const reached: Record<string, JsonSchema> = {};
  const texts = [text];
  for (let from = texts.pop(); from !== undefined; from = texts.pop()) {
    for (const [, name = ''] of from.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = schemas[name];
      if (schema === undefined || Object.hasOwn(reached, name)) continue;
      reached[name] = schema;
      texts.push(JSON.stringify(schema));
    }
  }
  return reached;
}

/** Answers that were given, by operation id. */
const EXAMPLES: { readonly [id: string]: unknown } = JSON.parse(
  readFileSync(new URL('./answers.json', import.meta.url), 'utf8'),
);

/** Operations by method, and the parameters of the path. */
type PathItem = { readonly [method: string]: object };

function pathsOf(areas: readonly Area[], tables: readonly AssetType[]): { readonly [path: string]: PathItem } {
  const paths: Record<string, PathItem> = {};
  for (const area of areas) {
    for (const route of routesOf(area)) {
      const { path, parameters } = documentedPath(route);
      const fullPath = `${area.prefix}${path}` || '/';
      const item = paths[fullPath] ?? (parameters.length === 0 ? {} : { parameters });
      paths[fullPath] = { ...item, [route.method.toLowerCase()]: operationObject(route, tables) };
    }
  }
  return paths;
}

/** `:name` or `*name` becomes the parameter that the resource describes; that of a table operation's `:table` is its own. */
function documentedPath({ path: ofRoute, operation, resource }: Route) {
  const parameters: Parameter[] = [];
  const path = ofRoute.replace(/[:*](\w+)/g, (_, name: string) => {
    if (name === 'table' && operation.tables !== undefined) return '{table}';
    const parameter = resource.pathParameters?.[name];
    if (parameter === undefined) throw new Error(`${ofRoute} has a parameter ${name} that nothing describes.`);
    parameters.push(parameter);
    return `{${parameter.name}}`;
  });
  return { path: path === '/' ? '' : path, parameters };
}

/**
 * No parameters, as tools would send them with values of their own: a key that is made once, so that a second record is
 * refused, or a tag that no record has.
 */
const HEADER_TEXTS: { readonly [name in RequestHeader]: string } = {
  'if-match': 'The header field If-Match may have the ETag of the record: if it has changed since, the answer is 412.',
  'idempotency-key': `The header field Idempotency-Key may name the request: sent again within ${IDEMPOTENCY_KEY_HOURS} hours, it changes nothing and gets the same answer, with Idempotency-Replayed: true.`,
};

function operationObject({ operation, id, tag }: Route, tables: readonly AssetType[]) {
  const { summary, description, tables: kind, body, status = 200, headers = [], query = [] } = operation;
  const orderType = tables.find(TABLE_KINDS.OrderTable);
  if (orderType === undefined) throw new Error('The tenant has no table of orders.');
  const texts = [description ?? [], headers.map((name) => HEADER_TEXTS[name])].flat();
  const parameters = [
    ...(kind === undefined ? [] : [{ name: 'table', in: 'path', required: true, schema: ref(`${kind}Name`) }]),
    ...(query === 'any' ? [] : query).flatMap(
      ({ ofTables, ...parameter }) =>
        ofTables?.(kind === undefined ? [orderType] : tables) ?? [{ schema: {}, ...parameter, in: 'query' as const }],
    ),
  ];
  return {
    operationId: id,
    summary,
    description: texts.join(' ') || undefined,
    tags: [tag],
    security: securityOf(operation),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body && requestBody(body, orderType),
    responses: {
      [status]: withExample(id, operation.answer, orderType),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

const isMade = <T>(value: PerTable<T>): value is (assetType: AssetType) => T => typeof value === 'function';
const madeFor = <T>(assetType: AssetType, value: PerTable<T>): T => (isMade(value) ? value(assetType) : value);

function withExample(id: string, answer: Operation['answer'], orderType: AssetType): ResponseObject {
  const made = madeFor(orderType, answer);
  const json = made.content?.['application/json'];
  // Orders of the example are of the stock model.
  if (json === undefined || (isMade(answer) && orderType.name !== 'dyn_stock_order')) return made;
  return { ...made, content: jsonContent(json.schema, EXAMPLES[id]) };
}

function securityOf(operation: Operation) {
  const kinds = operation.tables === 'Table' ? [true, false] : [operation.tables === 'ReferenceTable'];
  const needed = new Set(kinds.map((supportingData) => permissionOn(operation, () => ({ supportingData }))));
  return [...needed].flatMap((permission): readonly { readonly [scheme: string]: readonly Scope[] }[] => {
    if (permission === undefined) return [];
    if (permission === 'operators') return [{ operator: [] }];
    if (isOfPeople(permission)) return [{ platform: [] }];
    const scopes = permission === 'clients' ? SCOPES.filter((scope) => scope.startsWith('read:')) : [permission];
    return scopes.map((scope) => ({ [scope === AUDIT_SCOPE ? 'audit' : 'oauth2']: [scope] }));
  });
}

function requestBody({ schema, example, optional, limit = 'settings' }: BodyDescription, orderType: AssetType) {
  const bytes = BODY_LIMITS[limit];
  return {
    ...(Number.isFinite(bytes) && { description: `At most ${bytes} bytes.` }),
    required: optional !== true,
    content: jsonContent(madeFor(orderType, schema), example),
  };
}

const AUDIENCES = ['clients', 'people'] as const;

/**
 * Whether the request may see the tenant's own tables and name: with a token of the tenant, or from a program on this
 * machine. @throws HttpError 401 for an invalid token
 */
async function maySeeAll(api: Api, req: Request, res: Response): Promise<boolean> {
  if (sessionTokenIn(req) === undefined) return isLocalProgram(req, api.config);
  try {
    await authenticateClient(api, req, res);
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 401) throw error;
    await authenticateUser(api, req, res);
  }
  return true;
}

export const openApi: Resource = {
  tag: 'token',
  operations: {
    'GET /openapi.json': {
      id: 'getOpenApi',
      summary: 'This document',
      description:
        'Without a token it has the standard tables; with a token of the tenant, or on the machine of the service, also the tables and fields that the tenant added.',
      allow: 'anyone',
      query: [
        {
          name: 'for',
          description: 'clients: the operations of API clients. people: those of the platform, with a session.',
          schema: { ...oneOf(AUDIENCES), default: 'clients' },
        },
      ],
      answer: answer('OpenAPI 3.1.', { type: 'object' }),
      async handle(api, call) {
        await limitNetwork(api, call.req, call.res);
        return { headers: { 'Cache-Control': 'no-cache' }, body: api.openApi(...(await documentFor(api, call))) };
      },
    },
  },
};

async function documentFor(api: Api, { req, res, query }: Call): Promise<[Audience, Described]> {
  const audience = AUDIENCES.find((each) => each === (query.get('for') ?? 'clients'));
  if (audience === undefined) throw badRequest(`for must be ${AUDIENCES.join(' or ')}.`);
  const origin = requestOrigin(req, api.config);
  if (isOperatorHost(requestHost(req, api.config), api.config)) {
    const title = "Dynamic Assets: the operator's API";
    return ['operators', { origin, title, tables: STANDARD.dyn_stock_order }];
  }
  await resolveTenant(api, req, res);
  const seesAll = await maySeeAll(api, req, res);
  const { displayName, orderModel, assetTypes } = req.context.tenant;
  const tables = seesAll ? assetTypes : STANDARD[orderModel];
  const title = seesAll ? `Dynamic Assets API of ${displayName}` : 'Dynamic Assets API';
  return [audience, { origin, title: audience === 'people' ? `${title}: for people` : title, tables }];
}
