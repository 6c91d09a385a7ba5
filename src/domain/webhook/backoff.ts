/** When the attempts of a delivery are made (spec §6.4: 5 attempts, backoff between them). */

export const MAX_DELIVERY_ATTEMPTS = 5;

/** Waits before each attempt, in milliseconds: at once, 30 s, 2 min, 10 min, 1 h. */
export const DEFAULT_BACKOFF_MS: readonly number[] = [0, 30_000, 120_000, 600_000, 3_600_000];

/** A receiver may ask for a longer wait (Retry-After, RFC 9110 §10.2.3), up to this. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** Waits vary by this part, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * Wait before an attempt (1 to 5) in milliseconds, without jitter. Five waits or more: one for each attempt.
 * Fewer: the waits between attempts, of which the last repeats; the first attempt is then made at once.
 */
export function waitBefore(attempt: number, waits: readonly number[]): number {
  if (waits.length >= MAX_DELIVERY_ATTEMPTS) return waits[attempt - 1] ?? 0;
  return attempt === 1 ? 0 : (waits[Math.min(attempt - 2, waits.length - 1)] ?? 0);
}

/** The wait with its jitter; `random` is from 0 to 1. */
export const jittered = (waitMs: number, random: number): number =>
  Math.round(waitMs * (1 - JITTER + 2 * JITTER * random));

/** The shortest wait that jitter allows. */
export const shortest = (waitMs: number): number => Math.round(waitMs * (1 - JITTER));
