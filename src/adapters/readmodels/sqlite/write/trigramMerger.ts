/**
 * Merges the segments of trigram indexes. FTS5 writes a segment for each transaction, and by itself merges only segments of
 * one size: a table filled by a thousand batches is left with some ten, and each filter reads all of them.
 */
import type { Database, Statement } from '../../../openSqlite.js';
import { LIVE } from '../ddl.js';
import type { TableLayout } from '../layout.js';
import { trigramTable } from '../ownTables.js';
import { inTransaction } from './transactions.js';

/**
 * Pages of FTS5 (4 kB) that one transaction writes: 2 to 4 ms; 1,000,000 places have 36,000. A transaction ends between two
 * trigrams: one that 400,000 records have takes 14 ms.
 */
const PAGES_A_PIECE = 64;
/** Smaller segments wait until they have this share of all pages, so that each page is rewritten few times. */
const LEAST_SHARE = 1 / 8;
/** An index is merged when it has changed by no more than this share since the last round: not while it is being filled. */
const CALM_SHARE = 1 / 64;
/** So many tables are checked in one piece, 20 µs each. */
const TABLES_A_PIECE = 50;

type Table = { readonly id: number; readonly layout: string };
type Merging = { readonly id: number; readonly index: string };

export class TrigramMerger {
  readonly #db: Database;
  readonly #tables: Statement<[number, number], Table>;
  readonly #isServed: Statement<[number], number>;
  readonly #changes: Statement<[], number>;
  /** Id of the last table that this round has checked. */
  #checkedUpTo = 0;
  /** Pages of each index in the round before, and in this one. */
  #before: ReadonlyMap<string, number> = new Map();
  #now = new Map<string, number>();
  #merging: Merging | undefined;

  constructor(db: Database) {
    this.#db = db;
    this.#tables = db.prepare(
      `SELECT id, layout FROM catalog WHERE copy = ${LIVE} AND made = 1 AND small = 0 AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#isServed = db.prepare<[number], number>(`SELECT 1 FROM catalog WHERE copy = ${LIVE} AND id = ?`).pluck();
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck();
  }

  /** One piece, in a transaction of its own. @returns whether this round has more */
  async mergeSome(): Promise<boolean> {
    try {
      if (this.#merging === undefined) return await this.#look();
      if (!(await this.#merge(this.#merging, PAGES_A_PIECE))) this.#merging = undefined;
      return true;
    } catch {
      // Unmerged segments are only slower. A full disk or a damaged index is reported by writes and by the proof.
      this.#merging = undefined;
      return false;
    }
  }

  /** Finds the next index to merge, and begins with it. */
  async #look(): Promise<boolean> {
    const tables = this.#tables.all(this.#checkedUpTo, TABLES_A_PIECE);
    for (const { id, layout } of tables) {
      this.#checkedUpTo = id;
      const { trigramIndexes }: TableLayout = JSON.parse(layout);
      const indexes = Array.from({ length: trigramIndexes }, (_, number) => trigramTable(id, number));
      const [index] = indexes.filter((each) => this.#isDue(each));
      if (index === undefined) continue;
      this.#merging = { id, index };
      // Negative: merges all segments, not only many of one size.
      await this.#merge(this.#merging, -PAGES_A_PIECE);
      return true;
    }
    if (tables.length === TABLES_A_PIECE) return true;
    this.#checkedUpTo = 0;
    this.#before = this.#now;
    this.#now = new Map();
    return false;
  }

  #isDue(index: string): boolean {
    const sizes = segmentSizes(this.#db, index);
    const pages = sizes.reduce((sum, size) => sum + size, 0);
    const before = this.#before.get(index);
    this.#now.set(index, pages);
    const isCalm = before !== undefined && Math.abs(pages - before) <= pages * CALM_SHARE;
    return isCalm && sizes.length > 1 && pages - Math.max(...sizes) >= pages * LEAST_SHARE;
  }

  /** @returns whether there was anything to merge: FTS5 then changes two rows or more */
  async #merge({ id, index }: Merging, pages: number): Promise<boolean> {
    const before = this.#changes.get() ?? 0;
    await inTransaction(this.#db, () => {
      // A rebuild may have replaced the table, also while this transaction waited for the rebuild's.
      if (this.#isServed.get(id) === undefined) return;
      this.#db.prepare<[number]>(`INSERT INTO ${index} (${index}, rank) VALUES ('merge', ?)`).run(pages);
    });
    return (this.#changes.get() ?? 0) - before >= 2;
  }
}

/** FTS5 numbers a segment's pages within its id's own range: see fts5_index.c, "Segment Leaf Rowids". */
const SEGMENT_BITS = 37;
const PAGE_BITS = 31;

/** Pages of each segment, about: the distance between its first and its last one. */
export function segmentSizes(db: Database, index: string): readonly number[] {
  const page = (which: 'min' | 'max'): string =>
    `(SELECT ${which}(d.id) FROM ${index}_data AS d
      WHERE d.id BETWEEN (segment.id << ${SEGMENT_BITS}) AND (segment.id << ${SEGMENT_BITS}) + (1 << ${PAGE_BITS}) - 1)`;
  return db
    .prepare<[], number>(
      `WITH RECURSIVE segment (id) AS (
         SELECT min(segid) FROM ${index}_idx UNION ALL
         SELECT (SELECT min(segid) FROM ${index}_idx WHERE segid > segment.id) FROM segment WHERE segment.id IS NOT NULL)
       SELECT ${page('max')} - ${page('min')} + 1 FROM segment WHERE id IS NOT NULL`,
    )
    .pluck()
    .all();
}
