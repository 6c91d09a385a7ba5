/** When the attempts of a delivery are made (spec §6.4: 5 attempts, backoff between them), and how other delays grow. */

export const MAX_DELIVERY_ATTEMPTS = 5;

/** A receiver may ask for a longer backoff (Retry-After, RFC 9110 §10.2.3), up to this. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** Delays vary by this part, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * Backoff before an attempt (1 to 5) in milliseconds, without jitter.
 * @param backoffMs five or more: one for each attempt. Fewer: those between attempts, of which the last repeats; the
 *   first attempt is then made at once
 */
export function backoffBefore(attempt: number, backoffMs: readonly number[]): number {
  if (backoffMs.length >= MAX_DELIVERY_ATTEMPTS) return backoffMs[attempt - 1] ?? 0;
  return attempt === 1 ? 0 : (backoffMs[Math.min(attempt - 2, backoffMs.length - 1)] ?? 0);
}

/** The delay with its jitter; `random` is from 0 to 1. */
export const jittered = (delayMs: number, random: number): number =>
  Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));

/** The shortest delay that jitter allows. */
export const shortest = (delayMs: number): number => Math.round(delayMs * (1 - JITTER));

/** A delay that doubles with each redelivery of a message, up to the longest. */
export const doubled = (firstMs: number, longestMs: number, redeliveries: number): number =>
  Math.min(longestMs, firstMs * 2 ** redeliveries);
