/**
 * Authenticates API clients by bearer token (RFC 6750), and people by the same or the console's cookie; and checks what they
 * may do. Client and user are looked up for each request, so that removal, new roles, a new secret or password and sign-out
 * take effect at once.
 */
import type { Request, Response } from 'express';
import { recordAccess } from '../../commands/identity/access.js';
import { credentialOf, liveHashes } from '../../commands/identity/secrets.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { AccessEvent, ApiClient, SessionEvent, User } from '../../domain/identity/events.js';
import {
  AUDIT_SCOPE,
  isOfPeople,
  type PermissionOfPeople,
  permissionsOfRoles,
  permissionsOfScopes,
  rolesWith,
} from '../../domain/identity/scopes.js';
import { withTimeout } from '../../supervision/deadline.js';
import type { Api } from '../deps.js';
import {
  forbidden,
  type HttpError,
  invalidToken,
  isSafe,
  REALM,
  unauthenticated,
  unsupportedMediaType,
} from '../errors.js';
import { countingRefusals, limitCaller } from '../rateLimit.js';
import type { Principal } from '../requestContext.js';
import { type Check, knownAsset, type Operation, permissionOn } from '../routes/operation.js';
import { requestOrigin } from '../tenantHost.js';
import type { ClientToken, UserToken } from './tokens.js';

const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750 §2.1); undefined if it is absent or malformed. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];

const missingToken = (): HttpError => unauthenticated('Send an access token: Authorization: Bearer <token>.');

/** The token, and whose it is: a client or user of this tenant as it is now. @throws HttpError 401 */
async function current<T extends { readonly tenant: string }, Owner>(
  { directory }: Api,
  context: Request['context'],
  verifying: Promise<T>,
  ownerOf: (tenant: Tenant, token: T) => Owner | undefined,
): Promise<readonly [T, Owner]> {
  const token = await verifying;
  if (token.tenant !== context.tenant.name) throw invalidToken('The token belongs to another tenant.');
  const known = ownerOf(context.tenant, token);
  if (known !== undefined) return [token, known];
  // Another process may have made the client, the user or the secret a moment ago.
  await directory.refresh();
  context.tenant = directory.tenant(token.tenant) ?? context.tenant;
  const owner = ownerOf(context.tenant, token);
  if (owner === undefined)
    throw invalidToken('The session was ended, or its user or client was removed or has a new secret.');
  return [token, owner];
}

/** Requires a valid token of an API client of the tenant. @throws HttpError 401 */
export const authenticateClient: Check = async (api, { headers, context }) => {
  const text = bearerToken(headers.authorization);
  if (text === undefined) throw missingToken();
  const [{ client_id: id, permissions }, { name, scopes }] = await current(
    api,
    context,
    api.tokens.verify('client', text),
    clientOf,
  );
  // A scope may have been taken since.
  const now = permissionsOfScopes(scopes);
  const both = new Set([...permissions].filter((each) => now.has(each)));
  context.principal = { actor: { kind: 'client', id, name }, permissions: both };
};

/** The token's client, if its secret is still valid. */
function clientOf({ clients }: Tenant, { client_id, credential }: ClientToken): ApiClient | undefined {
  const client = clients.get(client_id);
  return client && liveHashes(client).some((hash) => credentialOf(hash) === credential) ? client : undefined;
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
  if (bearerToken(req.headers.authorization) === undefined) {
    await openSession(api, req, text);
    return refuseForgery(req, requestOrigin(req, api.config));
  }
  if (!api.tokens.isOfClient(text)) return void (await openSession(api, req, text));
  await authenticateClient(api, req, res);
  if (req.context.principal?.permissions.has(AUDIT_SCOPE) !== true) throw invalidToken('The token is not valid here.');
};

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
export async function openSession(api: Api, { context }: Request, text: string): Promise<UserToken> {
  const [token, user] = await current(api, context, api.tokens.verify('user', text), userOf);
  context.principal = { ...principalOf(user), sessionId: token.jti };
  return token;
}

export const principalOf = (user: User): Principal => ({
  actor: { kind: 'user', id: String(user.id), name: `${user.firstName} ${user.lastName}` },
  permissions: permissionsOfRoles(user.roles),
  user,
});

/** The token's user, unless the session was ended or the password changed since it was opened. */
function userOf(tenant: Tenant, { user_id, jti, credential }: UserToken): User | undefined {
  const user = tenant.users.get(user_id);
  // Only an opened one or none is known of a session that goes on.
  const session = tenant.sessions.get(user_id)?.get(jti);
  if (user === undefined || (session !== undefined && session.opened === undefined)) return undefined;
  return credentialOf(user.passwordHash) === credential ? user : undefined;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** CSRF: browsers add the cookie by themselves, so a change must prove that no other site caused it. */
function refuseForgery(req: Request, ownOrigin: string): void {
  if (isSafe(req.method)) return;
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

/** Refusals of a tenant: so an attacker adds few events to the log, whatever they send. The access log has all. */
const REFUSALS_NOTED = { burst: 10, perSecond: 10 / 60 };
const NOTED_WITHIN_MS = 2_000;

/** In the log, for auditors. It may fail: people sign in while the log takes no events, as on a full disk, and can read. */
export async function noteAccess(
  { buckets, commands, log }: Api,
  context: Request['context'],
  event: AccessEvent | SessionEvent,
): Promise<void> {
  if (event.type !== 'SignedIn' && !buckets.take(`${context.tenant.name} refusals`, REFUSALS_NOTED).isTaken) return;
  // Who signs in is not authenticated.
  const actor = event.type === 'SignInRefused' ? { kind: 'system' as const, id: 'sign-in' } : context.actor;
  const noted = recordAccess(commands, context.callerAs(actor), event);
  await withTimeout(NOTED_WITHIN_MS, 'The log does not answer.', noted).catch((error: unknown) =>
    log.warn({ err: error, requestId: context.requestId }, `${event.type} may not be noted in the event log`),
  );
}

/** Requires what the operation needs. @throws NotFoundError for an unknown table; HttpError 403; 401 if nobody is signed in */
export function authorize(api: Api, req: Request, res: Response, operation: Operation): void | Promise<void> {
  if (operation.tables !== undefined) knownAsset(req);
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
  if (user === undefined && !(isAllowed && isSafe(req.method) && !withFirstPassword))
    throw forbidden(`The scope ${AUDIT_SCOPE} reads, and changes nothing.`);
  if (isAllowed || user === undefined) return;
  const roles = rolesWith(permission);
  void noteAccess(api, context, { type: 'RequestRefused', data: { userId: user.id, roles, times: 1 } });
  throw forbidden(`This needs the role ${roles.join(' or ')}.`);
}
