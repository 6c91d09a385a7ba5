/** Token buckets for rate limits. */
import { LRUCache } from 'lru-cache';
import type { RateLimit } from '../domain/identity/events.js';

/** Beyond this many, the buckets that were idle longest are dropped. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { tokens: number; filledAt: number };

/** Refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });

  /**
   * Takes a token if there is one.
   * @returns whole tokens left, and seconds until the next one, rounded up; 0 if there is one
   */
  take(key: string, { perSecond, burst }: RateLimit) {
    const now = performance.now();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAt: now };
      this.#buckets.set(key, bucket);
    }
    const filled = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    const isTaken = filled >= 1;
    const rest = isTaken ? filled - 1 : filled;
    bucket.tokens = rest;
    bucket.filledAt = now;
    return { isTaken, left: Math.floor(rest), secondsToNext: Math.max(0, Math.ceil((1 - rest) / perSecond)) };
  }
}
