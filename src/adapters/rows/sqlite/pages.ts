/** Pages of rows: finds what holds the conditions, and reads the page from an index of its sort where there is one. */
import { LRUCache } from 'lru-cache';
import type { Condition, Page, PageQuery, Sort, StoredRow } from '../../../ports/rowStore.js';
import { baseOf, type Space } from './cells.js';
import { fieldSql } from './conditions.js';
import type { SpaceNow } from './connection.js';
import { NO_ROWS } from './connection.js';
import type { Functions } from './functions.js';
import { type IndexSpec, indexOfSort, type SortTerm } from './indexes.js';
import type { RowSet } from './rowSet.js';
import { Search } from './search.js';

/** Entries of an index that are passed for each row that is looked for, before collecting and sorting them is quicker. */
const ENTRIES_PER_ROW = 12.5;
const ENTRIES_AT_LEAST = 5_000;
const KEPT_SETS_BYTES = 8 * 2 ** 20;

type Found = {
  readonly page: Page;
  /** Indexes with which it would have been found sooner. */
  readonly wanted: readonly IndexSpec[];
};

/** The pages of one tenant. */
export class Pages {
  readonly #functions: Functions;
  /** What was found, until the space changes. */
  readonly #sets = new LRUCache<string, { readonly writes: number; readonly set: RowSet }>({
    maxSize: KEPT_SETS_BYTES,
    sizeCalculation: ({ set }, key) => set.bytes + key.length + 1,
  });

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  page(name: string, query: PageQuery): Found {
    this.#functions.forget();
    const { connection } = this.#functions;
    const now = connection.spaceNow(name);
    if (now === undefined) {
      const state = { ...NO_ROWS, progress: connection.position() };
      return { page: { rows: [], ...(query.withTotal && { total: 0 }), state }, wanted: [] };
    }
    const search = new Search(this.#functions, now);
    const { at } = query;
    const { total, rows } =
      at !== undefined && at < now.state.changed
        ? this.#pageAt(now, search, query, at)
        : this.#pagePresent(now, search, query);
    const page = { rows: cut(rows, query.maxCharacters), ...(query.withTotal && { total }), state: now.state };
    return { page, wanted: search.wanted };
  }

  #pagePresent(now: SpaceNow, search: Search, query: PageQuery): Rows {
    const { conditions, sort, offset, limit, behind, withTotal } = query;
    const { connection } = this.#functions;
    const [first] = sort;
    const [only] = conditions;
    if (limit === 0 && conditions.length === 1 && only?.kind === 'outsideBatch')
      return { total: now.state.rows - this.#countOfBatch(now, only.batch), rows: [] };
    let numbers: Iterable<number>;
    let total = now.state.rows;
    if (first?.field === 'n' && !withTotal && !conditions.some((condition) => search.isQuick(condition))) {
      numbers = this.#streamed(now, search, query);
    } else {
      const set = conditions.length === 0 ? undefined : this.#matching(now, search, conditions);
      total = set?.count ?? total;
      numbers =
        first?.field === 'n'
          ? this.#byNumber(now, search, set, first.direction, offset, behind)
          : this.#sorted(now, search, set, query);
    }
    return { total, rows: rowsOf(numbers, limit, (n) => connection.row(baseOf(now.space) + n)) };
  }

  /** Found while they are read, in the order of creation. */
  #streamed(now: SpaceNow, search: Search, { conditions, sort, offset, limit, behind }: PageQuery): readonly number[] {
    const direction = sort[0]?.direction ?? 'asc';
    const base = baseOf(now.space);
    const test = search.sqlOf(conditions);
    const from = direction === 'asc' ? (behind ?? 0) : 0;
    const to = direction === 'desc' ? Math.min(behind ?? now.next, now.next) : now.next;
    return this.#functions.connection
      .column<number>(
        `SELECT row - ${base} FROM rows WHERE row > ? AND row < ? AND ${test.text} AND (row & 1023 <> 0 OR still_wanted())
         ORDER BY row ${direction} LIMIT ? OFFSET ?`,
      )
      .all(base + from, base + to, ...test.cells, limit, offset);
  }

  #byNumber(
    now: SpaceNow,
    search: Search,
    set: RowSet | undefined,
    direction: Sort['direction'],
    offset: number,
    behind: number | undefined,
  ): Iterable<number> {
    const isDense = now.state.rows === now.next - 1;
    if (set === undefined && isDense)
      return direction === 'asc'
        ? upwards((behind ?? 0) + 1 + offset, now.next)
        : downwards(Math.min(behind ?? now.next, now.next) - 1 - offset);
    const all = set ?? this.#kept(now, 'all', () => search.all());
    if (behind === undefined) return all.numbers(direction, offset);
    return skipping(all.numbers(direction), offset, (n) => (direction === 'asc' ? n > behind : n < behind));
  }

  #sorted(
    now: SpaceNow,
    search: Search,
    set: RowSet | undefined,
    { sort, offset, limit }: PageQuery,
  ): readonly number[] {
    const rows = now.state.rows;
    const total = set?.count ?? rows;
    const base = baseOf(now.space);
    const order = indexOfSort(now.space, sort);
    const index = order && now.indexes.sorts.find(({ terms }) => isSame(terms, order.terms));
    if (order !== undefined && index !== undefined) {
      const taken = Math.max(0, Math.min(limit, total - offset));
      const fromEnd = total - offset - taken;
      const isFromEnd = fromEnd < offset;
      const isBackwards = order.backwards !== isFromEnd;
      const by = [...order.terms, { column: 'row', descending: false }]
        .map(({ column, descending }) => `${column} ${descending === isBackwards ? 'ASC' : 'DESC'}`)
        .join(', ');
      const passed = isFromEnd ? fromEnd : offset;
      const sql = (test: string) =>
        `SELECT row - ${base} FROM rows INDEXED BY ${index.name} WHERE space = ${now.space.number} AND ${test}
         ORDER BY ${by} LIMIT ? OFFSET ?`;
      const atMost = total * ENTRIES_PER_ROW + ENTRIES_AT_LEAST;
      const isWorth = ((passed + taken) * rows) / Math.max(1, total) < atMost;
      const found =
        set === undefined
          ? this.#functions.connection.column<number>(sql('1')).all(taken, passed)
          : isWorth
            ? this.#functions.among(set, atMost, sql(`is_member(row - ${base})`), [taken, passed])
            : undefined;
      if (found !== undefined) return isFromEnd ? found.toReversed() : found;
    } else if (order !== undefined) search.wanted.push({ kind: 'sort', terms: order.terms });
    return this.#collected(now, set, sort, offset, limit);
  }

  /** Without an index, or where few rows of many are sorted. */
  #collected(
    now: SpaceNow,
    set: RowSet | undefined,
    sort: readonly Sort[],
    offset: number,
    limit: number,
  ): readonly number[] {
    const base = baseOf(now.space);
    const by = sort.map((term) => `${sortedBy(term, now.space, 'rows')} ${term.direction}`).join(', ');
    const sql = (where: string) =>
      `SELECT row - ${base} FROM rows WHERE ${where} AND (row & 1023 <> 0 OR still_wanted()) ORDER BY ${by} LIMIT ? OFFSET ?`;
    const range = `row > ${base} AND row < ${base + now.next}`;
    const { connection } = this.#functions;
    if (set === undefined) return connection.column<number>(sql(range)).all(limit, offset);
    if (set.count > now.state.rows / 8)
      return this.#functions.among(set, now.next, sql(`${range} AND is_member(row - ${base})`), [limit, offset]) ?? [];
    const among = `row IN (SELECT ${base} + value FROM json_each(?))`;
    return connection.column<number>(sql(among)).all(JSON.stringify([...set.numbers()]), limit, offset);
  }

  /** The rows as they were: those that have not changed since, and the states that ended later. */
  #pageAt(now: SpaceNow, search: Search, query: PageQuery, at: number): Rows {
    const { conditions, sort, offset, limit, behind, withTotal } = query;
    const { connection } = this.#functions;
    const { number } = now.space;
    const isUp = sort[0]?.direction !== 'desc';
    const place = behind === undefined ? '' : ` AND row ${isUp ? '>' : '<'} ${baseOf(now.space) + behind}`;
    const sides = (['rows', 'past'] as const).map((from) => {
      const test = search.sqlOf(conditions, from);
      const since = from === 'rows' ? 'from_pos <= ?' : 'to_pos > ? AND from_pos <= ?';
      // Most rows have not changed: reading all in their order is quicker than by an index.
      const table = from === 'rows' ? 'rows NOT INDEXED' : 'past INDEXED BY past_to';
      const range =
        from === 'rows' ? `row > ${baseOf(now.space)} AND row < ${baseOf(now.space) + now.next}` : `space = ${number}`;
      return {
        from,
        rest: `FROM ${table} WHERE ${range} AND ${since}${place} AND ${test.text} AND (row & 1023 <> 0 OR still_wanted())`,
        cells: [...(from === 'rows' ? [at] : [at, at]), ...test.cells],
      };
    });
    const columns = ({ from }: (typeof sides)[number]) =>
      [from === 'rows' ? 'row, 0' : 'n, 1', ...sort.map((term) => sortedBy(term, now.space, from))].join(', ');
    const by = sort.map(({ direction }, i) => `${i + 3} ${direction}`).join(', ');
    const found = connection
      .tuples<[row: number, isPast: 0 | 1]>(
        `SELECT * FROM (${sides.map((side) => `SELECT ${columns(side)} ${side.rest}`).join(' UNION ALL ')})
         ORDER BY ${by} LIMIT ? OFFSET ?`,
      )
      .all(...sides.flatMap(({ cells }) => cells), limit, offset);
    let total = 0;
    for (const { rest, cells } of withTotal ? sides : [])
      total += connection.column<number>(`SELECT count(*) ${rest}`).get(...cells) ?? 0;
    const rows = rowsOf(found, limit, ([row, isPast]) =>
      isPast ? connection.pastRow(row, now.space) : connection.row(row),
    );
    return { total, rows };
  }

  #matching(now: SpaceNow, search: Search, conditions: readonly Condition[]): RowSet {
    // Batch ids change while the rows stay.
    if (conditions.some(({ kind }) => kind === 'outsideBatch')) return search.matching(conditions);
    return this.#kept(now, JSON.stringify(conditions), () => search.matching(conditions));
  }

  #kept({ space, writes }: SpaceNow, name: string, find: () => RowSet): RowSet {
    const key = `${space.number} ${name}`;
    const known = this.#sets.get(key);
    if (known?.writes === writes) return known.set;
    const set = find();
    this.#sets.set(key, { writes, set });
    return set;
  }

  #countOfBatch({ space, next }: SpaceNow, batch: string): number {
    const base = baseOf(space);
    const sql = `SELECT count(*) FROM seen WHERE row > ${base} AND row < ? AND batch = (SELECT batch FROM batches WHERE id = ?)`;
    return this.#functions.connection.column<number>(sql).get(base + next, batch) ?? 0;
  }
}

