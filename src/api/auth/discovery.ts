/**
 * Metadata for programs: how to get tokens (RFC 8414), what they are for (RFC 9728), and how to verify them (RFC 7517).
 */
import { SCOPES } from '../../domain/identity/scopes.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import type { Call, Reply, Resource } from '../routes/operation.js';
import { requestOrigin, resolveTenant } from '../tenantHost.js';

const FOR_ALL = { 'Cache-Control': 'public, max-age=300' };

const texts = json.listOf(json.text);

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

/** Below `/.well-known`. */
export const discovery: Resource = {
  tag: 'token',
  operations: {
    'GET /oauth-authorization-server': {
      id: 'getAuthorizationServerMetadata',
      summary: 'Metadata by which an OAuth client gets a token',
      description: 'RFC 8414. The issuer is the origin of this request: each tenant has its own.',
      allow: 'anyone',
      answer: json.answer(
        'The metadata of the authorization server.',
        json.closedObject({
          issuer: json.link,
          token_endpoint: json.link,
          jwks_uri: json.link,
          scopes_supported: texts,
          response_types_supported: texts,
          grant_types_supported: texts,
          token_endpoint_auth_methods_supported: texts,
          service_documentation: json.link,
        }),
        serverMetadata(EXAMPLE_ORIGIN),
      ),
      errors: [404],
      handle: metadataAt(serverMetadata),
    },
    'GET /oauth-protected-resource': {
      id: 'getProtectedResourceMetadata',
      summary: 'The authorization server of the tokens of this API',
      description: 'RFC 9728.',
      allow: 'anyone',
      answer: json.answer(
        'The metadata of the protected resource.',
        json.closedObject({
          resource: json.link,
          authorization_servers: texts,
          jwks_uri: json.link,
          scopes_supported: texts,
          bearer_methods_supported: texts,
          resource_documentation: json.link,
        }),
        resourceMetadata(EXAMPLE_ORIGIN),
      ),
      errors: [404],
      handle: metadataAt(resourceMetadata),
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
