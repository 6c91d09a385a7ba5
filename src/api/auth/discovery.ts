/**
 * Metadata for programs: how to get tokens (RFC 8414), what they are for (RFC 9728), and how to verify them (RFC 7517).
 */
import { SCOPES } from '../../domain/identity/scopes.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply, Resource } from '../routes/operation.js';
import { requestOrigin, resolveTenant } from '../tenantHost.js';

const FOR_ALL = { 'Cache-Control': 'public, max-age=300' };

/**
 * Each tenant's host is an issuer, so the metadata name the origin of the request. @param describe makes them for an
 * origin
 */
const metadataAt =
  (describe: (origin: string) => object) =>
  async (api: Api, { req, res }: Call): Promise<Reply> => {
    await resolveTenant(api, req, res);
    return { headers: FOR_ALL, body: JSON.stringify(describe(requestOrigin(req, api.config))) };
  };

const serverMetadata = (origin: string) => ({
  issuer: origin,
  token_endpoint: `${origin}/oauth/token`,
  jwks_uri: `${origin}/.well-known/jwks.json`,
  scopes_supported: SCOPES,
  // No flow of this server has a front channel.
  response_types_supported: [],
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  service_documentation: `${origin}/docs`,
});

const resourceMetadata = (origin: string) => ({
  resource: origin,
  authorization_servers: [origin],
  jwks_uri: `${origin}/.well-known/jwks.json`,
  scopes_supported: SCOPES,
  bearer_methods_supported: ['header'],
  resource_documentation: `${origin}/docs`,
});

const EXAMPLE_ORIGIN = 'https://acme.assets.example.com';

/** @param describe makes the metadata for an origin: links, and lists of texts */
function metadata(description: string, describe: (origin: string) => { readonly [name: string]: unknown }) {
  const example = describe(EXAMPLE_ORIGIN);
  const schemas = Object.entries(example).map(([name, value]) => [
    name,
    Array.isArray(value) ? json.listOf(json.text) : json.link,
  ]);
  return {
    allow: 'anyone',
    answer: json.answer(description, json.closedObject(Object.fromEntries(schemas)), example),
    errors: [404],
    handle: metadataAt(describe),
  } as const;
}

/** Below `/.well-known`. */
export const discovery: Resource = {
  tag: 'token',
  operations: {
    'GET /oauth-authorization-server': {
      id: 'getAuthorizationServerMetadata',
      summary: 'Metadata by which an OAuth client gets a token',
      description: 'RFC 8414. The issuer is the origin of this request: each tenant has its own.',
      ...metadata('The metadata of the authorization server.', serverMetadata),
    },
    'GET /oauth-protected-resource': {
      id: 'getProtectedResourceMetadata',
      summary: 'The authorization server of the tokens of this API',
      description: 'RFC 9728.',
      ...metadata('The metadata of the protected resource.', resourceMetadata),
    },
    'GET /jwks.json': {
      id: 'getJwks',
      summary: 'The public keys of tokens',
      description: 'For other services that want to check tokens themselves.',
      allow: 'anyone',
      answer: json.answer('A JWK set (RFC 7517).', json.closedObject({ keys: json.listOf({ type: 'object' }) })),
      handle: ({ tokens }) => ({ headers: FOR_ALL, body: JSON.stringify(tokens.jwks()) }),
    },
  },
};
