/** How long deleted records are kept: for undos, for keys that come back, and for readers of changes. */
import { KEPT_DELETED_DAYS } from '../limits.js';

const DAY_MS = 86_400_000;

/**
 * Records deleted before this time are no longer needed at `at`; '' when `at` is no time.
 * @param at ISO 8601; time of the clean-up that is applied, not the clock, so that a rebuild gives the same result
 */
export function forgottenBefore(at: string): string {
  const time = Date.parse(at);
  return Number.isNaN(time) ? '' : new Date(time - KEPT_DELETED_DAYS * DAY_MS).toISOString();
}
