/** Which tables are small, the same for each engine: their records share tables or a collection (docs/decisions/0037, 0053). */

/**
 * With more records a table gets its own, with indexes. To test all records of a smaller one takes a millisecond or two,
 * while each table, collection and index is a definition or a file, which costs all tenants.
 */
export const SMALL_ROWS = 1_000;

/** With more bytes of documents it gets them as well: to index many long texts at once would hold up the projector. */
export const SMALL_BYTES = 1_000_000;
