/** Authenticates users, and checks their roles. */
import type { CookieOptions, Request, Response } from 'express';
import { credentialOf } from '../../commands/identity/secrets.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import { AUDIT_SCOPE, type Role } from '../../domain/identity/scopes.js';
import type { Actor } from '../../ports/eventStore.js';
import { authenticateClient, bearerToken, invalidToken, missingToken, verified } from '../auth/bearer.js';
import type { UserToken } from '../auth/tokens.js';
import type { Api } from '../deps.js';
import { forbidden, HttpError, unsupportedMediaType } from '../errors.js';
import { countingRefusals, limitCaller } from '../rateLimit.js';
import { type Call, type Check, ROLE_GROUPS, type UserOperation } from '../routes/operation.js';
import { isLoopbackHost, requestHost, requestOrigin } from '../tenantHost.js';

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Requires a user of the tenant who has changed their first password, or a client that audits. @throws HttpError 401, 403, 415 */
export const authenticateUser: Check = async (api, req, res) => {
  await identifyUser(api, req, res);
  refuseFirstPassword(req);
};

/** Whether the token is that of an API client of the tenant with the scope to audit. */
async function isAuditingClient(api: Api, req: Request, res: Response): Promise<boolean> {
  try {
    await authenticateClient(api, req, res);
    return audits(req);
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) return false;
    throw error;
  }
}

const audits = ({ context }: Request): boolean => context.isClient && context.scopes.has(AUDIT_SCOPE);

function refuseFirstPassword({ context: { user } }: Request): void {
  if (user?.mustChangePassword !== true) return;
  throw forbidden(
    'This password is for the first sign-in only: change it with POST /api/v1/platform/session/password.',
  );
}

/**
 * Identifies the user by bearer token or the console's cookie, or an API client that audits by its token. The user is looked
 * up for each request, so that removal, new roles, a new password and sign-out take effect at once.
 * @throws HttpError 401, 403, 415
 */
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

/** The session token in the bearer token or the cookie. */
export const sessionTokenIn = ({ headers }: Request): string | undefined =>
  bearerToken(headers.authorization) ?? sessionCookie(headers.cookie);

/** Sets the request's user. @returns the session's token. @throws HttpError 401 if it is not valid */
export async function openSession(
  { tokens, directory, refresh }: Api,
  { context }: Request,
  text: string,
): Promise<UserToken> {
  const token = await verified(tokens.userOf(text), context.tenant);
  if (userOf(context.tenant, token) === undefined) {
    // Another process may have added the user, or changed the password, a moment ago.
    await refresh(`session ${token.tenant} ${token.userId} ${token.sessionId} ${token.credential}`);
    context.tenant = directory.tenant(token.tenant) ?? context.tenant;
  }
  const user = userOf(context.tenant, token);
  if (user === undefined) throw invalidToken('The session was ended, or the user was removed or has a new password.');
  context.user = user;
  context.actor = actorOf(user);
  return token;
}

export const actorOf = ({ id, firstName, lastName }: User): Actor => ({
  kind: 'user',
  id: String(id),
  name: `${firstName} ${lastName}`,
});

/** CSRF: browsers add the cookie by themselves, so a change must prove that no other site caused it. */
function refuseForgery(req: Request, ownOrigin: string): void {
  if (SAFE_METHODS.includes(req.method)) return;
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

/** The token's user, unless the session was ended or the password changed since it was opened. */
function userOf(tenant: Tenant, { userId, sessionId, credential }: UserToken): User | undefined {
  const user = tenant.users.get(userId);
  if (user === undefined || tenant.endedSessions.get(userId)?.has(sessionId) === true) return undefined;
  return credentialOf(user.passwordHash) === credential ? user : undefined;
}

/**
 * The signed-in user, who must have one of the roles; undefined for an API client that audits, which reads what an auditor
 * does. @throws HttpError 401 if nobody is signed in, 403 for other roles
 */
export async function requireRole(
  api: Api,
  req: Request,
  res: Response,
  { allow: group, withFirstPassword }: UserOperation,
): Promise<User | undefined> {
  // In areas without `authenticateUser`.
  if (req.context.user === undefined && !audits(req)) {
    await countingRefusals(identifyUser)(api, req, res);
    await limitCaller(api, req, res);
  }
  if (withFirstPassword !== true) refuseFirstPassword(req);
  const { user } = req.context;
  const roles: readonly Role[] = ROLE_GROUPS[group];
  if (user === undefined) {
    if (!audits(req)) throw missingToken();
    if (isRead(req) && roles.includes('auditor') && withFirstPassword !== true) return undefined;
    throw forbidden(`The scope ${AUDIT_SCOPE} reads, and changes nothing.`);
  }
  if (user.roles.some((role) => roles.includes(role))) return user;
  api.refusals.request(req.context, user, roles);
  throw forbidden(`This needs the role ${roles.join(' or ')}.`);
}

const isRead = ({ method }: Request): boolean => SAFE_METHODS.includes(method);

/** The user of an operation that API clients do not have. @throws HttpError 403 */
export function personOf(user: User | undefined): User {
  if (user === undefined) throw forbidden('This is for users of the platform.');
  return user;
}

/** The console's cookie: the same token, out of reach of scripts. */
export const SESSION_COOKIE = 'da_session';

/** Secure except on this machine: behind a proxy, TLS is not always visible here. */
const cookieOptions = (req: Request, config: Api['config']): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: '/',
  secure: req.secure || !isLoopbackHost(requestHost(req, config)),
});

export function setSessionCookie({ config }: Api, { req, res }: Call, token: string, expiresInSeconds: number): void {
  res.cookie(SESSION_COOKIE, token, { ...cookieOptions(req, config), maxAge: expiresInSeconds * 1000 });
}

export function clearSessionCookie({ config }: Api, { req, res }: Call): void {
  res.clearCookie(SESSION_COOKIE, cookieOptions(req, config));
}

/** The token in a Cookie header (RFC 6265 §4.2.1); undefined if there is none. */
function sessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=');
    if (name === SESSION_COOKIE && value !== undefined && value !== '') return value;
  }
  return undefined;
}
