/** Who asks: the bearer token of a request (RFC 6750), and what it allows. */
import type { Request } from 'express';
import type { Tenant } from '../../domain/identity/directory.js';
import type { Scope } from '../../domain/identity/scopes.js';
import { forbidden, HttpError } from '../errors.js';
import type { Check } from '../routes/operation.js';
import { InvalidTokenError } from './tokens.js';

const REALM = 'Bearer realm="dynamic-assets"';
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750 §2.1); undefined when there is none or it has another form. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

/** No token was sent: the challenge has no error code (RFC 6750 §3.1). */
export const unauthenticated = (reason: string, challenge = REALM): HttpError =>
  new HttpError(401, 'Unauthenticated.', reason, { 'WWW-Authenticate': challenge });

export const missingToken = (): HttpError => unauthenticated('Send an access token: Authorization: Bearer <token>.');

/** @param reason printable ASCII without quotes */
export const invalidToken = (reason: string): HttpError =>
  unauthenticated(reason, `${REALM}, error="invalid_token", error_description="${reason}"`);

/** @throws HttpError 403 when the request's token lacks the scope */
export function requireScope(req: Request, scope: Scope): void {
  if (req.context.scopes.has(scope)) return;
  throw forbidden(`The token lacks the scope ${scope}.`, {
    'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"`,
  });
}

/** The request must carry a good token of an API client of its tenant. @throws HttpError 401 */
export const authenticateClient: Check = async ({ tokens, directory, refresh }, { headers, context }) => {
  const text = bearerToken(headers.authorization);
  if (text === undefined) throw missingToken();
  const { tenant, clientId, scopes } = await verified(() => tokens.clientOf(text), context.tenant);
  if (!context.tenant.clients.has(clientId)) {
    // Another process may have made the client a moment ago. One that was removed takes its tokens with it.
    await refresh();
    context.tenant = directory.tenant(tenant) ?? context.tenant;
    if (!context.tenant.clients.has(clientId)) throw invalidToken('The client of the token was removed.');
  }
  context.actor = { kind: 'client', id: clientId };
  context.scopes = scopes;
};

/** A token that is good for the tenant. @throws HttpError 401 */
export async function verified<T extends { readonly tenant: string }>(
  verify: () => T | Promise<T>,
  tenant: Tenant,
): Promise<T> {
  try {
    const token = await verify();
    if (token.tenant !== tenant.name) throw new InvalidTokenError('The token belongs to another tenant.');
    return token;
  } catch (error) {
    throw error instanceof InvalidTokenError ? invalidToken(error.message) : error;
  }
}
