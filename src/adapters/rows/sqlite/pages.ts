/** Pages of rows: finds what holds the conditions, and reads the page from an index of its sort where there is one. */
import { LRUCache } from 'lru-cache';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { sortValue } from '../../../domain/row.js';
import type { Condition, FieldCondition, Page, PageQuery, StoredRow } from '../../../ports/rowStore.js';
import { baseOf, type Cell, columnOf, isText } from './cells.js';
import { type Sql, sortedBy, sqlOf } from './conditions.js';
import type { Connection, SpaceNow } from './connection.js';
import { NO_ROWS } from './connection.js';
import { sortSpec, textSpec } from './indexes.js';

/** Entries of an index that are passed for each row that is found, before collecting and sorting them is quicker. */
const ENTRIES_PER_ROW = 12.5;
const ENTRIES_AT_LEAST = 5_000;
/** So many rows are tested one by one. */
const FEW = 2_000;
/** Trigrams find nothing shorter. */
const SHORTEST_IN_TRIGRAMS = 3;
const KEPT_SETS_BYTES = 16 * 2 ** 20;

/** The caller has cancelled. */
export class NoLongerWantedError extends Error {
  override readonly name = 'NoLongerWantedError';
}
const STILL_WANTED = '(row & 1023 <> 0 OR still_wanted())';

/** Rows of a space, by their numbers: 1 where it is one of them. */
class RowSet {
  count = 0;
  readonly has: Uint8Array;

  /** @param next above the numbers of all rows */
  constructor(next: number) {
    this.has = new Uint8Array(next);
  }

  add(n: number): void {
    if (this.has[n] === 1) return;
    this.has[n] = 1;
    this.count += 1;
  }

  *numbers(direction: 'asc' | 'desc', behind?: number): Iterable<number> {
    const end = this.has.length;
    if (direction === 'asc') for (let n = (behind ?? 0) + 1; n < end; n += 1) if (this.has[n] === 1) yield n;
    if (direction === 'desc')
      for (let n = Math.min(behind ?? end, end) - 1; n > 0; n -= 1) if (this.has[n] === 1) yield n;
  }
}

/** Where the rows of a condition are found without looking at each of the space. The first ones are the quickest. */
type Access = { readonly rank: number; readonly from: string; readonly row: string; readonly test: Sql };

type Found = { readonly total: number; readonly rows: Iterable<StoredRow | undefined> };

