/** The paths of an OpenAPI document, made from the route table. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { SCOPES } from '../../domain/identity/scopes.js';
import { IDEMPOTENCY_KEY_HOURS, MAX_IDEMPOTENCY_KEY_LENGTH } from '../../domain/limits.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type HonouredHeader,
  isTableOperation,
  type Method,
  type Operation,
  type PathParameter,
  type PerTable,
  type QueryParameter,
  type Resource,
  type Route,
  routesOf,
  scopeOf,
} from '../routes/operation.js';
import { BODY_ERRORS, type ErrorStatus, errorsOf } from './errorResponses.js';
import {
  type Header,
  type JsonSchema,
  jsonContent,
  type MediaTypes,
  named,
  type Parameter,
  type Ref,
  type ResponseObject,
  type Responses,
  ref,
  type Schemas,
  tableName,
} from './schema.js';

/** Operations by method, and the parameters of the path. */
type PathItem = { readonly [method: string]: ReturnType<typeof operationObject> | readonly (Parameter | Ref)[] };
export type Paths = { readonly [path: string]: PathItem };

/** `schemas` are those that the operations have named. */
type Documented = { readonly paths: Paths; readonly schemas: Schemas };

/** Operations on a table, as far as the table offers them. */
export const tablePaths = (areas: readonly Area[], assetType: AssetType): Documented =>
  pathsOf(areas, assetType, (operation) => isTableOperation(operation) && (operation.isOffered?.(assetType) ?? true));

/** All other operations. @param orderType the asset type of the tenant's orders */
export const fixedPaths = (areas: readonly Area[], orderType: AssetType): Documented =>
  pathsOf(areas, orderType, (operation) => !isTableOperation(operation));

function pathsOf(
  areas: readonly Area[],
  assetType: AssetType,
  isSelected: (operation: Operation) => boolean,
): Documented {
  const paths: Record<string, PathItem> = {};
  const schemas: Record<string, JsonSchema> = {};
  for (const area of areas) {
    for (const route of routesOf(area).filter(({ operation }) => isSelected(operation))) {
      const { path, parameters } = documentedPath(route, assetType);
      const fullPath = `${area.prefix}${path}` || '/';
      const item = paths[fullPath] ?? (parameters.length === 0 ? {} : { parameters });
      paths[fullPath] = { ...item, [route.method.toLowerCase()]: operationObject(area, route, assetType, schemas) };
    }
  }
  return { paths, schemas };
}

/** Names an operation's own schemas after it, so that generators of clients need not invent names. */
function withNames<T extends { readonly content?: MediaTypes }>(
  body: T,
  name: string,
  schemas: Record<string, JsonSchema>,
): T {
  if (body.content === undefined) return body;
  const content = Object.entries(body.content).map(([type, { schema, ...media }]) => {
    if (schema.properties === undefined) return [type, { schema, ...media }] as const;
    Object.assign(schemas, named(name, schema));
    return [type, { schema: ref(name), ...media }] as const;
  });
  return { ...body, content: Object.fromEntries(content) };
}

/** `:name` or `*name` becomes the parameter that the resource describes; a table operation's `:table` becomes the table's name. */
function documentedPath({ path: ofRoute, operation, resource }: Route, assetType: AssetType) {
  const parameters: (Parameter | Ref)[] = [];
  const path = ofRoute.replace(/[:*](\w+)/g, (_, name: string) => {
    if (name === 'table' && isTableOperation(operation)) return assetType.name;
    const parameter = resource.pathParameters?.[name];
    if (parameter === undefined) throw new Error(`${ofRoute} has a parameter ${name} that nothing describes.`);
    parameters.push(parameterObject(parameter));
    return `{${parameter.name}}`;
  });
  return { path: path === '/' ? '' : path, parameters };
}

