/** The OpenAPI 3.1 document of one tenant: its own tables and fields, made from the route table. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { Scope } from '../../domain/identity/scopes.js';
import { SESSION_COOKIE } from '../platform/signedIn.js';
import type { Area, Resource } from '../routes/operation.js';
import { resolveTenant } from '../tenantHost.js';
import { errorResponses, errorSchemas } from './errorResponses.js';
import { fixedPaths, type Paths, parameterComponents, tablePaths } from './paths.js';
import { recordExample, recordInputSchema } from './records.js';
import { answer, type Schemas } from './schema.js';

/** Version of the API (spec §9), not of the service. */
const API_VERSION = '1';

const SCOPE_TEXTS: { readonly [scope in Scope]: string } = {
  'read:reference_data': 'Read Reference Data',
  'write:reference_data': 'Write Reference Data',
  'read:order_data': 'Read order Master Data',
  'write:order_data': 'Write order Master Data, status updates included',
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

/**
 * Makes the documents of tenants from the route table. Each is made once for the tables that a tenant has, and the part of
 * a table once for its asset type: a tenant that adds a field makes only that table's part anew.
 */
export function openApiTexts(areas: readonly Area[]): (tenant: Tenant) => Promise<string> {
  const partOf = onceFor((assetType: AssetType) => ({
    paths: tablePaths(areas, assetType),
    schemas: tableSchemas(assetType),
  }));
  // Any change of a tenant makes a new object of it; what the document shows depends on its asset types.
  const textOf = onceFor(async (_: Tenant['assetTypes'], tenant: Tenant) => {
    const parts: TablePart[] = [];
    for (const assetType of tenant.assetTypes.values()) {
      parts.push(partOf(assetType));
      // Other requests get their turn: some hundred fields take a while.
      await nextTurn();
    }
    return JSON.stringify(openApiDocument(areas, tenant, parts));
  });
  return (tenant) => textOf(tenant.assetTypes, tenant);
}

/** Remembers what was made for an object as long as there is the object. */
function onceFor<Key extends object, Given extends readonly unknown[], Made>(
  make: (key: Key, ...given: Given) => Made,
) {
  const made = new WeakMap<Key, Made>();
  return (key: Key, ...given: Given): Made => {
    const known = made.get(key) ?? make(key, ...given);
    made.set(key, known);
    return known;
  };
}

/** What the document shows of one table. */
type TablePart = { readonly paths: Paths; readonly schemas: Schemas };

/** Table names have no dots, so names with one cannot meet another table's. */
function tableSchemas(assetType: AssetType): Schemas {
  const { name } = assetType;
  return {
    [name]: { ...recordOutputSchema(assetType), examples: [recordExample(assetType)] },
    [`${name}.create`]: recordInputSchema(assetType, 'create'),
    [`${name}.update`]: recordInputSchema(assetType, 'update'),
    ...(assetType.supportingData ? { [`${name}.batch_item`]: recordInputSchema(assetType, 'batchItem') } : {}),
  };
}

function openApiDocument(areas: readonly Area[], tenant: Tenant, parts: readonly TablePart[]): object {
  const { displayName, orderModel, assetTypes } = tenant;
  const resources = areas.flatMap((area) => area.resources);
  const orderType = assetTypes.get(orderModel);
  return {
    openapi: '3.1.0',
    info: {
      title: `Dynamic Assets API of ${displayName}`,
      version: API_VERSION,
      description:
        'Dynamic tables (assets) over one uniform REST interface; every table of this organisation is listed.',
    },
    servers: [{ url: '/' }],
    tags: [...assetTypes.values()].map(tagOf),
    paths: {
      ...(orderType === undefined ? {} : fixedPaths(areas, orderType)),
      ...merged(parts.map((part) => part.paths)),
    },
    components: {
      schemas: {
        ...errorSchemas,
        ...merged(resources.map(({ schemas = {} }) => schemas)),
        ...merged(parts.map((part) => part.schemas)),
      },
      responses: errorResponses,
      parameters: parameterComponents(resources),
      securitySchemes,
    },
  };
}

const merged = <T extends Paths | Schemas>(all: readonly T[]): T => Object.assign({}, ...all);

const tagOf = ({ name, label, description }: AssetType) => ({ name, description: `${label}. ${description}` });

export const openApi: Resource = {
  tag: 'token',
  operations: {
    'GET /openapi.json': {
      id: 'openapi',
      summary: 'This document',
      allow: 'anyone',
      answer: answer('OpenAPI 3.1.', { type: 'object' }),
      errors: [404],
      async handle(api, { req, res }) {
        await resolveTenant(api, req, res);
        const body = await api.openApiText(req.context.tenant);
        return { headers: { 'Cache-Control': 'no-cache' }, body };
      },
    },
  },
};
