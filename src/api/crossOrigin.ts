/**
 * CORS (Fetch standard, §3.3): pages of the origins that the operator names may call the API. Credentials are not
 * allowed: a browser sends no session cookie along, so a page needs a token.
 */
import type { RequestHandler } from 'express';
import { METHODS } from './routes/operation.js';

/** Besides the CORS-safelisted response headers (Fetch standard). */
const EXPOSED = [
  'Allow',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'Projection-Pending',
  'Projection-Staleness',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/** How long a browser may cache the preflight answer. */
const MAX_AGE_SECONDS = '3600';

/** Comes before tenant, token and rates: a preflight request has no token. */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  return ({ method, headers }, res, next) => {
    res.vary('Origin');
    if (headers.origin === undefined || !allowed.has(headers.origin)) return next();
    res.setHeader('Access-Control-Allow-Origin', headers.origin);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      res.setHeader('Access-Control-Expose-Headers', EXPOSED);
      return next();
    }
    res.vary('Access-Control-Request-Headers');
    res.setHeader('Access-Control-Allow-Methods', ['HEAD', ...METHODS].join(', '));
    const fields = headers['access-control-request-headers'];
    if (fields !== undefined) res.setHeader('Access-Control-Allow-Headers', fields);
    res.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS);
    res.status(204).end();
  };
}
