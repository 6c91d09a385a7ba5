/**
 * Requests that pages of other origins make from a browser (Fetch standard, §3.3 "CORS protocol"): allowed for the origins
 * that the operator names. Without credentials: a browser sends no session cookie along, a page needs a token of its own.
 */
import type { RequestHandler } from 'express';
import { METHODS } from './routes/operation.js';

/** Besides those that any page may read (Fetch standard, "CORS-safelisted response-header name"). */
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

/** How long a browser need not ask again. */
const MAX_AGE_SECONDS = '3600';

/** Before tenant, token and rates: a browser asks first, without a token, whether it may ask. */
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
