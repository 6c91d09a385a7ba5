/** The paths of an OpenAPI document, made from the route table. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { AUDIT_SCOPE, isOfPeople, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { IDEMPOTENCY_KEY_HOURS, MAX_STRING_LENGTH } from '../../domain/limits.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type HonouredHeader,
  isReferenceData,
  isTableOperation,
  type Method,
  type Operation,
  type PathParameter,
  type PerTable,
  permissionOn,
  type QueryParameter,
  type Resource,
  type Route,
  routesOf,
} from '../routes/operation.js';
import { BODY_ERRORS, type ErrorStatus, errorsOf } from './errorResponses.js';
import {
  type Header,
  type JsonSchema,
  jsonContent,
  type MediaTypes,
  named,
  oneOf,
  type Parameter,
  type Ref,
  type ResponseObject,
  type Responses,
  ref,
  type Schemas,
  tableRef,
} from './schema.js';

/** Operations by method, and the parameters of the path. */
type PathItem = { readonly [method: string]: ReturnType<typeof operationObject> | readonly (Parameter | Ref)[] };
export type Paths = { readonly [path: string]: PathItem };

/** `schemas` are those that the operations have named. */
type Documented = { readonly paths: Paths; readonly schemas: Schemas };

/** The tables that a document describes, and the asset type of the tenant's orders. */
export type Subject = { readonly tables: readonly AssetType[]; readonly orderType: AssetType };

/** Operations on a table have it as a parameter: they are left out if no table offers them. */
export function pathsOf(areas: readonly Area[], subject: Subject): Documented {
  const paths: Record<string, PathItem> = {};
  const schemas: Record<string, JsonSchema> = {};
  for (const area of areas) {
    const routes = routesOf(area).filter(({ operation }) => offering(operation, subject).length > 0);
    // A path may have one operation for orders and another one for other tables.
    for (const [at, route] of routes.entries()) {
      const isSame = ({ method, path }: Route): boolean => method === route.method && path === route.path;
      if (routes.findIndex(isSame) < at) continue;
      const same = routes.slice(at + 1).filter(isSame);
      const { path, parameters } = documentedPath(route);
      const fullPath = `${area.prefix}${path}` || '/';
      const item = paths[fullPath] ?? (parameters.length === 0 ? {} : { parameters });
      const operation = operationObject(area, [route, ...same], subject, schemas);
      paths[fullPath] = { ...item, [route.method.toLowerCase()]: operation };
    }
  }
  return { paths, schemas };
}

/** The tables that offer it; for other operations that of the orders. */
const offering = (operation: Operation, { tables, orderType }: Subject): readonly AssetType[] =>
  isTableOperation(operation) ? tables.filter((table) => operation.isOffered?.(table) ?? true) : [orderType];

/** Kinds of tables that operations have in common. The first that fits names the parameter of an operation. */
const TABLE_KINDS: { readonly [component: string]: (assetType: AssetType) => boolean } = {
  Table: () => true,
  ReferenceTable: isReferenceData,
  OrderTable: ({ role }) => role === 'order',
  PartTable: ({ role }) => role === 'part',
};

const namesOf = (tables: readonly AssetType[]): string => JSON.stringify(tables.map(({ name }) => name).sort());

function tableParameter(offered: readonly AssetType[], { tables }: Subject): Ref {
  const kinds = Object.entries(TABLE_KINDS);
  const [name] = kinds.find(([, isOfKind]) => namesOf(tables.filter(isOfKind)) === namesOf(offered)) ?? [];
  if (name === undefined) throw new Error(`No kind of tables is ${namesOf(offered)}.`);
  return { $ref: `#/components/parameters/${name}` };
}

