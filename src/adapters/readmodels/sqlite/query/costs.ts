/**
 * Estimates by which the ways to a page are compared: microseconds. A row fetched is a page or two read, 1 µs where they are
 * in memory and 130 where they are not (bench/coldLists.js); an entry of an index is a hundredth of a page. These lie between.
 */
export const COSTS = {
  /** One entry of an index passed over and tested by its own text. */
  scanned: 0.2,
  /** One entry of an index looked up in a set of row numbers, and one number put into that set. */
  probed: 0.35,
  gathered: 0.25,
  /** One row fetched by its number, in the order of an index over something else. */
  fetched: 12,
  /** One row fetched in row order and tested. */
  read: 4,
  /** One match fetched in row order and put through the sorter. */
  collected: 12,
  /** What a walk along an index may cost, as a share of the cost of collecting: it may end without a full page. */
  walkShare: 0.6,
  /** A look-up that finds a larger share of the rows takes longer, where they are tested by other conditions, than a scan. */
  lookUpShare: 0.03,
  /** So many rows: fewer matches than this are kept with their filter, so that they are looked for once. */
  listedRows: 16_000,
  /** Of tables of so many records all matches are put into memory as they are counted, 8 bytes each: with a limit SQLite takes a third longer. */
  unlimitedRows: 2_000_000,
  /** Of larger ones up to this share of the rows. */
  markedShare: 0.1,
  /** One match put into a set of row numbers in memory, and one row of a ranking asked for in it. */
  marked: 0.25,
  ranked: 0.002,
  /** Tables of fewer records need no ranking: their indexes are a few hundred pages. */
  rankedRows: 50_000,
  /** Milliseconds: the rows of a filtered page that took longer to find are found by a ranking the next time. */
  slowMs: 3,
  /** The same for unfiltered pages behind so many records: to pass over that part of an index that is not in memory takes 3 ms. */
  far: 5_000,
};

export type Costs = Readonly<typeof COSTS>;
