/** Builds a tenant's OpenAPI 3.1 document from the route table and the tenant's tables. */
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { tagOf } from '../../commands/preconditions.js';
import { assetTypeOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { recordSchemas } from '../../domain/assetTypes/recordSchema.js';
import { ORDER_MODELS, type OrderModel } from '../../domain/identity/events.js';
import type { Scope } from '../../domain/identity/scopes.js';
import { standardTables } from '../../domain/identity/tenantTables.js';
import { MAX_OPENAPI_BYTES, OPENAPI_CACHE_BYTES } from '../../domain/limits.js';
import { nextTurn } from '../../supervision/waiting.js';
import { authenticateClient } from '../auth/bearer.js';
import type { Api, Described } from '../deps.js';
import { HttpError } from '../errors.js';
import { authenticateUser, SESSION_COOKIE, sessionTokenIn } from '../platform/signedIn.js';
import { limitNetwork } from '../rateLimit.js';
import type { Area, Resource } from '../routes/operation.js';
import { isLocalProgram, isOperatorHost, requestHost, resolveTenant } from '../tenantHost.js';
import { errorResponses, errorSchemas } from './errorResponses.js';
import { fixedPaths, headerComponents, parameterComponents, tablePaths } from './paths.js';
import { recordExample, recordInputSchema, withPartsOutputSchema } from './records.js';
import { answer, type JsonSchema, named, type Schemas, tableSchemaName } from './schema.js';

/** Version of the API (spec §9), not of the service. */
const API_VERSION = '1';

const SCOPE_TEXTS: { readonly [scope in Scope]: string } = {
  'read:reference_data': 'Read Reference Data',
  'write:reference_data': 'Write Reference Data',
  'read:order_data': 'Read order Master Data',
  'write:order_data': 'Write order Master Data, status updates included',
  'read:audit': 'Read everything of the tenant, activity included, and change nothing',
};
const securitySchemes = {
  oauth2: {
    type: 'oauth2',
    description: 'For integrators: client id and secret are made in the settings, under API clients.',
    flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: SCOPE_TEXTS } },
  },
  platform: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'For users: the token of a session.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: 'The same token as a cookie, for the console.',
  },
};

/** For the document at the operator's host, which has nothing of tenants. */
const OPERATOR_SCHEME = {
  operator: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token of an operator session.' },
};

const areOperators = (areas: readonly Area[]): boolean =>
  areas.every(({ resources }) =>
    resources.every(({ operations }) =>
      Object.values(operations).every(({ allow }) => allow === 'operators' || allow === 'anyone'),
    ),
  );

/** A finished document, and the tables that it describes: one with the same names may describe other fields. */
type Document = { readonly body: Buffer; readonly tag: string; readonly tables: readonly AssetType[] };

/** One table's members of `paths` and `components.schemas`, as JSON text without braces. */
type TablePart = { readonly paths: string; readonly schemas: string };

/**
 * Makes documents from the route table. The part of a table is cached by its asset type, so a tenant that adds a field
 * renews only that table's part.
 */
export function openApiWriter(areas: readonly Area[]): Api['openApi'] {
  const parts = new LRUCache<AssetType, TablePart>({
    maxSize: OPENAPI_CACHE_BYTES,
    sizeCalculation: sizeOf,
    fetchMethod: (assetType) => tablePart(areas, assetType),
  });
  const fixed = new Map<OrderModel, FixedParts>();
  const made = new LRUCache<string, Document>({
    maxSize: OPENAPI_CACHE_BYTES,
    sizeCalculation: ({ body }) => body.length,
  });
  return async (described) => {
    const { title, orderModel, tables } = described;
    const key = JSON.stringify([title, orderModel, tables.map(({ name }) => name)]);
    const known = made.get(key);
    if (known?.tables.every((table, at) => table === tables[at])) return known;
    const body = Buffer.from(await textOf(described));
    const document = { body, tag: tagOf(body), tables };
    made.set(key, document);
    return document;
  };

  async function textOf(described: Described): Promise<string> {
    const { orderModel, tables } = described;
    const ofTables: TablePart[] = [];
    let size = 0;
    for (const table of tables) {
      const part = await parts.forceFetch(table);
      size += sizeOf(part);
      if (size > MAX_OPENAPI_BYTES) throw tooLargeDocument(tables);
      ofTables.push(part);
    }
    const ofModel = fixed.get(orderModel) ?? fixedParts(areas, orderModel);
    fixed.set(orderModel, ofModel);
    // The platform's operations refer to orders, even if the document is about other tables.
    const orderType = areOperators(areas) ? undefined : standardTables(orderModel).get(orderModel);
    if (orderType === undefined || tables.some(({ name }) => name === orderModel)) {
      return documentText(described, ofModel, ofTables);
    }
    const { schemas } = await parts.forceFetch(orderType);
    return documentText(described, ofModel, [...ofTables, { paths: '', schemas }]);
  }
}

const sizeOf = ({ paths, schemas }: TablePart): number => paths.length + schemas.length;