/** The pages of one tenant. */
export class Pages {
  readonly #connection: Connection;
  /** What was found, until the space changes. */
  readonly #sets = new LRUCache<string, { readonly state: string; readonly set: RowSet }>({
    maxSize: KEPT_SETS_BYTES,
    sizeCalculation: ({ set }, key) => set.has.length + key.length + 1,
  });
  /** Which statements of this moment ask for, and which they add to. */
  #members = new RowSet(0);
  #collected = new RowSet(0);
  #wanted = new Set<string>();
  #parsed: { readonly text: string; readonly fields: Fields } = { text: '', fields: {} };

  /** @param isWanted asked now and then within long statements */
  constructor(connection: Connection, isWanted: () => boolean) {
    this.#connection = connection;
    const { db } = connection;
    db.function('still_wanted', () => {
      if (!isWanted()) throw new NoLongerWantedError('Nobody waits for the answer any more.');
      return 1;
    });
    db.function('sort_of', (field, data) => {
      const text = String(data);
      if (this.#parsed.text !== text) this.#parsed = { text, fields: JSON.parse(text) };
      return sortValue(ownValue(this.#parsed.fields, String(field)) ?? null);
    });
    db.function('collect', (n) => this.#collected.add(Number(n)));
    db.function('is_member', (n) => this.#members.has[Number(n)] ?? 0);
  }

  /** @returns `wanted`: the indexes with which it would have been found sooner */
  page(name: string, query: PageQuery): { readonly page: Page; readonly wanted: readonly string[] } {
    const now = this.#connection.spaceNow(name);
    if (now === undefined) {
      const state = { ...NO_ROWS, progress: this.#connection.position() };
      return { page: { rows: [], ...(query.withTotal && { total: 0 }), state }, wanted: [] };
    }
    this.#wanted = new Set();
    const { at } = query;
    const { total, rows } =
      at !== undefined && at < now.state.changed ? this.#pageAt(now, query, at) : this.#pageNow(now, query);
    const page = { rows: cut(rows, query.maxCharacters), ...(query.withTotal && { total }), state: now.state };
    return { page, wanted: [...this.#wanted] };
  }

  #pageNow(now: SpaceNow, query: PageQuery): Found {
    const { conditions, sort, offset, limit, behind, withTotal } = query;
    const { rows } = now.state;
    const direction = sort[0]?.field === 'n' ? sort[0].direction : undefined;
    const base = baseOf(now.space);
    const [only] = conditions;
    if (limit === 0 && conditions.length === 1 && only?.kind === 'outsideBatch') {
      const sql = 'SELECT count(*) FROM seen WHERE row > ? AND row < ? AND batch = ?';
      const inside = this.#connection.column<number>(sql).get(base, base + now.next, only.batch) ?? 0;
      return { total: rows - inside, rows: [] };
    }
    const isFound = conditions.length > 0 && (direction === undefined || withTotal || this.#isQuick(now, conditions));
    const set = isFound ? this.#matching(now, conditions) : undefined;
    const total = set?.count ?? rows;
    let numbers: readonly number[];
    if (direction === undefined) numbers = this.#sorted(now, set, query);
    else if (set !== undefined) numbers = [...taken(set.numbers(direction, behind), offset, limit)];
    else {
      // Found while they are read. Where nothing was ever deleted, the page's place is known.
      const isDense = conditions.length === 0 && rows === now.next - 1;
      const skipped = isDense ? offset : 0;
      const from = direction === 'asc' ? base + (behind ?? 0) + skipped : base;
      const to = direction === 'asc' ? base + now.next : base + Math.min(behind ?? now.next, now.next) - skipped;
      const test = sqlOf(conditions, now.space);
      numbers = this.#numbers(now, 'rows', `row > ? AND row < ? AND ${test.text}`, `row ${direction}`, [
        from,
        to,
        ...test.cells,
        limit,
        offset - skipped,
      ]);
    }
    return { total, rows: read(numbers, (n) => this.#connection.row(base + n)) };
  }

  #numbers({ space }: SpaceNow, from: string, where: string, by: string, cells: readonly Cell[]): readonly number[] {
    const sql = `SELECT row - ${baseOf(space)} FROM ${from} WHERE ${where} AND ${STILL_WANTED} ORDER BY ${by} LIMIT ? OFFSET ?`;
    return this.#connection.column<number>(sql).all(...cells);
  }

  #sorted(now: SpaceNow, set: RowSet | undefined, { sort, offset, limit }: PageQuery): readonly number[] {
    const { rows } = now.state;
    const total = set?.count ?? rows;
    const base = baseOf(now.space);
    const isMember = set === undefined ? '1' : `is_member(row - ${base})`;
    if (set !== undefined) this.#members = set;
    const order = sortSpec(now.space, sort);
    const index = order && this.#index(now, (spec) => spec === order.spec, order.spec);
    const count = Math.max(0, Math.min(limit, total - offset));
    // From the nearer end.
    const isFromEnd = total - offset - count < offset;
    const passed = isFromEnd ? total - offset - count : offset;
    if (
      index !== undefined &&
      ((passed + count) * rows) / Math.max(1, total) < total * ENTRIES_PER_ROW + ENTRIES_AT_LEAST
    ) {
      const isForwards = (direction: string) => (direction === 'asc') !== isFromEnd;
      const by = sort.map((term) => `${sortedBy(term, now.space)} ${isForwards(term.direction) ? 'ASC' : 'DESC'}`);
      const where = `space = ${now.space.number} AND ${isMember}`;
      const found = this.#numbers(now, `rows INDEXED BY ${index}`, where, by.join(', '), [count, Math.max(0, passed)]);
      return isFromEnd ? found.toReversed() : found;
    }
    const by = sort.map((term) => `${sortedBy(term, now.space)} ${term.direction}`).join(', ');
    const { from, test } = this.#rest(now, set);
    return this.#numbers(now, from, test.text, by, [...test.cells, limit, offset]);
  }

  /** Few rows one by one, else by looking at each of the space. */
  #rest({ space, next, state }: SpaceNow, set: RowSet | undefined): Omit<Access, 'rank'> {
    const base = baseOf(space);
    if (set !== undefined && set.count <= state.rows / 8) {
      const cells = [JSON.stringify([...set.numbers('asc')])];
      return { from: 'rows', row: 'row', test: { text: `row IN (SELECT ${base} + value FROM json_each(?))`, cells } };
    }
    const isMember = set === undefined ? '1' : `is_member(row - ${base})`;
    return {
      from: 'rows NOT INDEXED',
      row: 'row',
      test: { text: `row > ? AND row < ? AND ${isMember}`, cells: [base, base + next] },
    };
  }

  /** The rows as they were: those that have not changed since, and the states that ended later. */
  #pageAt(now: SpaceNow, query: PageQuery, at: number): Found {
    const { conditions, sort, offset, limit, behind, withTotal } = query;
    const base = baseOf(now.space);
    const isUp = sort[0]?.direction !== 'desc';
    const [from, to] = [behind !== undefined && isUp ? behind : 0, behind !== undefined && !isUp ? behind : now.next];
    const sides = (['rows', 'past'] as const).map((table) => {
      const test = sqlOf(conditions, now.space, table);
      // Most rows have not changed: reading all in their order is quicker than by an index.
      const where =
        table === 'rows'
          ? `rows NOT INDEXED WHERE from_pos <= ?`
          : `past INDEXED BY past_to WHERE space = ${now.space.number} AND to_pos > ? AND from_pos <= ?`;
      const rest = `FROM ${where} AND row > ? AND row < ? AND ${test.text} AND ${STILL_WANTED}`;
      const cellsOf = (after: number, before: number) => [
        ...(table === 'rows' ? [at] : [at, at]),
        base + after,
        base + before,
        ...test.cells,
      ];
      const columns = [
        table === 'rows' ? `row AS n, 'rows' AS source` : `n, 'past' AS source`,
        ...sort.map((term) => sortedBy(term, now.space)),
      ];
      const select = `SELECT ${columns.join(', ')} ${rest}`;
      return { rest, select, cells: cellsOf(from, to), all: cellsOf(0, now.next) };
    });
    const by = sort.map(({ direction }, i) => `${i + 3} ${direction}`).join(', ');
    const places = this.#connection
      .query<{ n: number; source: 'rows' | 'past' }>(
        `${sides.map(({ select }) => select).join(' UNION ALL ')} ORDER BY ${by} LIMIT ? OFFSET ?`,
      )
      .all(...sides.flatMap(({ cells }) => cells), limit, offset);
    let total = 0;
    for (const { rest, all } of withTotal ? sides : [])
      total += this.#connection.column<number>(`SELECT count(*) ${rest}`).get(...all) ?? 0;
    return { total, rows: read(places, ({ n, source }) => this.#connection.row(n, source)) };
  }

  /** The rows that hold all conditions, of which there is at least one. */
  #matching(now: SpaceNow, conditions: readonly Condition[]): RowSet {
    const key = `${now.space.number} ${JSON.stringify(conditions)}`;
    // Pieces of a clean-up are of one position.
    const state = `${now.state.changed} ${now.state.rows}`;
    const kept = this.#sets.get(key);
    if (kept?.state === state) return kept.set;
    const ways = conditions.map((condition) => ({ condition, all: this.#accesses(now, condition) }));
    const left: Condition[] = [];
    let set: RowSet | undefined;
    for (const { condition, all } of ways.toSorted((a, b) => rankOf(a.all) - rankOf(b.all)))
      if (all === undefined || (set !== undefined && set.count <= FEW)) left.push(condition);
      else set = this.#collect(now, all, set);
    if (left.length > 0) {
      const { test, ...rest } = this.#rest(now, set);
      const { text, cells } = sqlOf(left, now.space);
      set = this.#collect(
        now,
        [{ ...rest, rank: 0, test: { text: `${test.text} AND ${text}`, cells: [...test.cells, ...cells] } }],
        set,
      );
    }
    set ??= new RowSet(0);
    this.#sets.set(key, { state, set });
    return set;
  }

  /** @param among only those */
  #collect(now: SpaceNow, all: readonly Access[], among: RowSet | undefined): RowSet {
    const base = baseOf(now.space);
    this.#collected = new RowSet(now.next);
    if (among !== undefined) this.#members = among;
    for (const { from, row, test } of all) {
      const isMember = among === undefined ? '1' : `is_member(${row} - ${base})`;
      const wanted = STILL_WANTED.replace('row', row);
      const sql = `SELECT count(collect(${row} - ${base})) FROM ${from} WHERE ${test.text} AND ${isMember} AND ${wanted}`;
      this.#connection.column(sql).get(...test.cells);
    }
    return this.#collected;
  }

  #isQuick(now: SpaceNow, conditions: readonly Condition[]): boolean {
    return conditions.some((condition) => rankOf(this.#accesses(now, condition)) <= 1);
  }

  #accesses(now: SpaceNow, condition: Condition): readonly Access[] | undefined {
    switch (condition.kind) {
      case 'any': {
        const all = condition.anyOf.map((each) => this.#accesses(now, each));
        return all.includes(undefined) ? undefined : all.flatMap((each) => each ?? []);
      }
      case 'outsideBatch':
      case 'differs':
        return undefined;
      default: {
        const access = this.#access(now, condition);
        return access && [access];
      }
    }
  }

  #access(now: SpaceNow, condition: FieldCondition): Access | undefined {
    const { space } = now;
    const column = columnOf(space, condition.kind === 'ids' ? 'id' : condition.field);
    if (column === undefined) return undefined;
    const test = sqlOf([condition], space);
    if (condition.kind === 'contains') {
      const field = space.assetType.fields.find(({ name }) => name === condition.field);
      if (field === undefined || !isText(field)) return undefined;
      if (condition.anyOf.every((part) => [...part].length >= SHORTEST_IN_TRIGRAMS)) {
        const index = this.#index(now, (spec) => spec === textSpec(column), textSpec(column));
        if (index !== undefined) {
          const match = condition.anyOf.map((part) => `"${part.replaceAll('"', '""')}"`).join(' OR ');
          const matches = { text: `${index} MATCH ?`, cells: [match === '' ? '""' : match] };
          return { rank: 1, from: index, row: `(rowid + ${baseOf(space)})`, test: matches };
        }
        return undefined;
      }
    }
    const index = this.#index(now, (spec) => spec === column || spec.startsWith(`${column}, `), `${column}, id`);
    if (index === undefined) return undefined;
    const rank = condition.kind === 'contains' ? 3 : condition.kind === 'ids' || condition.kind === 'equals' ? 0 : 2;
    return {
      rank,
      from: `rows INDEXED BY ${index}`,
      row: 'row',
      test: { ...test, text: `space = ${space.number} AND ${test.text}` },
    };
  }

  /** The name of an index that can be used, which is asked for otherwise. */
  #index({ indexes }: SpaceNow, isIt: (spec: string) => boolean, spec: string): string | undefined {
    if (isIt('id')) return 'rows_id';
    const index = indexes.find((each) => each.upto === null && isIt(each.spec));
    if (index === undefined) this.#wanted.add(spec);
    return index?.name;
  }
}

const rankOf = (all: readonly Access[] | undefined): number =>
  all === undefined ? Number.POSITIVE_INFINITY : Math.max(0, ...all.map(({ rank }) => rank));

function* taken<Each>(all: Iterable<Each>, offset: number, limit: number): Iterable<Each> {
  let place = 0;
  if (limit === 0) return;
  for (const each of all) {
    place += 1;
    if (place > offset) yield each;
    if (place === offset + limit) return;
  }
}

function* read<Place>(
  places: readonly Place[],
  row: (place: Place) => StoredRow | undefined,
): Iterable<StoredRow | undefined> {
  for (const place of places) yield row(place);
}

/** Ends before the row with which it is too long. */
function cut(rows: Iterable<StoredRow | undefined>, maxCharacters: number): readonly StoredRow[] {
  const page: StoredRow[] = [];
  let length = 0;
  for (const row of rows) {
    if (row === undefined) continue;
    length += row.data.length;
    if (page.length > 0 && length > maxCharacters) break;
    page.push(row);
  }
  return page;
}
