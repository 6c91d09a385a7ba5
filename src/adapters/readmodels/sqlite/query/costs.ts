/** What the planner reckons with. Times are microseconds, measured on 1,000,000 rows (bench/readModels.js). */
export type Costs = {
  /** One entry of an index passed over and tested by its own text. */
  readonly scanned: number;
  /** One entry of an index looked up in a set of row numbers, and one number put into that set. */
  readonly probed: number;
  readonly gathered: number;
  /** One row fetched by its number, in the order of an index over something else. */
  readonly fetched: number;
  /** One match fetched in row order and put through the sorter: half of it where its page is in memory already. */
  readonly collected: number;
  /** What a walk may cost, as a share of what it saves when it succeeds. */
  readonly dared: number;
  /** Matches up to this many are kept with their filter, so that they are looked for once. */
  readonly keptRows: number;
  /** A walk along a sort index tests at least this many rows before it gives up. */
  readonly leastWalk: number;
  /** Ties in the first sort term up to this many are sorted at once. */
  readonly sortedTies: number;
};

export const COSTS: Costs = {
  scanned: 0.08,
  probed: 0.35,
  gathered: 0.25,
  fetched: 4,
  collected: 6,
  dared: 0.6,
  keptRows: 16_000,
  leastWalk: 2_000,
  sortedTies: 5_000,
};
