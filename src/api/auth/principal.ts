/**
 * Authenticates API clients by bearer token (RFC 6750), and people by the same or the console's cookie; and checks what they
 * may do. Client and user are looked up for each request, so that removal, new roles, a new secret or password and sign-out
 * take effect at once.
 */
import type { Request, Response } from 'express';
import { credentialOf, liveHashes } from '../../commands/identity/secrets.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import {
  AUDIT_SCOPE,
  isOfPeople,
  type PermissionOfPeople,
  permissionsOfRoles,
  ROLES_WITH,
} from '../../domain/identity/scopes.js';
import type { Api } from '../deps.js';
import { forbidden, HttpError, unsupportedMediaType } from '../errors.js';
import { countingRefusals, limitCaller } from '../rateLimit.js';
import type { Principal } from '../requestContext.js';
import { type Check, isTableOperation, knownAsset, type Operation, permissionOn } from '../routes/operation.js';
import { requestOrigin } from '../tenantHost.js';
import { type ClientToken, InvalidTokenError, type UserToken } from './tokens.js';

const REALM = 'Bearer realm="dynamic-assets"';
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750 §2.1); undefined if it is absent or malformed. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

/** Without a token, the challenge has no error code (RFC 6750 §3.1). */
export const unauthenticated = (reason: string, challenge = REALM): HttpError =>
  new HttpError(401, 'Unauthenticated.', reason, { 'WWW-Authenticate': challenge });

const missingToken = (): HttpError => unauthenticated('Send an access token: Authorization: Bearer <token>.');

/** @param reason printable ASCII without quotes */
const invalidToken = (reason: string): HttpError =>
  unauthenticated(reason, `${REALM}, error="invalid_token", error_description="${reason}"`);

/** Requires a valid token of this tenant. @throws HttpError 401 */
async function verified<T extends { readonly tenant: string }>(verifying: Promise<T> | T, tenant: Tenant): Promise<T> {
  try {
    const token = await verifying;
    if (token.tenant !== tenant.name) throw new InvalidTokenError('The token belongs to another tenant.');
    return token;
  } catch (error) {
    throw error instanceof InvalidTokenError ? invalidToken(error.message) : error;
  }
}

/** Requires a valid token of an API client of the tenant. @throws HttpError 401 */
export const authenticateClient: Check = (api, { headers, context }) => {
  const text = bearerToken(headers.authorization);
  if (text === undefined) throw missingToken();
  const token = api.tokens.verify('client', text);
  const enter = ({ clientId, permissions }: ClientToken): void => {
    const name = context.tenant.clients.get(clientId)?.name;
    const actor = { kind: 'client', id: clientId, ...(name === undefined ? {} : { name }) } as const;
    context.principal = { actor, permissions };
  };
  // A verified token is nearly always cached: then the check stays synchronous.
  if (!(token instanceof Promise) && isCurrent(context.tenant, token)) return enter(token);
  return currentClient(api, context, token).then(enter);
};

async function currentClient(
  { directory, refresh }: Api,
  context: Request['context'],
  verifying: Promise<ClientToken> | ClientToken,
): Promise<ClientToken> {
  const token = await verified(verifying, context.tenant);
  if (isCurrent(context.tenant, token)) return token;
  // Another process may have made the client or its secret a moment ago.
  await refresh(`client ${token.tenant} ${token.clientId} ${token.credential}`);
  context.tenant = directory.tenant(token.tenant) ?? context.tenant;
  if (isCurrent(context.tenant, token)) return token;
  throw invalidToken('The client was removed or has a new secret; request a new token.');
}

/** Whether the token's client still exists, with the secret that the token was issued for. */
function isCurrent({ name, clients }: Tenant, { tenant, clientId, credential }: ClientToken): boolean {
  const client = clients.get(clientId);
  return (
    tenant === name && client !== undefined && liveHashes(client).some((hash) => credentialOf(hash) === credential)
  );
}

/** Requires a user of the tenant who has changed their first password, or a client that audits. @throws HttpError 401, 403, 415 */
export const authenticateUser: Check = async (api, req, res) => {
  await identifyUser(api, req, res);
  refuseFirstPassword(req);
};

/** @throws HttpError 401, 403, 415 */
const identifyUser: Check = async (api, req, res) => {
  const text = sessionTokenIn(req);
  if (text === undefined) throw missingToken();
  try {
    await openSession(api, req, text);
  } catch (error) {
    if (await isAuditingClient(api, req, res)) return;
    throw error;
  }
  if (bearerToken(req.headers.authorization) === undefined) refuseForgery(req, requestOrigin(req, api.config));
};

