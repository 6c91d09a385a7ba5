/** The OpenAPI 3.1 document of one tenant: its own tables and fields, made from the schemas that check requests. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { SESSION_COOKIE } from '../platform/sessionCookie.js';
import { assetTypeParts } from './assetPaths.js';
import { deliveryPaths, deliverySchemas } from './deliveryPaths.js';
import { errorResponses, errorSchemas, errorsOf } from './errorResponses.js';
import { orderPaths } from './orderPaths.js';
import { parameters } from './parameters.js';
import { settingsPaths } from './platformPaths.js';
import { assetSchemas, platformSchemas } from './schemas.js';
import { tokenPaths } from './tokenPaths.js';
import { dataOf, jsonResponse, type Paths, type Schemas, schemaRef } from './types.js';
import { webhookEventPaths, webhookEventSchemas } from './webhookEventPaths.js';

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
    flows: {
      clientCredentials: {
        tokenUrl: '/oauth/token',
        scopes: Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_TEXTS[scope]])),
      },
    },
  },
  platform: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'For users: the token of a session.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: 'The same token as a cookie, for the console.',
  },
};

const assetList: Paths = {
  '/api/v1/dynamic-assets/dyn': {
    get: {
      operationId: 'list_assets',
      summary: 'The assets that the token may read',
      tags: ['assets'],
      security: SCOPES.filter((scope) => scope.startsWith('read:')).map((scope) => ({ oauth2: [scope] })),
      responses: {
        200: jsonResponse('All there are.', dataOf({ type: 'array', items: schemaRef('Asset') })),
        ...errorsOf(401, 404),
      },
    },
  },
};

export function openApiDocument({ displayName, orderModel, assetTypes }: Tenant): object {
  const types = [...assetTypes.values()];
  const parts = types.map(assetTypeParts);
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
    tags: types.map(tagOf),
    paths: {
      ...tokenPaths,
      ...assetList,
      ...merged(parts.map((part) => part.paths)),
      ...(orderType === undefined ? {} : orderPaths(orderType)),
      ...settingsPaths,
      ...webhookEventPaths,
      ...deliveryPaths,
    },
    components: {
      schemas: {
        ...errorSchemas,
        ...assetSchemas,
        ...platformSchemas,
        ...webhookEventSchemas,
        ...deliverySchemas,
        ...merged(parts.map((part) => part.schemas)),
      },
      responses: errorResponses,
      parameters,
      securitySchemes,
    },
  };
}

const merged = <T extends Paths | Schemas>(all: readonly T[]): T => Object.assign({}, ...all);

const tagOf = ({ name, label, description }: AssetType) => ({ name, description: `${label}. ${description}` });
