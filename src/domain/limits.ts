/**
 * Limits on what one request may make the service do; docs/limits.md shows them all, with what is answered beyond each.
 * Those that an operator sets are in config.ts.
 */

/** Errors that one answer names; it tells how many more there are. */
export const MAX_ERRORS = 100;