/** For `components.headers`. */
export const headerComponents: { readonly [name: string]: Header } = {
  ETag: { description: 'Identifies the current state of the answer (RFC 9110 §8.8.3).', schema: { type: 'string' } },
  'Projection-Staleness': {
    description: 'Seconds since the oldest write that the answer may not show yet; absent if it shows all.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Projection-Pending': {
    description:
      'On a write: it stands, but reads do not show it yet. On a read: it may lack a write that was answered before. Otherwise absent.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Idempotency-Replayed': {
    description:
      'An earlier request with the same Idempotency-Key did this; this one only repeats its answer. Otherwise absent.',
    schema: { type: 'string', enum: ['true'] },
  },
};

const PENDING_HEADER: ResponseObject['headers'] = {
  'Projection-Pending': { $ref: '#/components/headers/Projection-Pending' },
};

const REPLAYED_HEADER: ResponseObject['headers'] = {
  'Idempotency-Replayed': { $ref: '#/components/headers/Idempotency-Replayed' },
};

const TAG_HEADER: ResponseObject['headers'] = { ETag: { $ref: '#/components/headers/ETag' } };

const READ_HEADERS: ResponseObject['headers'] = {
  ...TAG_HEADER,
  ...PENDING_HEADER,
  'Projection-Staleness': { $ref: '#/components/headers/Projection-Staleness' },
};

/** @param schemas receives the named schemas */
function operationObject(
  area: Area,
  { method, operation, resource }: Route,
  assetType: AssetType,
  schemas: Record<string, JsonSchema>,
) {
  const { id, summary, description, body, status = 200, answer, answers, errors = [], honours = [] } = operation;
  const isRead = method === 'GET' && operation.allow !== 'anyone';
  const ofTable = isTableOperation(operation);
  const ofOne = madeFor(assetType);
  const bodyErrors = body === undefined ? [] : (body.errors ?? BODY_ERRORS);
  const headers = [...(isRead ? (['if-none-match'] as const) : []), ...honours];
  const parameters = [
    ...describedQuery(operation).flatMap((parameter) => queryObjects(parameter, assetType)),
    ...headers.map((name) => parameterObject(HEADER_PARAMETERS[name])),
  ];
  const operationId = ofTable ? id + tableName(assetType.name) : id;
  const typeName = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const responses: Responses = {
    [status]: withHeaders(withNames(ofOne(answer), `${typeName}Answer`, schemas), headersOf(isRead, operation)),
    ...(isRead ? { 304: NOT_MODIFIED } : {}),
    ...errorsOf([
      431,
      ...area.errors,
      ...refusals(method, operation),
      ...bodyErrors,
      ...errors,
      ...(operation.grows ? ([507] as const) : []),
    ]),
    ...answers,
  };
  return {
    operationId,
    summary: ofTable ? `${ofOne(summary)}: ${assetType.label}` : ofOne(summary),
    ...(description === undefined ? {} : { description: ofOne(description) }),
    tags: [ofTable ? assetType.name : resource.tag],
    security: securityOf(operation, assetType),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: withNames(requestBody(body, assetType), `${typeName}Input`, schemas) }),
    responses,
  };
}

const withHeaders = (answer: ResponseObject, headers: ResponseObject['headers'] = {}): ResponseObject =>
  Object.keys(headers).length === 0 ? answer : { ...answer, headers: { ...answer.headers, ...headers } };

/** Headers of a successful answer. */
function headersOf(isRead: boolean, { allow, honours = [] }: Route['operation']): ResponseObject['headers'] {
  if (isRead) return READ_HEADERS;
  if (allow === 'anyone') return {};
  return {
    ...PENDING_HEADER,
    ...(honours.includes('if-match') ? TAG_HEADER : {}),
    ...(honours.includes('idempotency-key') ? REPLAYED_HEADER : {}),
  };
}

const NOT_MODIFIED: ResponseObject = { description: 'Unchanged since it had the ETag of If-None-Match.' };

