/**
 * Tests of what a request decides together with the log and the directory, before the read models or the broker are asked:
 * it is the same on all engines of theirs, so these tests are left out where a file is repeated on the production engines.
 */
export const REPEATED = 'REPEATED_ON_PRODUCTION_ENGINES';

/** As `it.each`. */
export const itOfRequests: Pick<typeof it, 'each'> = {
  get each() {
    return process.env[REPEATED] === undefined ? it.each : () => () => undefined;
  },
};