type Rows = { readonly total: number; readonly rows: Iterable<StoredRow> };

function* rowsOf<Place>(
  places: Iterable<Place>,
  limit: number,
  read: (place: Place) => StoredRow | undefined,
): Iterable<StoredRow> {
  let count = 0;
  for (const place of places) {
    if (count === limit) return;
    const row = read(place);
    if (row === undefined) continue;
    count += 1;
    yield row;
  }
}

/** Ends before the row with which it is too long. */
function cut(rows: Iterable<StoredRow>, maxCharacters: number): readonly StoredRow[] {
  const page: StoredRow[] = [];
  let length = 0;
  for (const row of rows) {
    length += row.data.length;
    if (page.length > 0 && length > maxCharacters) break;
    page.push(row);
  }
  return page;
}

const isSame = (a: readonly SortTerm[], b: readonly SortTerm[]): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What a row is sorted by, as SQL. */
const sortedBy = ({ field }: Sort, space: Space, from: 'rows' | 'past'): string =>
  field === 'n' ? 'row' : fieldSql(space, field, from);

function* upwards(first: number, end: number): Iterable<number> {
  for (let n = first; n < end; n += 1) yield n;
}

function* downwards(first: number): Iterable<number> {
  for (let n = first; n > 0; n -= 1) yield n;
}

function* skipping(numbers: Iterable<number>, offset: number, isBehind: (n: number) => boolean): Iterable<number> {
  let left = offset;
  for (const n of numbers) {
    if (!isBehind(n)) continue;
    if (left > 0) left -= 1;
    else yield n;
  }
}
