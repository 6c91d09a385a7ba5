/**
 * A ranking: the row numbers of a large table in the order of one of its indexes, in memory. Any page of that order, filtered
 * or not, is found without reading the index. It is of one moment; rows that changed since are kept beside it.
 */
import { LIVE } from '../ddl.js';
import { indexOf, recordsTable } from '../ownTables.js';
import { RowBits } from '../query/rowSet.js';
import type { ReadConnection, ReadTable } from '../read/readConnection.js';
import { ALL_ROWS, MAX_CHANGED_ROWS, ROWS_CHANGED_SINCE } from './changedRows.js';

/** As it was made. All threads share its memory. */
export type MadeRanking = {
  readonly tenant: string;
  readonly table: number;
  /** The index's column: rows are in the order of (column, id), ascending. */
  readonly column: string;
  readonly rows: Uint32Array<SharedArrayBuffer>;
  /** The largest row number. */
  readonly lastRow: number;
  /** The table's count of changes then. */
  readonly changes: number;
};

/** Bytes of a row number. */
export const BYTES_A_ROW = Uint32Array.BYTES_PER_ELEMENT;

/** A table whose row numbers are larger has no ranking. */
const MAX_ROW = 2 ** (8 * BYTES_A_ROW) - 1;

/** `onPiece` is called after so many rows. */
const ROWS_A_PIECE = 10_000;

const STATE = `SELECT row_count, changes, next_row FROM catalog WHERE id = ? AND copy = ${LIVE} AND made = 1 AND small = 0`;

/**
 * Reads a ranking from its index, in one snapshot.
 * @param onPiece may throw, which ends the work
 * @returns undefined if the table is gone or has more than `mostRows` rows
 */
export function makeRanking(
  connection: ReadConnection,
  name: RankingName,
  { mostRows, onPiece }: { readonly mostRows: number; readonly onPiece: () => void },
): MadeRanking | undefined {
  const { table, column } = name;
  return connection.inSnapshot(() => {
    const [state] = connection.all<{ row_count: number; changes: number; next_row: number }>(STATE, [table]);
    if (state === undefined || state.row_count > mostRows || state.next_row > MAX_ROW) return undefined;
    const rows = new Uint32Array(new SharedArrayBuffer(state.row_count * BYTES_A_ROW));
    let [count, lastRow] = [0, 0];
    const inOrder = `SELECT row AS value FROM ${recordsTable(table)} INDEXED BY ${indexOf(table, column)} ORDER BY ${column}, id`;
    connection.forEach<number>(inOrder, [], (row) => {
      rows[count] = row;
      count += 1;
      lastRow = Math.max(lastRow, row);
      if (count % ROWS_A_PIECE === 0) onPiece();
    });
    if (count !== state.row_count)
      throw new Error(`Table ${table} has ${count} rows, its catalog says ${state.row_count}.`);
    return { ...name, rows, lastRow, changes: state.changes };
  });
}

/** The rows that a page is taken from, and how many they are. */
type MatchingRows = { readonly rows: RowBits; readonly total: number };

/** A changed row, and its place in the order now. */
type Entry = { readonly row: number; readonly value: OrderedCell; readonly id: OrderedCell };

/** Rows in order, which the caller asks for one by one. */
type Sequence = { readonly length: number; readonly rowAt: (index: number) => number };

export class Ranking {
  readonly #made: MadeRanking;
  /** All changes of the table up to this count, and all rows up to this number, are known. */
  #changes: number;
  #lastRow: number;
  /** Rows that were changed, added or deleted since it was made; `#entries` has those that exist, in order. */
  readonly #changed = new Set<number>();
  #entries: readonly Entry[] = [];
  /** The positions that changed rows had, ascending; undefined until needed. */
  #gaps: readonly number[] | undefined = [];

  constructor(made: MadeRanking) {
    this.#made = made;
    this.#changes = made.changes;
    this.#lastRow = made.lastRow;
  }

