/** For how long it is known what a clean-up has deleted: for its undo, for keys that come back, and for those who follow changes. */
import { KEPT_DELETED_DAYS } from '../limits.js';

const DAY_MS = 86_400_000;

/**
 * What clean-ups before this time have deleted need not be known at `at`; '' where `at` is no time.
 * @param at ISO 8601; of the clean-up that is applied, so a rebuild comes to the same
 */
export function forgottenBefore(at: string): string {
  const time = Date.parse(at);
  return Number.isNaN(time) ? '' : new Date(time - KEPT_DELETED_DAYS * DAY_MS).toISOString();
}
