/** Estimates by which the ways to a page are compared: microseconds, measured on 1,000,000 rows (bench/readModels.js). */
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
  /** What a walk along an index may cost, as a share of the cost of collecting: it may end without a full page. */
  readonly walkShare: number;
  /** So many rows: fewer matches than this are kept with their filter, so that they are looked for once. */
  readonly listedRows: number;
};

export const COSTS: Costs = {
  scanned: 0.08,
  probed: 0.35,
  gathered: 0.25,
  fetched: 4,
  collected: 6,
  walkShare: 0.6,
  listedRows: 16_000,
};
