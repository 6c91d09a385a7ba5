/** Rate limits as token buckets (spec §8), told to clients in RateLimit fields (draft-ietf-httpapi-ratelimit-headers). */
import type { RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import type { RateLimit } from '../domain/identity/events.js';
import type { ApiDeps } from './deps.js';
import { HttpError } from './errors.js';

/** Buckets that have been idle longest are forgotten beyond this many. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { tokens: number; filledAt: number };

/** Refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });

  /** Whole tokens left in a bucket. @param nowMs any clock that only goes forward */
  left(key: string, limit: RateLimit, nowMs: number): number {
    return Math.floor(this.#filled(key, limit, nowMs).tokens);
  }

  /** Takes a token; false when there is none. */
  take(key: string, limit: RateLimit, nowMs: number): boolean {
    const bucket = this.#filled(key, limit, nowMs);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Seconds until the bucket holds a token, rounded up; 0 when it does. */
  secondsToNext(key: string, limit: RateLimit, nowMs: number): number {
    return Math.max(0, Math.ceil((1 - this.#filled(key, limit, nowMs).tokens) / limit.perSecond));
  }

  #filled(key: string, limit: RateLimit, nowMs: number): Bucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: limit.burst, filledAt: nowMs };
      this.#buckets.set(key, bucket);
      return bucket;
    }
    const refilled = bucket.tokens + ((nowMs - bucket.filledAt) / 1000) * limit.perSecond;
    bucket.tokens = Math.min(limit.burst, refilled);
    bucket.filledAt = nowMs;
    return bucket;
  }
}

export const tooManyRequests = (reason: string, retryAfterSeconds: number): HttpError =>
  new HttpError(429, 'Too many requests.', reason, { 'Retry-After': String(Math.max(1, retryAfterSeconds)) });

/** Middleware, after authentication: each client has a bucket of its own; a tenant's setting goes before the service's. */
export function limitClients({ config }: Pick<ApiDeps, 'config'>): RequestHandler {
  const buckets = new TokenBuckets();
  return (req, res, next) => {
    const { tenant, actor } = req.context;
    const limit = tenant.rateLimit ?? config.rateLimit;
    if (limit.perSecond <= 0) {
      next();
      return;
    }
    const key = `${tenant.name} ${actor.kind} ${actor.id}`;
    const now = performance.now();
    const admitted = buckets.take(key, limit, now);
    const seconds = buckets.secondsToNext(key, limit, now);
    const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond));
    res.setHeader('RateLimit-Policy', `"client";q=${limit.burst};w=${windowSeconds}`);
    res.setHeader('RateLimit', `"client";r=${buckets.left(key, limit, now)};t=${seconds}`);
    if (!admitted)
      throw tooManyRequests(`At most ${limit.perSecond} requests a second, ${limit.burst} at once.`, seconds);
    next();
  };
}
