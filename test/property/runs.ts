/** How many random cases a property is tried with (RUNS, where it is more than its own number), and from which seed. */
export const SEED = Number(process.env.SEED ?? 20_261_122);

/** What fast-check takes. */
export const random = (usual: number) => ({ numRuns: Math.max(usual, Number(process.env.RUNS ?? 0)), seed: SEED });
