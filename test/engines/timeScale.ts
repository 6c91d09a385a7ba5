/**
 * How many times longer the time limits of the tests are than on two idle cores. TEST_TIME_SCALE sets it for a machine that is
 * slower, or that does other work beside the tests; jest.config.cjs reads it too.
 */
const TIME_SCALE = Number(process.env.TEST_TIME_SCALE ?? 1);

/** A limit that tells right from wrong by time. What tests wait for is no limit: it is not scaled. */
export const scaled = (limitMs: number): number => limitMs * TIME_SCALE;
