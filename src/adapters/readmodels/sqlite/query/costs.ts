/** Estimates by which the ways to a page are compared: microseconds, measured on 1,000,000 rows (bench/readModels.js). */
export const COSTS = {
  /** One entry of an index passed over and tested by its own text. */
  scanned: 0.08,
  /** One entry of an index looked up in a set of row numbers, and one number put into that set. */
  probed: 0.35,
  gathered: 0.25,
  /** One row fetched by its number, in the order of an index over something else. */
  fetched: 4,
  /** One match fetched in row order and put through the sorter: half of it where its page is in memory already. */
  collected: 6,
  /** What a walk along an index may cost, as a share of the cost of collecting: it may end without a full page. */
  walkShare: 0.6,
  /** A look-up that finds a larger share of the rows takes longer, where they are tested by other conditions, than a scan. */
  lookUpShare: 0.03,
  /** So many rows: fewer matches than this are kept with their filter, so that they are looked for once. */
  listedRows: 16_000,
};

export type Costs = Readonly<typeof COSTS>;