  /** Brings it up to the table's state. @returns false if to make it again is cheaper */
  follow(connection: ReadConnection, table: ReadTable): boolean {
    if (table.changes === this.#changes) return true;
    const room = MAX_CHANGED_ROWS + 1 - this.#changed.size;
    if (table.changes < this.#changes || room <= 0) return false;
    const changed = connection.column<number>(ROWS_CHANGED_SINCE, [table.id, this.#changes, room]);
    const added = connection.column<number>(
      `SELECT row FROM ${table.shape.parts.records.rows} WHERE row > ? ORDER BY row LIMIT ?`,
      [this.#lastRow, room],
    );
    // Only the latest changed rows are kept: so many may not be all.
    if (changed.length === room || changed.includes(ALL_ROWS)) return false;
    const rows = new Set([...changed, ...added]);
    for (const row of rows) this.#changed.add(row);
    if (this.#changed.size > MAX_CHANGED_ROWS) return false;
    this.#place(rows, entryReader(connection, table, this.#made.column));
    if (changed.some((row) => row <= this.#made.lastRow)) this.#gaps = undefined;
    this.#lastRow = added.at(-1) ?? this.#lastRow;
    this.#changes = table.changes;
    return true;
  }

  #place(rows: ReadonlySet<number>, entryOf: (row: number) => Entry | undefined): void {
    const entries = this.#entries.filter(({ row }) => !rows.has(row));
    for (const row of rows) {
      const entry = entryOf(row);
      if (entry === undefined) continue;
      const at = firstWhere(0, entries.length, (index) => isBehind(entries[index], entry));
      entries.splice(at, 0, entry);
    }
    this.#entries = entries;
  }

  /**
   * The rows from one position of the ascending order up to another one; undefined if there are not so many.
   * @param matching only these rows count; default: all
   */
  page(
    { connection, table }: { readonly connection: ReadConnection; readonly table: ReadTable },
    { from, to }: Span,
    matching?: MatchingRows,
  ): readonly number[] | undefined {
    const entries = matching === undefined ? this.#entries : this.#entries.filter(({ row }) => matching.rows.has(row));
    const unchanged =
      matching === undefined
        ? this.#unchanged()
        : this.#matching(matching, { from: from - entries.length, to }, entries.length);
    const entryOf = entryReader(connection, table, this.#made.column);
    const isPast = (index: number, entry: Entry): boolean => isBehind(entryOf(unchanged.rowAt(index)), entry);
    const entriesBefore = (index: number): number => {
      const place = entryOf(unchanged.rowAt(index));
      return firstWhere(0, entries.length, (at) => isBehind(entries[at], place));
    };

    // The page is merged from two ordered lists. `next` unchanged rows come before it, and all others before it are entries.
    let next = firstWhere(
      Math.max(0, from - entries.length),
      Math.min(from, unchanged.length),
      (index) => index + entriesBefore(index) >= from,
    );
    let nextEntry = from - next;
    const rows: number[] = [];
    while (rows.length < to - from) {
      const entry = entries[nextEntry];
      const end = Math.min(unchanged.length, next + to - from - rows.length);
      const before = entry === undefined ? end : firstWhere(next, end, (index) => isPast(index, entry));
      for (; next < before; next++) rows.push(unchanged.rowAt(next));
      if (rows.length === to - from) break;
      if (entry === undefined) return undefined;
      rows.push(entry.row);
      nextEntry += 1;
    }
    return rows;
  }

  #unchanged(): Sequence {
    const { rows } = this.#made;
    this.#gaps ??= this.#positionsOfChanged();
    const gaps = this.#gaps;
    // Each gap before a row pushes it back by one.
    const gapsBefore = (index: number): number => firstWhere(0, gaps.length, (gap) => (gaps[gap] ?? 0) - gap > index);
    return { length: rows.length - gaps.length, rowAt: (index) => rows[index + gapsBefore(index)] ?? 0 };
  }

  #positionsOfChanged(): readonly number[] {
    const { rows, lastRow } = this.#made;
    const changed = new RowBits(lastRow + 1);
    for (const row of this.#changed) if (row <= lastRow) changed.add(row);
    const positions: number[] = [];
    for (let index = 0; index < rows.length; index++) if (changed.has(rows[index] ?? 0)) positions.push(index);
    return positions;
  }

  /** The unchanged rows that match, from a position on: searched from the nearer end. */
  #matching({ rows: bits, total }: MatchingRows, { from, to }: Span, changedCount: number): Sequence {
    const length = total - changedCount;
    const [first, end] = [Math.max(0, from), Math.min(to, length)];
    const isUnchanged = (row: number): boolean => bits.has(row) && !this.#changed.has(row);
    const found =
      end <= length - first
        ? some(this.#made.rows, isUnchanged, { skip: first, wanted: end - first, step: 1 })
        : some(this.#made.rows, isUnchanged, { skip: length - end, wanted: end - first, step: -1 }).reverse();
    return { length: first + found.length, rowAt: (index) => found[index - first] ?? 0 };
  }
}

type Span = { readonly from: number; readonly to: number };

function entryReader(connection: ReadConnection, table: ReadTable, column: string): (row: number) => Entry | undefined {
  const statement = connection.tuples<[value: OrderedCell, id: OrderedCell]>(
    `SELECT ${orderedCell(column)}, id FROM ${table.shape.parts.records.rows} WHERE row = ?`,
  );
  return (row) => {
    const [value, id] = statement.get(row) ?? [];
    return value === undefined || id === undefined ? undefined : { row, value, id };
  };
}

const isBehind = (one: Entry | undefined, other: Entry | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  (compareCells(one.value, other.value) || compareCells(one.id, other.id)) > 0;

function some(
  rows: Uint32Array,
  isWanted: (row: number) => boolean,
  { skip, wanted, step }: { readonly skip: number; readonly wanted: number; readonly step: 1 | -1 },
): number[] {
  const found: number[] = [];
  let left = skip;
  for (let index = step === 1 ? 0 : rows.length - 1; found.length < wanted; index += step) {
    const row = rows[index];
    if (row === undefined) break;
    if (!isWanted(row)) continue;
    if (left > 0) left -= 1;
    else found.push(row);
  }
  return found;
}

/** The first index from `low` on, below `high`, for which `isTrue`; `high` if there is none. It must be true for all later ones. */
function firstWhere(low: number, high: number, isTrue: (index: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (isTrue(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** A value to compare. Text is its bytes, as SQLite's may be no valid string of JavaScript. */
type OrderedCell = number | null | Buffer;

/** SQL that reads it from a column. */
const orderedCell = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END`;

/** Negative if SQLite sorts `one` before `other`: null, then numbers, then text. */
function compareCells(one: OrderedCell, other: OrderedCell): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other)) return Buffer.compare(one, other);
  return kindOf(one) - kindOf(other);
}

const kindOf = (cell: OrderedCell): number => (cell === null ? 0 : typeof cell === 'number' ? 1 : 2);

/** The table, and the column of the index. */
export type RankingName = Pick<MadeRanking, 'tenant' | 'table' | 'column'>;

export const rankingKey = ({ tenant, table, column }: RankingName): string => `${tenant} ${table} ${column}`;

/** The rankings of a reader thread, and its requests for others. */
export class Rankings {
  readonly #rankings = new Map<string, Ranking>();
  readonly #want: (name: RankingName) => void;

  /** @param want called with each ranking that would have made a slow page quick */
  constructor(want: (name: RankingName) => void) {
    this.#want = want;
  }

  want(name: RankingName): void {
    this.#want(name);
  }

  keep(made: MadeRanking): void {
    this.#rankings.set(rankingKey(made), new Ranking(made));
  }

  forget(name: RankingName): void {
    this.#rankings.delete(rankingKey(name));
  }

  /** Brought up to the table's state; undefined if there is none, or too much has changed. */
  get(connection: ReadConnection, table: ReadTable, name: RankingName): Ranking | undefined {
    const ranking = this.#rankings.get(rankingKey(name));
    if (ranking?.follow(connection, table) === false) {
      this.forget(name);
      return undefined;
    }
    return ranking;
  }
}
