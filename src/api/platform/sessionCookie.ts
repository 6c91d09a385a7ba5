/** The console's cookie: the same token as the bearer token, out of reach of scripts. */
import type { CookieOptions, Request, Response } from 'express';

export const SESSION_COOKIE = 'da_session';

const options = (req: Request): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: '/',
  secure: req.secure,
});

export function setSessionCookie(req: Request, res: Response, token: string, expiresInSeconds: number): void {
  res.cookie(SESSION_COOKIE, token, { ...options(req), maxAge: expiresInSeconds * 1000 });
}

export function clearSessionCookie(req: Request, res: Response): void {
  res.clearCookie(SESSION_COOKIE, options(req));
}

/** The token in a Cookie header (RFC 6265 §4.2.1); undefined when there is none. */
export function sessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=');
    if (name === SESSION_COOKIE && value !== undefined && value !== '') return value;
  }
  return undefined;
}
