/** Engines that are killed and come back, browsers and commands take their time: a hang ends after a minute here. */
jest.setTimeout(60_000 * Number(process.env.TEST_TIME_SCALE ?? 1));
