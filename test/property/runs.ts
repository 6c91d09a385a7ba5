/** How many random cases a property is tried with (RUNS takes the place of its own number), and from which seed. */
export const SEED = Number(process.env.SEED ?? 20_261_122);

export const runsOf = (usual: number): number => Number(process.env.RUNS ?? usual);

/** What fast-check takes. */
export const random = (usual: number) => ({ numRuns: runsOf(usual), seed: SEED });
