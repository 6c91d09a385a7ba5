/** Token buckets: what a client, or a guesser of secrets, may still do. */
import { LRUCache } from 'lru-cache';
import type { RateLimit } from '../domain/identity/events.js';

/** Buckets that have been idle longest are forgotten beyond this many. */
const KNOWN_BUCKETS = 50_000;

type Bucket = { readonly tokens: number; readonly filledAt: number };

/** Refills `perSecond` tokens a second up to `burst`. */
export class TokenBuckets {
  readonly #buckets = new LRUCache<string, Bucket>({ max: KNOWN_BUCKETS });

  /**
   * Takes the tokens wanted where they are there; 0 only looks.
   * @returns whole tokens left then, and the seconds until the bucket holds one, rounded up; 0 when it does
   */
  take(key: string, { perSecond, burst }: RateLimit, wanted: 0 | 1 = 1) {
    const now = performance.now();
    const { tokens, filledAt } = this.#buckets.get(key) ?? { tokens: burst, filledAt: now };
    const filled = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
    const isTaken = filled >= wanted;
    const rest = isTaken ? filled - wanted : filled;
    this.#buckets.set(key, { tokens: rest, filledAt: now });
    return { isTaken, left: Math.floor(rest), secondsToNext: Math.max(0, Math.ceil((1 - rest) / perSecond)) };
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
    return this.#limit.burst <= 0 ? 0 : this.#buckets.take(guess, this.#limit, 0).secondsToNext;
  }

  failed(guess: string): void {
    if (this.#limit.burst > 0) this.#buckets.take(guess, this.#limit);
  }
}
