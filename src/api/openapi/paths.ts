/** The paths of an OpenAPI document, made from the route table. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { AUDIT_SCOPE, isOfPeople, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { IDEMPOTENCY_KEY_HOURS, MAX_STRING_LENGTH } from '../../domain/limits.js';
import {
  type Area,
  BODY_LIMITS,
  type BodyDescription,
  type HonouredHeader,
  isTableOperation,
  type Operation,
  type PerTable,
  permissionOn,
  type QueryParameter,
  type Route,
  routesOf,
  type TableKind,
} from '../routes/operation.js';
import {
  answer,
  closedObject,
  type Header,
  type JsonSchema,
  jsonContent,
  listOf,
  type MediaTypes,
  oneOf,
  type Parameter,
  type ResponseObject,
  ref,
  type Schemas,
  tableRef,
  text,
} from './schema.js';

/** Operations by method, and the parameters of the path. */
type PathItem = { readonly [method: string]: ReturnType<typeof operationObject> | readonly Parameter[] };
export type Paths = { readonly [path: string]: PathItem };

/** The tables that a document describes, and the asset type of the tenant's orders. */
export type Subject = { readonly tables: readonly AssetType[]; readonly orderType: AssetType };

/**
 * Operations on a table have it as a parameter: they are left out if the document describes no such table.
 * @returns `schemas`: those that the operations have named
 */
export function pathsOf(
  areas: readonly Area[],
  subject: Subject,
): { readonly paths: Paths; readonly schemas: Schemas } {
  const paths: Record<string, PathItem> = {};
  const schemas: Record<string, JsonSchema> = {};
  for (const area of areas) {
    for (const route of routesOf(area)) {
      const offering = tablesOf(route.operation, subject);
      if (offering.length === 0) continue;
      const { path, parameters } = documentedPath(route);
      const fullPath = `${area.prefix}${path}` || '/';
      const item = paths[fullPath] ?? (parameters.length === 0 ? {} : { parameters });
      const operation = operationObject(route, offering, subject, schemas);
      paths[fullPath] = { ...item, [route.method.toLowerCase()]: operation };
    }
  }
  return { paths, schemas };
}

const TABLE_KINDS: { readonly [kind in TableKind]: (assetType: AssetType) => boolean } = {
  Table: () => true,
  ReferenceTable: ({ supportingData }) => supportingData,
  OrderTable: ({ role }) => role === 'order',
  PartTable: ({ role }) => role === 'part',
};

/** The tables that it is for; for operations on no table that of the orders. */
const tablesOf = (operation: Operation, { tables, orderType }: Subject): readonly AssetType[] =>
  isTableOperation(operation) ? tables.filter(TABLE_KINDS[operation.tables ?? 'Table']) : [orderType];

/** The names of the tables of each kind, and the bodies that one of them takes. */
export function tableSchemas({ tables }: Subject): Schemas {
  const names = Object.entries(TABLE_KINDS).map(([kind, isOfKind]) => {
    const ofKind = tables.filter(isOfKind);
    return [`${kind}Name`, oneOf(ofKind.map(({ name }) => name))] as const;
  });
  const bodies = Object.entries({ CreateInput: 'create', UpdateInput: 'update', BatchItem: 'batchItem' } as const).map(
    ([name, kind]) => {
      const of = kind === 'batchItem' ? tables.filter(TABLE_KINDS.ReferenceTable) : tables;
      return [name, { description: 'That of the table.', anyOf: of.map((table) => tableRef(kind, table)) }] as const;
    },
  );
  return Object.fromEntries([...names, ...bodies]);
}

/** Names the body and answer of an operation after it, so that generators of clients need not invent names. */
function withNames<T extends { readonly content?: MediaTypes }>(
  body: T,
  name: string,
  schemas: Record<string, JsonSchema>,
): T {
  if (body.content === undefined) return body;
  const content = Object.entries(body.content).map(([type, { schema, ...media }]) => {
    if (schema.properties === undefined) return [type, { schema, ...media }] as const;
    schemas[name] = schema;
    return [type, { schema: ref(name), ...media }] as const;
  });
  return { ...body, content: Object.fromEntries(content) };
}