/** The names of the tables of each kind, and the bodies that one of them takes. */
export function tableSchemas({ tables }: Subject): Schemas {
  const ofKinds = Object.entries(TABLE_KINDS).map(
    ([kind, isOfKind]) => [`${kind}Name`, tables.filter(isOfKind)] as const,
  );
  const names = ofKinds
    .filter(([, of]) => of.length > 0)
    .map(([kind, of]) => [kind, oneOf(of.map(({ name }) => name))]);
  const bodies = Object.entries({ CreateInput: 'create', UpdateInput: 'update', BatchItem: 'batchItem' } as const).map(
    ([name, kind]) => {
      const of = kind === 'batchItem' ? tables.filter(isReferenceData) : tables;
      const description = 'That of the table.';
      return [name, { description, anyOf: of.map((table) => tableRef(kind, table)) }] as const;
    },
  );
  return Object.fromEntries([...names, ...bodies.filter(([, { anyOf }]) => anyOf.length > 0)]);
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

/** `:name` or `*name` becomes the parameter that the resource describes; that of a table operation's `:table` is its own. */
function documentedPath({ path: ofRoute, operation, resource }: Route) {
  const parameters: (Parameter | Ref)[] = [];
  const path = ofRoute.replace(/[:*](\w+)/g, (_, name: string) => {
    if (name === 'table' && isTableOperation(operation)) return '{table}';
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

/** @param routes of one method and path @param schemas receives the named schemas */
function operationObject(
  area: Area,
  routes: readonly [Route, ...Route[]],
  subject: Subject,
  schemas: Record<string, JsonSchema>,
) {
  const [{ method, operation, resource }] = routes;
  const { id, summary, description, body, status = 200, answers, errors = [], honours = [] } = operation;
  const offered = routes.flatMap((route) => offering(route.operation, subject));
  const [example = subject.orderType] = offered;
  const isRead = method === 'GET' && operation.allow !== 'anyone';
  const ofOne = madeFor(example);
  const bodyErrors = body === undefined ? [] : (body.errors ?? BODY_ERRORS);
  const query = routes.flatMap((route) => describedQuery(route.operation));
  const parameters = [
    ...(isTableOperation(operation) ? [tableParameter(offered, subject)] : []),
    ...[...new Set(query)].flatMap((parameter) => queryObjects(parameter, subject.tables)),
  ];
  const typeName = id.charAt(0).toUpperCase() + id.slice(1);
  const texts = [...(description === undefined ? [] : [description]), ...honours.map((name) => HEADER_TEXTS[name])];
  const responses: Responses = {
    [status]: withHeaders(
      withNames(answerOf(routes, ofOne), `${typeName}Answer`, schemas),
      headersOf(isRead, operation),
    ),
    ...(isRead ? { 304: NOT_MODIFIED } : {}),
    ...errorsOf([
      431,
      ...area.errors,
      ...(isTableOperation(operation) && operation.elsewhere === 405 && routes.length === 1 ? ([405] as const) : []),
      ...refusals(method, operation),
      ...bodyErrors,
      ...errors,
      ...(operation.grows ? ([507] as const) : []),
    ]),
    ...answers,
  };
  return {
    operationId: id,
    summary,
    ...(texts.length === 0 ? {} : { description: texts.join(' ') }),
    tags: [resource.tag],
    security: securityOf(operation, offered),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: withNames(requestBody(body, example), `${typeName}Input`, schemas) }),
    responses,
  };
}

/** Of several operations, the answer of one of them. */
function answerOf([route, ...others]: readonly [Route, ...Route[]], ofOne: ReturnType<typeof madeFor>): ResponseObject {
  const answer = ofOne(route.operation.answer);
  if (others.length === 0) return answer;
  const all = [answer, ...others.map(({ operation }) => ofOne(operation.answer))];
  const anyOf = all.flatMap(({ content = {} }) => Object.values(content).map(({ schema }) => schema));
  return { ...answer, content: jsonContent({ anyOf }) };
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

/**
 * No parameters, as tools would send them with values of their own: a key that is made once, so that a second record is
 * refused, or a tag that no record has.
 */
const HEADER_TEXTS: { readonly [name in HonouredHeader]: string } = {
  'if-match':
    'The header field If-Match may have the ETag of the record as it was read: if it has changed since, the answer is 412.',
  'idempotency-key': `The header field Idempotency-Key may have a name of the client's own for the request, of at most ${MAX_STRING_LENGTH} characters, such as po-2026-000471. Sent again with the same body within ${IDEMPOTENCY_KEY_HOURS} hours, it changes nothing and gets the same answer, with Idempotency-Replayed: true; with another body it is 422.`,
};

const isMade = <T>(value: PerTable<T>): value is (assetType: AssetType) => T => typeof value === 'function';

const madeFor =
  (assetType: AssetType) =>
  <T>(value: PerTable<T>): T =>
    isMade(value) ? value(assetType) : value;

function securityOf(operation: Operation, offered: readonly AssetType[]) {
  const needed = new Set(offered.map((assetType) => permissionOn(operation, () => assetType)));
  return [...needed].flatMap((permission): readonly { readonly [scheme: string]: readonly Scope[] }[] => {
    if (permission === undefined) return [];
    if (permission === 'operators') return [{ operator: [] }];
    if (isOfPeople(permission)) return [{ platform: [] }, { session: [] }];
    return permission === 'clients'
      ? SCOPES.filter((scope) => scope.startsWith('read:')).map(ofClient)
      : [ofClient(permission)];
  });
}

/** Tools ask for all scopes of a scheme, so that of auditors, which most clients lack, has a scheme of its own. */
const ofClient = (scope: Scope): { readonly [scheme: string]: readonly Scope[] } =>
  scope === AUDIT_SCOPE ? { audit: [scope] } : { oauth2: [scope] };

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

const queryObjects = (parameter: QueryParameter, tables: readonly AssetType[]): readonly (Parameter | Ref)[] =>
  parameter.ofTables?.(tables) ?? [parameterObject(asParameter(parameter))];

/** Refers to a parameter that is a component. */
const parameterObject = ({ component, ...parameter }: PathParameter): Parameter | Ref =>
  component === undefined ? parameter : { $ref: `#/components/parameters/${component}` };

const tableParameters = (subject: Subject): { readonly [name: string]: Parameter } =>
  Object.fromEntries(
    Object.entries(TABLE_KINDS)
      .filter(([, isOfKind]) => subject.tables.some(isOfKind))
      .map(([kind]) => [kind, { name: 'table', in: 'path', required: true, schema: ref(`${kind}Name`) }]),
  );

/** For `components.parameters`. */
export function parameterComponents(
  resources: readonly Resource[],
  subject: Subject,
): { readonly [name: string]: Parameter } {
  const components: Record<string, Parameter> = {};
  const ofResources = resources.flatMap(({ pathParameters = {}, operations }) => [
    ...Object.values(pathParameters),
    ...Object.values(operations).flatMap(describedQuery).map(asParameter),
  ]);
  for (const { component, ...parameter } of ofResources) if (component !== undefined) components[component] = parameter;
  return { ...components, ...tableParameters(subject) };
}
