/** Authenticates API clients by bearer token (RFC 6750), and checks scopes. */
import type { Request } from 'express';
import { credentialOf } from '../../commands/identity/secrets.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { ApiClient } from '../../domain/identity/events.js';
import { grants, type Scope } from '../../domain/identity/scopes.js';
import type { Api } from '../deps.js';
import { forbidden, HttpError } from '../errors.js';
import type { RequestContext } from '../requestContext.js';
import type { Check } from '../routes/operation.js';
import { type ClientToken, InvalidTokenError } from './tokens.js';

const REALM = 'Bearer realm="dynamic-assets"';
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750 §2.1); undefined if it is absent or malformed. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

/** Without a token, the challenge has no error code (RFC 6750 §3.1). */
export const unauthenticated = (reason: string, challenge = REALM): HttpError =>
  new HttpError(401, 'Unauthenticated.', reason, { 'WWW-Authenticate': challenge });

export const missingToken = (): HttpError => unauthenticated('Send an access token: Authorization: Bearer <token>.');

/** @param reason printable ASCII without quotes */
export const invalidToken = (reason: string): HttpError =>
  unauthenticated(reason, `${REALM}, error="invalid_token", error_description="${reason}"`);

/** @throws HttpError 403 if the request's token lacks the scope */
export function requireScope(req: Request, scope: Scope): void {
  if (grants(req.context.scopes, scope)) return;
  throw forbidden(`The token lacks the scope ${scope}.`, {
    'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"`,
  });
}

/**
 * Requires a valid token of an API client of the tenant. The client is looked up for each request, so that removal and
 * a new secret take effect at once. @throws HttpError 401
 */
export const authenticateClient: Check = (api, { headers, context }) => {
  const text = bearerToken(headers.authorization);
  if (text === undefined) throw missingToken();
  const token = api.tokens.clientOf(text);
  // A verified token is nearly always cached: then the check stays synchronous.
  if (!(token instanceof Promise) && isCurrent(context.tenant, token)) enter(context, token);
  else return enterVerified(api, context, token);
};

async function enterVerified(
  { directory, refresh }: Api,
  context: RequestContext,
  verifying: Promise<ClientToken> | ClientToken,
): Promise<void> {
  const token = await verified(verifying, context.tenant);
  if (!isCurrent(context.tenant, token)) {
    // Another process may have made the client or its secret a moment ago.
    await refresh(`client ${token.tenant} ${token.clientId} ${token.credential}`);
    context.tenant = directory.tenant(token.tenant) ?? context.tenant;
    if (!isCurrent(context.tenant, token)) {
      throw invalidToken('The client was removed or has a new secret; request a new token.');
    }
  }
  enter(context, token);
}

function enter(context: RequestContext, { clientId, scopes }: ClientToken): void {
  const name = context.tenant.clients.get(clientId)?.name;
  context.actor = { kind: 'client', id: clientId, ...(name === undefined ? {} : { name }) };
  context.scopes = scopes;
}

/** Whether the token's client still exists, with the secret that the token was issued for. */
function isCurrent({ name, clients }: Tenant, { tenant, clientId, credential }: ClientToken): boolean {
  const client = clients.get(clientId);
  if (tenant !== name || client === undefined) return false;
  return credential === undefined || credentialsOfClient(client).includes(credential);
}

const credentials = new WeakMap<ApiClient, readonly string[]>();

/** Cached, since they are compared for each request. */
function credentialsOfClient(client: ApiClient): readonly string[] {
  const known = credentials.get(client);
  if (known !== undefined) return known;
  const { secretHash, staged } = client;
  const made = (staged === undefined ? [secretHash] : [secretHash, staged.secretHash]).map(credentialOf);
  credentials.set(client, made);
  return made;
}

/** Requires a valid token of this tenant. @throws HttpError 401 */
export async function verified<T extends { readonly tenant: string }>(
  verifying: Promise<T> | T,
  tenant: Tenant,
): Promise<T> {
  try {
    const token = await verifying;
    if (token.tenant !== tenant.name) throw new InvalidTokenError('The token belongs to another tenant.');
    return token;
  } catch (error) {
    throw error instanceof InvalidTokenError ? invalidToken(error.message) : error;
  }
}