/** `:name` or `*name` becomes the parameter that the resource describes; that of a table operation's `:table` is its own. */
function documentedPath({ path: ofRoute, operation, resource }: Route) {
  const parameters: Parameter[] = [];
  const path = ofRoute.replace(/[:*](\w+)/g, (_, name: string) => {
    if (name === 'table' && isTableOperation(operation)) return '{table}';
    const parameter = resource.pathParameters?.[name];
    if (parameter === undefined) throw new Error(`${ofRoute} has a parameter ${name} that nothing describes.`);
    parameters.push(parameter);
    return `{${parameter.name}}`;
  });
  return { path: path === '/' ? '' : path, parameters };
}

export const errorSchema: JsonSchema = {
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

/** The answer to any request that is refused or fails (spec §7). */
export const ERROR_RESPONSE: ResponseObject = {
  ...answer(
    '400 bad request, 401 no valid token, 403 a scope or role is missing, 404 no such table or record, 405 no such method, 409 its state does not allow this, 412 the record has changed since the ETag of If-Match, 413 too large, 415 not JSON, 422 invalid (nothing was stored), 429 too many requests, 500 the service failed, 503 no answer is possible now (the error of a change says whether it may have been written), 507 a quota is used up.',
    ref('Error'),
  ),
  headers: { 'Retry-After': { description: 'Of 429 and 503: seconds to wait.', schema: { type: 'integer' } } },
};

/** For `components.headers`. */
export const headerComponents: { readonly [name: string]: Header } = {
  ETag: { description: 'Identifies the current state of the answer (RFC 9110 §8.8.3).', schema: { type: 'string' } },
  'Projection-Staleness': {
    description: 'Seconds since the oldest write that the answer may not show yet; absent if it shows all.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Projection-Pending': {
    description: 'The write stands, but reads do not show it yet. Otherwise absent.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Idempotency-Replayed': {
    description:
      'An earlier request with the same Idempotency-Key did this; this one only repeats its answer. Otherwise absent.',
    schema: { type: 'string', enum: ['true'] },
  },
};

/** Headers of a successful answer. */
function headersOf({ method, operation: { allow, honours = [] } }: Route): ResponseObject['headers'] {
  if (allow === 'anyone') return {};
  const names =
    method === 'GET'
      ? ['ETag', 'Projection-Staleness']
      : [
          'Projection-Pending',
          ...(honours.includes('if-match') ? ['ETag'] : []),
          ...(honours.includes('idempotency-key') ? ['Idempotency-Replayed'] : []),
        ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** @param offering the tables that it is for @param schemas receives the named schemas */
function operationObject(
  route: Route,
  offering: readonly AssetType[],
  { tables, orderType }: Subject,
  schemas: Record<string, JsonSchema>,
) {
  const { method, operation, resource } = route;
  const { id, summary, description, body, status = 200, answers, honours = [], query = [] } = operation;
  const [example = orderType] = offering;
  const parameters = [
    ...(isTableOperation(operation) ? [tableParameter(operation.tables)] : []),
    ...(query === 'any' ? [] : query).flatMap((parameter) => queryObjects(parameter, tables)),
  ];
  const typeName = id.charAt(0).toUpperCase() + id.slice(1);
  const texts = [...(description === undefined ? [] : [description]), ...honours.map((name) => HEADER_TEXTS[name])];
  const succeeded = withNames(madeFor(example)(operation.answer), `${typeName}Answer`, schemas);
  const headers = { ...succeeded.headers, ...headersOf(route) };
  return {
    operationId: id,
    ...(summary === undefined ? {} : { summary }),
    ...(texts.length === 0 ? {} : { description: texts.join(' ') }),
    tags: [resource.tag],
    security: securityOf(operation, offering),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: withNames(requestBody(body, example), `${typeName}Input`, schemas) }),
    responses: {
      [status]: Object.keys(headers).length === 0 ? succeeded : { ...succeeded, headers },
      ...(method === 'GET' && operation.allow !== 'anyone' ? { 304: NOT_MODIFIED } : {}),
      ...answers,
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

const NOT_MODIFIED: ResponseObject = { description: 'Unchanged since it had the ETag of If-None-Match.' };

const tableParameter = (kind: TableKind = 'Table'): Parameter => ({
  name: 'table',
  in: 'path',
  required: true,
  schema: ref(`${kind}Name`),
});

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

function securityOf(operation: Operation, offering: readonly AssetType[]) {
  const needed = new Set(offering.map((assetType) => permissionOn(operation, () => assetType)));
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

const queryObjects = (
  { repeats: _, ofTables, ...parameter }: QueryParameter,
  tables: readonly AssetType[],
): readonly Parameter[] => ofTables?.(tables) ?? [{ schema: {}, ...parameter, in: 'query' }];