/** For `components.parameters`, by field name. */
const HEADER_PARAMETERS: { readonly [name in HonouredHeader | 'if-none-match']: PathParameter } = {
  'if-match': {
    component: 'IfMatch',
    name: 'If-Match',
    in: 'header',
    description: 'The change is made only if the record still has this ETag, or one of several; 412 otherwise.',
    schema: { type: 'string' },
    example: '"q83vEjRWeJCrze8SNFZ4kA"',
  },
  'idempotency-key': {
    component: 'IdempotencyKey',
    name: 'Idempotency-Key',
    in: 'header',
    description: `A name of the client's own for this request. Sent again with the same body within ${IDEMPOTENCY_KEY_HOURS} hours, it changes nothing and gets the same answer, with Idempotency-Replayed: true; with another body it is 422. Such as po-2026-000471.`,
    schema: { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH, pattern: '^[!-~]+$' },
  },
  'if-none-match': {
    component: 'IfNoneMatch',
    name: 'If-None-Match',
    in: 'header',
    description: 'The answer is 304, without a body, if it would have this ETag.',
    schema: { type: 'string' },
  },
};

const isMade = <T>(value: PerTable<T>): value is (assetType: AssetType) => T => typeof value === 'function';

const madeFor =
  (assetType: AssetType) =>
  <T>(value: PerTable<T>): T =>
    isMade(value) ? value(assetType) : value;

function securityOf(operation: Operation, assetType: AssetType) {
  if (isTableOperation(operation)) return [{ oauth2: [scopeOf(operation, assetType)] }];
  if (operation.allow === 'anyone') return [];
  if (operation.allow === 'operators') return [{ operator: [] }];
  if (operation.allow !== 'clients') return [{ platform: [] }, { session: [] }];
  if (operation.scope !== undefined) return [{ oauth2: [operation.scope] }];
  return SCOPES.filter((scope) => scope.startsWith('read:')).map((scope) => ({ oauth2: [scope] }));
}

/** Statuses with which the router may refuse a request before it reads the body. */
function refusals(method: Method, operation: Operation): readonly ErrorStatus[] {
  const { allow } = operation;
  if (allow === 'anyone') return [400];
  if (allow === 'clients') return operation.scope === undefined ? [400, 401] : [400, 401, 403];
  if (allow === 'operators') return [400, 401];
  // 415: a change with the session cookie must be sent as JSON.
  return isTableOperation(operation) || method === 'GET' ? [400, 401, 403] : [400, 401, 403, 415];
}

function requestBody({ schema, example, optional, orForm, limit = 'settings' }: BodyDescription, assetType: AssetType) {
  const ofOne = madeFor(assetType);
  const bytes = BODY_LIMITS[limit];
  // The form is only described in words: openapi-python-client generates broken code for two body types.
  const texts = [
    ...(Number.isFinite(bytes) ? [`At most ${bytes} bytes.`] : []),
    ...(orForm === true ? ['A form (application/x-www-form-urlencoded) is accepted as well.'] : []),
  ];
  return {
    ...(texts.length === 0 ? {} : { description: texts.join(' ') }),
    required: optional !== true,
    content: jsonContent(ofOne(schema), ofOne(example)),
  };
}

const describedQuery = ({ query = [] }: Operation): readonly QueryParameter[] => (query === 'any' ? [] : query);

const asParameter = ({ repeats: _, ...parameter }: QueryParameter): PathParameter => ({
  schema: {},
  ...parameter,
  in: 'query',
});

const queryObjects = (parameter: QueryParameter, assetType: AssetType): readonly (Parameter | Ref)[] =>
  parameter.ofTable?.(assetType) ?? [parameterObject(asParameter(parameter))];

/** Refers to a parameter that is a component. */
const parameterObject = ({ component, ...parameter }: PathParameter): Parameter | Ref =>
  component === undefined ? parameter : { $ref: `#/components/parameters/${component}` };

/** For `components.parameters`. */
export function parameterComponents(resources: readonly Resource[]): { readonly [name: string]: Parameter } {
  const components: Record<string, Parameter> = {};
  const ofResources = resources.flatMap(({ pathParameters = {}, operations }) => [
    ...Object.values(pathParameters),
    ...Object.values(operations).flatMap(describedQuery).map(asParameter),
  ]);
  const all = [...ofResources, ...Object.values(HEADER_PARAMETERS)];
  for (const { component, ...parameter } of all) if (component !== undefined) components[component] = parameter;
  return components;
}
