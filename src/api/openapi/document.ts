/** Builds a tenant's OpenAPI 3.1 document from the route table and the tenant's tables. */
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { tagOf } from '../../commands/preconditions.js';
import { assetTypeOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { AUDIT_SCOPE, DATA_SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { standardTables } from '../../domain/identity/tenantTables.js';
import { MAX_OPENAPI_BYTES } from '../../domain/limits.js';
import { authenticateClient, authenticateUser, SESSION_COOKIE, sessionTokenIn } from '../auth/principal.js';
import type { Api, Audience } from '../deps.js';
import { badRequest, HttpError } from '../errors.js';
import { limitNetwork } from '../rateLimit.js';
import type { Area, Call, Resource } from '../routes/operation.js';
import { isLocalProgram, isOperatorHost, requestHost, requestOrigin, resolveTenant } from '../tenantHost.js';
import { ERROR_RESPONSE, errorSchema, headerComponents, pathsOf, tableSchemas } from './paths.js';
import { createExample, recordInputSchema, updateExample, withPartsOutputSchema } from './records.js';
import { answer, type JsonSchema, oneOf, type Schemas, tableRef, tableSchemaName } from './schema.js';

/** Bytes of cached descriptions of tables, of all tenants. */
const OPENAPI_CACHE_BYTES = 32_000_000;

/** Version of the API (spec §9), not of the service. */
const API_VERSION = '1';

const SCOPE_TEXTS: { readonly [scope in Scope]: string } = {
  'read:reference_data': 'Read Reference Data',
  'write:reference_data': 'Write Reference Data',
  'read:order_data': 'Read order Master Data',
  'write:order_data': 'Write order Master Data, status updates included',
  'read:audit': 'Read everything of the tenant, activity included, and change nothing',
};
/** @param origin of the service: tools need whole URLs */
const securitySchemesAt = (origin: string) => {
  const clientOf = (description: string, scopes: readonly Scope[]) => ({
    type: 'oauth2',
    description,
    flows: {
      clientCredentials: {
        tokenUrl: `${origin}/oauth/token`,
        scopes: Object.fromEntries(scopes.map((scope) => [scope, SCOPE_TEXTS[scope]])),
      },
    },
  });
  return {
    oauth2: clientOf('For integrators: client id and secret are made in the settings, under API clients.', DATA_SCOPES),
    audit: clientOf('For programs that audit.', [AUDIT_SCOPE]),
    platform: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'For users: the token of a session.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: SESSION_COOKIE,
      description: 'The same token as a cookie, for the console.',
    },
  };
};

/** For the document at the operator's host, which has nothing of tenants. */
const OPERATOR_SCHEME = {
  operator: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The token of an operator session.' },
};

/** A finished document, and the tables that it describes: one with the same names may describe other fields. */
type Document = { readonly body: Buffer; readonly tag: string; readonly tables: readonly AssetType[] };

/** Makes the documents of these areas, each of which may name the schemas of all. */
export function openApiWriter(areasOf: { readonly [of in Audience]: readonly Area[] }): Api['openApi'] {
  const resources = Object.values(areasOf).flatMap((areas) => areas.flatMap((area) => area.resources));
  const shared: Schemas = Object.assign(
    {},
    { Error: errorSchema },
    ...resources.map((resource) => resource.schemas ?? {}),
  );
  const made = new LRUCache<string, Document>({
    maxSize: OPENAPI_CACHE_BYTES,
    sizeCalculation: ({ body }) => body.length,
  });

  function schemasOf(tables: readonly AssetType[]): Schemas {
    const all: Schemas[] = [];
    let size = 0;
    for (const table of tables) {
      const schemas = schemasOfTable(table);
      all.push(schemas);
      size += JSON.stringify(schemas).length;
      if (size > MAX_OPENAPI_BYTES) throw tooLargeDocument(tables);
    }
    return Object.assign({}, ...all);
  }

  return (audience, { origin, title, orderModel, tables }) => {
    const key = JSON.stringify([audience, origin, title, orderModel, tables.map(({ name }) => name)]);
    const before = made.get(key);
    if (before?.tables.every((table, at) => table === tables[at])) return before;
    const orderType = standardTables(orderModel).get(orderModel);
    if (orderType === undefined) throw new Error(`${orderModel} is no order model.`);
    const subject = { tables, orderType };
    const areas = areasOf[audience];
    const { paths, schemas: ofPaths } = pathsOf(areas, subject);
    const components = {
      responses: { Error: ERROR_RESPONSE },
      headers: headerComponents,
      securitySchemes: audience === 'operators' ? OPERATOR_SCHEME : securitySchemesAt(origin),
    };
    // Operations of people name the tenant's orders, and no other table.
    const ofSubject = schemasOf(audience === 'people' ? [orderType] : tables);
    // No operation answers one table's records, but programs read answers as such.
    const records = tables.map((table) => tableRef('record', table));
    const schemas = reachedFrom(JSON.stringify([paths, components, records]), {
      ...shared,
      ...tableSchemas(subject),
      ...ofPaths,
      ...ofSubject,
    });
    const description = 'Dynamic tables (assets) over one uniform REST interface.';
    const info = { title, version: API_VERSION, description };
    const document = {
      openapi: '3.1.0',
      info,
      servers: [{ url: origin }],
      paths,
      components: { schemas, ...components },
    };
    const body = Buffer.from(JSON.stringify(document));
    const finished = { body, tag: tagOf(body), tables };
    made.set(key, finished);
    return finished;
  };
}

const tooLargeDocument = ({ length }: readonly AssetType[]): HttpError =>
  new HttpError(
    413,
    'The document is too large.',
    `The description of ${length} tables is over ${MAX_OPENAPI_BYTES} bytes; ask for some of them with ?table=<name>,<name>.`,
  );

function schemasOfTable(assetType: AssetType): Schemas {
  const { name, description, role, supportingData } = assetType;
  return {
    [tableSchemaName.record(name)]: { ...recordOutputSchema(assetType), description },
    [tableSchemaName.create(name)]: {
      ...recordInputSchema(assetType, 'create'),
      examples: [createExample(assetType)],
    },
    [tableSchemaName.update(name)]: {
      ...recordInputSchema(assetType, 'update'),
      examples: [updateExample(assetType)],
    },
    ...(role === 'order' && { [tableSchemaName.whole(name)]: withPartsOutputSchema(assetType) }),
    ...(supportingData && { [tableSchemaName.batchItem(name)]: recordInputSchema(assetType, 'batchItem') }),
  };
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

/** `?table=dyn_item,dyn_party`, or the parameter several times. */
const namedTables = (query: URLSearchParams): readonly string[] =>
  query.getAll('table').flatMap((names) => names.split(',').filter((name) => name !== ''));

const AUDIENCES = ['clients', 'people'];

/** @throws HttpError 400 */
function isForPeople(query: URLSearchParams): boolean {
  const audience = query.get('for') ?? 'clients';
  if (!AUDIENCES.includes(audience)) throw badRequest(`for must be ${AUDIENCES.join(' or ')}.`);
  return audience === 'people';
}

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
        {
          name: 'table',
          repeats: true,
          description: 'Describe these tables only: names separated by commas. All by default.',
          schema: { type: 'string' },
        },
      ],
      answer: answer('OpenAPI 3.1.', { type: 'object' }),
      async handle(api, call) {
        await limitNetwork(api, call.req, call.res);
        const { body, tag } = await documentFor(api, call);
        return { headers: { 'Cache-Control': 'no-cache' }, body, tag };
      },
    },
  },
};

async function documentFor(api: Api, { req, res, query }: Call) {
  const origin = requestOrigin(req, api.config);
  if (isOperatorHost(requestHost(req, api.config), api.config)) {
    const title = "Dynamic Assets: the operator's API";
    return api.openApi('operators', { origin, title, orderModel: ORDER_MODELS[0], tables: [] });
  }
  await resolveTenant(api, req, res);
  const seesAll = await maySeeAll(api, req, res);
  const { displayName, orderModel, assetTypes } = req.context.tenant;
  const shown = seesAll ? assetTypes : standardTables(orderModel);
  const title = seesAll ? `Dynamic Assets API of ${displayName}` : 'Dynamic Assets API';
  if (isForPeople(query))
    return api.openApi('people', { origin, title: `${title}: for people`, orderModel, tables: [] });
  const names = namedTables(query);
  const tables =
    names.length === 0 ? [...shown.values()] : names.map((name) => assetTypeOf({ assetTypes: shown }, name));
  return api.openApi('clients', { origin, title, orderModel, tables: [...new Set(tables)] });
}