/** Whether the token is that of an API client of the tenant with the scope to audit. */
async function isAuditingClient(api: Api, req: Request, res: Response): Promise<boolean> {
  try {
    await authenticateClient(api, req, res);
    return req.context.principal?.permissions.has(AUDIT_SCOPE) === true;
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) return false;
    throw error;
  }
}

/** The console's cookie: the same token, out of reach of scripts. */
export const SESSION_COOKIE = 'da_session';

/** The session token in the bearer token or the cookie. */
export const sessionTokenIn = ({ headers }: Request): string | undefined =>
  bearerToken(headers.authorization) ?? sessionCookie(headers.cookie);

/** The token in a Cookie header (RFC 6265 §4.2.1); undefined if there is none. */
function sessionCookie(header = ''): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name, value = '']) => name === SESSION_COOKIE && value !== '')?.[1];
}

/** Sets the request's user. @returns the session's token. @throws HttpError 401 if it is not valid */
export async function openSession(
  { tokens, directory, refresh }: Api,
  { context }: Request,
  text: string,
): Promise<UserToken> {
  const token = await verified(tokens.verify('user', text), context.tenant);
  if (userOf(context.tenant, token) === undefined) {
    // Another process may have added the user, or changed the password, a moment ago.
    await refresh(`session ${token.tenant} ${token.userId} ${token.sessionId} ${token.credential}`);
    context.tenant = directory.tenant(token.tenant) ?? context.tenant;
  }
  const user = userOf(context.tenant, token);
  if (user === undefined) throw invalidToken('The session was ended, or the user was removed or has a new password.');
  context.principal = principalOf(user);
  return token;
}

export const principalOf = (user: User): Principal => ({
  actor: { kind: 'user', id: String(user.id), name: `${user.firstName} ${user.lastName}` },
  permissions: permissionsOfRoles(user.roles),
  user,
});

/** The token's user, unless the session was ended or the password changed since it was opened. */
function userOf(tenant: Tenant, { userId, sessionId, credential }: UserToken): User | undefined {
  const user = tenant.users.get(userId);
  if (user === undefined || tenant.endedSessions.get(userId)?.has(sessionId) === true) return undefined;
  return credentialOf(user.passwordHash) === credential ? user : undefined;
}

const isRead = ({ method }: Request): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** CSRF: browsers add the cookie by themselves, so a change must prove that no other site caused it. */
function refuseForgery(req: Request, ownOrigin: string): void {
  if (isRead(req)) return;
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw unsupportedMediaType(
      'With the session cookie, send Content-Type: application/json (also without a body), or use the bearer token.',
    );
  }
  const { origin } = req.headers;
  if (origin !== undefined && origin !== ownOrigin) {
    throw forbidden(
      `The session cookie is accepted from the origin ${ownOrigin} only. (Behind a proxy, TRUST_PROXY must be set.)`,
    );
  }
}

function refuseFirstPassword({ context: { principal } }: Request): void {
  if (principal?.user?.mustChangePassword !== true) return;
  throw forbidden(
    'This password is for the first sign-in only: change it with POST /api/v1/platform/session/password.',
  );
}

/** Requires what the operation needs. @throws NotFoundError for an unknown table; HttpError 403; 401 if nobody is signed in */
export function authorize(api: Api, req: Request, res: Response, operation: Operation): void | Promise<void> {
  if (isTableOperation(operation)) knownAsset(req);
  const permission = permissionOn(operation, () => knownAsset(req));
  if (permission === undefined) return;
  if (isOfPeople(permission)) return authorizePerson(api, req, res, permission, operation.withFirstPassword === true);
  if (req.context.principal?.permissions.has(permission)) return;
  throw forbidden(`The token lacks the scope ${permission}.`, {
    'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${permission}"`,
  });
}

async function authorizePerson(
  api: Api,
  req: Request,
  res: Response,
  permission: PermissionOfPeople,
  withFirstPassword: boolean,
): Promise<void> {
  const { context } = req;
  // In areas without `authenticateUser`.
  if (context.principal === undefined) {
    await countingRefusals(identifyUser)(api, req, res);
    await limitCaller(api, req, res);
  }
  if (!withFirstPassword) refuseFirstPassword(req);
  const { user, permissions } = context.principal ?? {};
  const isAllowed = permissions?.has(permission) === true;
  if (user === undefined && !(isAllowed && isRead(req) && !withFirstPassword))
    throw forbidden(`The scope ${AUDIT_SCOPE} reads, and changes nothing.`);
  if (isAllowed || user === undefined) return;
  const roles = ROLES_WITH[permission];
  api.refusals.request(context, user, roles);
  throw forbidden(`This needs the role ${roles.join(' or ')}.`);
}
