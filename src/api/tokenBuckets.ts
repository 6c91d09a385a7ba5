/** Token buckets: what a client, or a guesser of secrets, may still do. */
import { LRUCache } from 'lru-cache';
import type { RateLimit } from '../domain/identity/events.js';

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

/** Refused token requests of one client id from one address; requests with good credentials do not count. */
export class GuessLimit {
  readonly #buckets = new TokenBuckets();
  readonly #limit: RateLimit;

  /** @param perMinute 0 for no limit */
  constructor(perMinute: number) {
    this.#limit = { perSecond: perMinute / 60, burst: perMinute };
  }

  /** Seconds until another guess is allowed; 0 when it is. */
  secondsToWait(guess: string): number {
    return this.#limit.burst <= 0 ? 0 : this.#buckets.secondsToNext(guess, this.#limit, performance.now());
  }

  failed(guess: string): void {
    if (this.#limit.burst > 0) this.#buckets.take(guess, this.#limit, performance.now());
  }
}
