/** What the repetition of tests on the production engines (project `repeated` of jest.config.cjs) does differently. */

/** Whether this run is the repetition: the same files register other tests. */
export const isRepetition = process.env.REPEATED_ON_PRODUCTION_ENGINES !== undefined;

/**
 * As `it.each`, for what a request decides with the log and the directory, before the read models or the broker are asked:
 * it is the same on all engines of theirs, so it is not repeated.
 */
export const itOfRequests: Pick<typeof it, 'each'> = {
  get each() {
    return isRepetition ? () => () => undefined : it.each;
  },
};
