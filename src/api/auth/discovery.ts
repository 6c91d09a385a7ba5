/** Metadata for programs: how to get tokens (RFC 8414). */
import { SCOPES } from '../../domain/identity/scopes.js';
import * as json from '../openapi/schema.js';
import type { Resource } from '../routes/operation.js';
import { requestOrigin, resolveTenant } from '../tenantHost.js';

const serverMetadata = (origin: string) => ({
  issuer: origin,
  token_endpoint: `${origin}/oauth/token`,
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
      summary: 'Metadata by which an OAuth client gets a token (RFC 8414)',
      allow: 'anyone',
      answer: json.answer('The metadata.', { type: 'object' }),
      async handle(api, { req, res }) {
        await resolveTenant(api, req, res);
        const headers = { 'Cache-Control': 'public, max-age=300' };
        return { headers, body: JSON.stringify(serverMetadata(requestOrigin(req, api.config))) };
      },
    },
  },
};
