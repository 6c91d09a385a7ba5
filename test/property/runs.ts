/** How many random cases a property is tried with (RUNS takes the place of its own number), and from which seed. */
export const SEED = Number(process.env.SEED ?? 20_261_122);

/** What fast-check takes. */
export const random = (usual: number) => ({ numRuns: Number(process.env.RUNS ?? usual), seed: SEED });
