/** How much the fuzzers try: little in `npm run test:all`, and the same each time; much in `npm run test:long`, and something new each time. */
import { scaled } from '../engines/timeScale.js';

const isLong = process.env.FUZZ_LONG !== undefined;

/** A run is repeated by giving its seed in FUZZ_SEED; each run prints it. */
export const SEED = Number(process.env.FUZZ_SEED ?? (isLong ? Date.now() % 2 ** 31 : 20_261_122));

/** @param usual in `npm run test:all` @param long in `npm run test:long`, unless FUZZ_CASES says otherwise */
export const casesOf = (usual: number, long: number): number =>
  Number(process.env.FUZZ_CASES ?? (isLong ? long : usual));

/** The longest that the health probe may wait, in milliseconds: a machine that runs other tests as well is slower. */
export const LONGEST_PROBE_MS = Number(process.env.FUZZ_PROBE_MS ?? scaled(3000));

/** For figures: jest's own console would put a stack trace under each line. */
export const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/** For a test that tries as much as this. */
export const LONGEST_RUN_MS = 3_600_000;
