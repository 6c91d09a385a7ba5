/** The console's cookie, which has the token of a session. */
import type { CookieOptions, Request } from 'express';
import { SESSION_COOKIE } from '../auth/principal.js';
import type { Api } from '../deps.js';
import type { Call } from '../routes/operation.js';
import { isLoopbackHost, requestHost } from '../tenantHost.js';

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
