/** Who of the people is asking, and what their roles allow. */
import { createHash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Tenant, User } from '../../domain/identity/directory.js';
import type { Role } from '../../domain/identity/scopes.js';
import { bearerToken, invalidToken, missingToken } from '../auth/bearer.js';
import { InvalidTokenError, type UserToken } from '../auth/tokens.js';
import type { ApiDeps } from '../deps.js';
import type { DirectoryRefresh } from '../directoryRefresh.js';
import { HttpError } from '../errors.js';
import { requestOrigin } from '../tenantHost.js';
import { sessionCookie } from './sessionCookie.js';

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Ties a session to the password it was opened with: a new password ends it. */
export const credentialOf = (user: User): string =>
  createHash('sha256').update(user.passwordHash).digest('base64url').slice(0, 16);

/**
 * Middleware: the request must come from a user of its tenant, by bearer token or by the console's cookie.
 * The user is looked up each time, so a removal, other roles and a new password count at once.
 */
export function authenticateUser(
  { tokens, config, directory }: Pick<ApiDeps, 'tokens' | 'config' | 'directory'>,
  refresh: DirectoryRefresh,
): RequestHandler {
  return async (req, _res, next) => {
    const { context } = req;
    const bearer = bearerToken(req.headers.authorization);
    const text = bearer ?? sessionCookie(req.headers.cookie);
    if (text === undefined) throw missingToken();
    if (bearer === undefined) refuseForgery(req, requestOrigin(req, config));
    const token = await verified(tokens, text);
    if (token.tenant !== context.tenant.name) throw invalidToken('The token belongs to another tenant.');
    if (userOf(context.tenant, token) === undefined) {
      // Another process may have added the user, or changed the password, a moment ago.
      await refresh.run();
      context.tenant = directory.tenant(token.tenant) ?? context.tenant;
    }
    const user = userOf(context.tenant, token);
    if (user === undefined) throw invalidToken('The user was removed, or has a new password; sign in again.');
    context.actor = { kind: 'user', id: String(user.id), name: `${user.firstName} ${user.lastName}` };
    next();
  };
}

/** A browser sends the cookie by itself, so a change must show that it was not another site that made it do so. */
function refuseForgery(req: Request, ownOrigin: string): void {
  if (SAFE_METHODS.includes(req.method)) return;
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw new HttpError(
      415,
      'Unsupported media type.',
      'With the session cookie, send Content-Type: application/json (also without a body), or use the bearer token.',
    );
  }
  const { origin } = req.headers;
  if (origin !== undefined && origin !== ownOrigin) {
    throw new HttpError(
      403,
      'Forbidden.',
      `The session cookie is accepted from the origin ${ownOrigin} only. (Behind a proxy, TRUST_PROXY must be set.)`,
    );
  }
}

async function verified(tokens: ApiDeps['tokens'], token: string): Promise<UserToken> {
  try {
    return await tokens.userOf(token);
  } catch (error) {
    throw error instanceof InvalidTokenError ? invalidToken(error.message) : error;
  }
}

/** The token's user, if there still is one with the password that the session was opened with. */
function userOf(tenant: Tenant, token: UserToken): User | undefined {
  const user = tenant.users.get(token.userId);
  return user !== undefined && credentialOf(user) === token.credential ? user : undefined;
}

export type UserHandler = (req: Request, res: Response, user: User) => void | Promise<void>;

/** A handler for users that have one of the roles; 403 for others. Comes after `authenticateUser`. */
export function allow(roles: readonly Role[], handle: UserHandler): RequestHandler {
  return (req, res) => {
    const { actor, tenant } = req.context;
    const user = tenant.users.get(Number(actor.id));
    if (user === undefined) throw missingToken();
    if (!user.roles.some((role) => roles.includes(role))) {
      throw new HttpError(403, 'Forbidden.', `This needs the role ${roles.join(' or ')}.`);
    }
    return handle(req, res, user);
  };
}

export const ANY_ROLE: readonly Role[] = ['admin', 'validator', 'auditor'];
export const VALIDATORS: readonly Role[] = ['admin', 'validator'];
export const ADMINS: readonly Role[] = ['admin'];
export const ADMINS_AND_AUDITORS: readonly Role[] = ['admin', 'auditor'];
