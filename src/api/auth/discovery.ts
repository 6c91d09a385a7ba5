/** Metadata for programs: how to get tokens (RFC 8414), and how to verify them (RFC 7517). */
import { SCOPES } from '../../domain/identity/scopes.js';
import * as json from '../openapi/schema.js';
import type { Resource } from '../routes/operation.js';
import { requestOrigin, resolveTenant } from '../tenantHost.js';

const FOR_ALL = { 'Cache-Control': 'public, max-age=300' };

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
        { type: 'object' },
        serverMetadata('https://acme.assets.example.com'),
      ),
      async handle(api, { req, res }) {
        await resolveTenant(api, req, res);
        return { headers: FOR_ALL, body: JSON.stringify(serverMetadata(requestOrigin(req, api.config))) };
      },
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
