/** Who asks: the bearer token of a request (RFC 6750), and what it allows. */
import type { Request, RequestHandler } from 'express';
import type { Scope } from '../../domain/identity/scopes.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { HttpError } from '../errors.js';
import { type ClientToken, InvalidTokenError } from './tokens.js';

const REALM = 'Bearer realm="dynamic-assets"';
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750 §2.1); undefined when there is none or it has another form. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

/** No credentials were sent: the challenge has no error code (RFC 6750 §3.1). */
export const missingToken = (): HttpError =>
  new HttpError(401, 'Unauthenticated.', 'Send an access token: Authorization: Bearer <token>.', {
    'WWW-Authenticate': REALM,
  });

/** @param reason printable ASCII without quotes */
export const invalidToken = (reason: string): HttpError =>
  new HttpError(401, 'Unauthenticated.', reason, {
    'WWW-Authenticate': `${REALM}, error="invalid_token", error_description="${reason}"`,
  });

const insufficientScope = (scope: Scope): HttpError =>
  new HttpError(403, 'Forbidden.', `The token lacks the scope ${scope}.`, {
    'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"`,
  });

/** @throws HttpError 403 when the request's token lacks the scope */
export function requireScope(req: Request, scope: Scope): void {
  if (!req.context.scopes.has(scope)) throw insufficientScope(scope);
}

/** Middleware: the request must carry a good token of an API client of its tenant. */
export function authenticateClient(
  { tokens, directory }: Pick<ApiDeps, 'tokens' | 'directory'>,
  refresh: DirectoryRefresh,
): RequestHandler {
  /** A client that is unknown here may be new; one that was removed takes its tokens with it. */
  async function admitLate(req: Request, token: ClientToken): Promise<void> {
    await refresh.run();
    const tenant = directory.tenant(req.context.tenant.name);
    if (tenant !== undefined) req.context.tenant = tenant;
    if (!admit(req, token)) throw invalidToken('The client of the token was removed.');
  }

  return (req, _res, next) => {
    const text = bearerToken(req.headers.authorization);
    if (text === undefined) throw missingToken();
    const verified = verify(tokens, text);
    if (!(verified instanceof Promise) && admit(req, verified)) {
      next();
      return;
    }
    return Promise.resolve(verified)
      .then((token) => (admit(req, token) ? undefined : admitLate(req, token)))
      .then(() => next());
  };
}

function verify(tokens: ApiDeps['tokens'], text: string): ClientToken | Promise<ClientToken> {
  const refuse = (error: unknown): never => {
    throw error instanceof InvalidTokenError ? invalidToken(error.message) : error;
  };
  try {
    const verified = tokens.clientOf(text);
    return verified instanceof Promise ? verified.catch(refuse) : verified;
  } catch (error) {
    return refuse(error);
  }
}

/** False when the client is not known. @throws HttpError 401 for another tenant's token */
function admit(req: Request, token: ClientToken): boolean {
  const { context } = req;
  if (token.tenant !== context.tenant.name) throw invalidToken('The token belongs to another tenant.');
  if (!context.tenant.clients.has(token.clientId)) return false;
  context.actor = { kind: 'client', id: token.clientId };
  context.scopes = token.scopes;
  return true;
}
