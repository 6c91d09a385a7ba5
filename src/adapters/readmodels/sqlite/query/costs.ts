/**
 * Estimates by which the ways to a page are compared, in microseconds. A fetched row is a page or two of the file: 1 µs in
 * memory, and 130 from disk (bench/coldLists.js); an entry of an index is a hundredth of a page. These figures lie between.
 */
export const COSTS = {
  /** One entry of an index, tested by its own text. */
  scanned: 0.2,
  /** One entry of an index, looked up in a set of row numbers; and one number put into that set. */
  probed: 0.35,
  gathered: 0.25,
  /** One row fetched by its number, in the order of an index over something else. */
  fetched: 12,
  /** One row fetched in row order and tested. */
  read: 4,
  /** One match fetched in row order and put through the sorter. */
  collected: 12,
  /** The most that a walk along an index may cost, as a share of collecting: it may end without a full page. */
  walkShare: 0.6,
  /** A look-up that finds a larger share of the rows, which other conditions test, takes longer than a scan. */
  lookUpShare: 0.03,
  /** Fewer matches than this are kept with their filter as a list of rows. */
  listedRows: 16_000,
  /** In tables of up to so many records all matches are read into memory as they are counted, 8 bytes each: with a limit SQLite takes a third longer. */
  unlimitedRows: 2_000_000,
  /** In larger ones up to this share of the rows. */
  markedShare: 0.1,
  /** One match put into a set of row numbers in memory; and one row of a ranking looked up in it. */
  marked: 0.25,
  ranked: 0.002,
  /** Tables of fewer records need no ranking: their indexes are a few hundred pages. */
  rankedRows: 50_000,
  /** Milliseconds: a filtered page whose rows took longer to find uses a ranking the next time. */
  slowMs: 3,
  /** Unfiltered pages behind so many records do as well: to skip that part of an index on disk takes 3 ms. */
  far: 5_000,
};

export type Costs = Readonly<typeof COSTS>;
