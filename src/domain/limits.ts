/**
 * Limits on what one request may make the service do; docs/limits.md shows them all, with what is answered beyond each.
 * Those that an operator sets are in config.ts.
 */

/** Errors that one answer names; it tells how many more there are. */
export const MAX_ERRORS = 100;

/** Bytes of the records or entries on one page of a list: a larger page is refused, as it would fill the memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** Bytes of the records that one decision reads, such as those that a batch names. */
export const MAX_DECISION_BYTES = 32 * 1024 * 1024;
