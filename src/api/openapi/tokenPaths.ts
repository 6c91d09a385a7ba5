/** Tokens, keys, and this document itself (spec §4.10, §5). */
import { SCOPES } from '../../domain/identity/scopes.js';
import { errorsOf } from './errorResponses.js';
import { closedObject, type JsonSchema, jsonContent, jsonResponse, type Paths } from './types.js';

const text: JsonSchema = { type: 'string' };

const tokenRequest: JsonSchema = {
  type: 'object',
  properties: {
    grant_type: { type: 'string', const: 'client_credentials' },
    client_id: { type: 'string', description: 'Left out where the credentials come by Basic authentication.' },
    client_secret: text,
    scope: {
      type: 'string',
      description: `Separated by spaces, of ${SCOPES.join(', ')}; all of the client's by default.`,
    },
  },
  required: ['grant_type'],
};

const tokenExample = {
  grant_type: 'client_credentials',
  client_id: '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10',
  client_secret: 'das_…',
  scope: 'read:order_data write:order_data',
};

/** RFC 6749 §5.2, with `message` beside it. */
const oauthError = (description: string, error: string, message: string) =>
  jsonResponse(description, closedObject({ error: text, error_description: text, message: text }), {
    error,
    error_description: message,
    message,
  });

export const tokenPaths: Paths = {
  '/oauth/token': {
    post: {
      operationId: 'token',
      summary: 'An access token by client credentials',
      tags: ['token'],
      security: [],
      requestBody: {
        required: true,
        content: {
          ...jsonContent(tokenRequest, tokenExample),
          'application/x-www-form-urlencoded': { schema: tokenRequest },
        },
      },
      responses: {
        200: jsonResponse(
          'The token.',
          closedObject({
            access_token: { type: 'string', description: 'A JWT.' },
            token_type: { type: 'string', const: 'Bearer' },
            expires_in: { type: 'integer', description: 'Seconds.' },
            scope: text,
          }),
        ),
        ...errorsOf(404),
        400: oauthError('The request is malformed.', 'invalid_request', 'grant_type is missing.'),
        401: oauthError(
          'The credentials are wrong.',
          'invalid_client',
          'The client is unknown or its secret is wrong.',
        ),
      },
    },
  },
  '/.well-known/jwks.json': {
    get: {
      operationId: 'jwks',
      summary: 'The public keys that tokens can be checked with',
      tags: ['token'],
      security: [],
      responses: {
        200: jsonResponse(
          'A JWK set (RFC 7517).',
          closedObject({ keys: { type: 'array', items: { type: 'object' } } }),
        ),
        ...errorsOf(),
      },
    },
  },
  '/openapi.json': {
    get: {
      operationId: 'openapi',
      summary: 'This document',
      tags: ['token'],
      security: [],
      responses: { 200: jsonResponse('OpenAPI 3.1.', { type: 'object' }), ...errorsOf(404) },
    },
  },
};