const tooLargeDocument = ({ length }: readonly AssetType[]): HttpError =>
  new HttpError(
    413,
    'The document is too large.',
    `The description of ${length} tables is over ${MAX_OPENAPI_BYTES} bytes; ask for some of them with ?table=<name>,<name>.`,
  );

/** Takes a while for some hundred fields, so other requests run between the steps. */
async function tablePart(areas: readonly Area[], assetType: AssetType): Promise<TablePart> {
  const schemas: string[] = [];
  recordSchemas(assetType);
  await nextTurn();
  for (const [kind, schema] of tableSchemas(assetType)) {
    schemas.push(membersOf(named(tableSchemaName[kind](assetType.name), schema())));
    await nextTurn();
  }
  const ofPaths = tablePaths(areas, assetType);
  return { paths: membersOf(ofPaths.paths), schemas: joined(membersOf(ofPaths.schemas), ...schemas) };
}

/** JSON text of an object without its braces. */
const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1);

const joined = (...members: readonly string[]): string => members.filter((text) => text !== '').join(',');

type TableSchema = readonly [kind: keyof typeof tableSchemaName, schema: () => JsonSchema];

function tableSchemas(assetType: AssetType): readonly TableSchema[] {
  const { role, supportingData } = assetType;
  return [
    ['record', () => ({ ...recordOutputSchema(assetType), examples: [recordExample(assetType)] })],
    ['create', () => recordInputSchema(assetType, 'create')],
    ['update', () => recordInputSchema(assetType, 'update')],
    ...(role === 'order' ? ([['whole', () => withPartsOutputSchema(assetType)]] as const) : []),
    ...(supportingData ? ([['batchItem', () => recordInputSchema(assetType, 'batchItem')]] as const) : []),
  ];
}

/** The part that all tenants of an order model share, as JSON text without braces. */
type FixedParts = TablePart & { readonly components: string };

function fixedParts(areas: readonly Area[], orderModel: OrderModel): FixedParts {
  const resources = areas.flatMap((area) => area.resources);
  const orderType = standardTables(orderModel).get(orderModel);
  const ofPaths = orderType === undefined ? { paths: {}, schemas: {} } : fixedPaths(areas, orderType);
  const ofResources: Schemas = Object.assign({}, errorSchemas, ...resources.map((resource) => resource.schemas ?? {}));
  const ofNames = Object.entries(ofResources).map(([name, schema]) => named(name, schema));
  const schemas: Schemas = Object.assign({}, ofPaths.schemas, ...ofNames);
  const components = {
    responses: errorResponses,
    parameters: parameterComponents(resources),
    headers: headerComponents,
    securitySchemes: areOperators(areas) ? OPERATOR_SCHEME : securitySchemes,
  };
  return {
    paths: membersOf(ofPaths.paths),
    schemas: membersOf(schemas),
    components: membersOf(components),
  };
}

function documentText({ title, tables }: Described, fixed: FixedParts, parts: readonly TablePart[]): string {
  const head = {
    openapi: '3.1.0',
    info: {
      title,
      version: API_VERSION,
      description: 'Dynamic tables (assets) over one uniform REST interface.',
    },
    servers: [{ url: '/' }],
    tags: tables.map(openApiTag),
  };
  const paths = joined(fixed.paths, ...parts.map((part) => part.paths));
  const schemas = joined(fixed.schemas, ...parts.map((part) => part.schemas));
  return `{${membersOf(head)},"paths":{${paths}},"components":{"schemas":{${schemas}},${fixed.components}}}`;
}

const openApiTag = ({ name, label, description }: AssetType) => ({ name, description: `${label}. ${description}` });

/** `?table=dyn_item,dyn_party`, or the parameter several times. */
const namedTables = (query: URLSearchParams): readonly string[] =>
  query.getAll('table').flatMap((names) => names.split(',').filter((name) => name !== ''));

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
          name: 'table',
          repeats: true,
          description: 'Describe these tables only: names separated by commas. All by default.',
          schema: { type: 'string' },
        },
      ],
      answer: answer('OpenAPI 3.1.', { type: 'object' }),
      errors: [401, 404, 413],
      async handle(api, { req, res, query }) {
        await limitNetwork(api, req, res);
        if (isOperatorHost(requestHost(req, api.config), api.config)) {
          const operators = { title: "Dynamic Assets: the operator's API", orderModel: ORDER_MODELS[0], tables: [] };
          const { body, tag } = await api.operatorOpenApi(operators);
          return { headers: { 'Cache-Control': 'no-cache' }, body: [body], tag };
        }
        await resolveTenant(api, req, res);
        const seesAll = await maySeeAll(api, req, res);
        const { displayName, orderModel, assetTypes } = req.context.tenant;
        const shown = seesAll ? assetTypes : standardTables(orderModel);
        const names = namedTables(query);
        const tables =
          names.length === 0 ? [...shown.values()] : names.map((name) => assetTypeOf({ assetTypes: shown }, name));
        const title = seesAll ? `Dynamic Assets API of ${displayName}` : 'Dynamic Assets API';
        const { body, tag } = await api.openApi({ title, orderModel, tables: [...new Set(tables)] });
        return { headers: { 'Cache-Control': 'no-cache' }, body: [body], tag };
      },
    },
  },
};
