/** Rate limits of API clients (spec §8), told to them in RateLimit fields (draft-ietf-httpapi-ratelimit-headers). */
import { HttpError } from './errors.js';
import type { Check } from './routes/operation.js';

export const tooManyRequests = (reason: string, retryAfterSeconds: number): HttpError =>
  new HttpError(429, 'Too many requests.', reason, { 'Retry-After': String(Math.max(1, retryAfterSeconds)) });

/** After authentication: each client has a bucket of its own; a tenant's setting goes before the service's. */
export const limitClient: Check = ({ config, clientBuckets }, req, res) => {
  const { tenant, actor } = req.context;
  const limit = tenant.rateLimit ?? config.rateLimit;
  if (limit.perSecond <= 0) return;
  const key = `${tenant.name} ${actor.kind} ${actor.id}`;
  const { isTaken, left, secondsToNext: seconds } = clientBuckets.take(key, limit);
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond));
  res.setHeader('RateLimit-Policy', `"client";q=${limit.burst};w=${windowSeconds}`);
  res.setHeader('RateLimit', `"client";r=${left};t=${seconds}`);
  if (!isTaken) {
    throw tooManyRequests(`At most ${limit.perSecond} requests a second, ${limit.burst} at once.`, seconds);
  }
};
