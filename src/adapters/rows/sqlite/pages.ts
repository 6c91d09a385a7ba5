/** Pages of rows: finds what holds the conditions, and reads the page from an index of its sort where there is one. */
import { LRUCache } from 'lru-cache';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { sortValue } from '../../../domain/row.js';
import type { Condition, Page, PageQuery, Sort, StoredRow } from '../../../ports/rowStore.js';
import type { Database } from '../../openSqlite.js';
import { orderSql, type Sql, sqlOf, valueSql } from './conditions.js';
import { Connection, type SpaceNow } from './connection.js';
import { sortSpec, textSpec } from './indexes.js';
import { baseOf, type Cell, columnOf, isText } from './layout.js';

/** Entries of an index that are passed for each row that is found, before collecting and sorting them is quicker. */
const ENTRIES_PER_ROW = 12.5;
const ENTRIES_AT_LEAST = 5_000;
const FEW = 2_000;
const SHORTEST_IN_TRIGRAMS = 3;
/** Rows that were created later than an index of trigrams, before their trigrams are written. */
const MOST_LATER = 1_000;
const KEPT_SETS_BYTES = 16 * 2 ** 20;

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

  numbers(direction: Sort['direction'] = 'asc', behind?: number, offset = 0, limit = this.count): number[] {
    const step = direction === 'asc' ? 1 : -1;
    const end = this.has.length;
    const found: number[] = [];
    let skipped = 0;
    for (let n = Math.min(behind ?? (step > 0 ? 0 : end), end) + step; n > 0 && n < end; n += step) {
      if (found.length === limit) break;
      if (this.has[n] !== 1) continue;
      if (skipped === offset) found.push(n);
      else skipped += 1;
    }
    return found;
  }
}

/** Where the rows of a condition are found without looking at each of the space. The first ones are the quickest. */
type Access = { readonly rank: number; readonly from: string; readonly row: string; readonly test: Sql };
const RANKS = { ids: 0, equals: 0, trigrams: 1, compares: 2, null: 2, contains: 3 } as const;
const NO_ACCESS = Number.POSITIVE_INFINITY;

type Found = { readonly total: number; readonly rows: readonly (() => StoredRow | undefined)[] };

export class TenantRows extends Connection {
  /** An index with which the last page would have been found sooner. */
  wanted: string | undefined;
  /** What was found, until the space changes. */
  readonly #sets = new LRUCache<string, { readonly state: string; readonly set: RowSet }>({
    maxSize: KEPT_SETS_BYTES,
    sizeCalculation: ({ set }, key) => set.has.length + key.length + 1,
  });
  /** Which statements of this moment ask for, and which they add to. */
  #members = new RowSet(0);
  #collected = new RowSet(0);
  #parsed: { readonly text: string; readonly fields: Fields } = { text: '', fields: {} };

  constructor(
    db: Database,
    readonly file?: string,
  ) {
    super(db);
    db.function('sort_of', (field, data) => {
      const text = String(data);
      if (this.#parsed.text !== text) this.#parsed = { text, fields: JSON.parse(text) };
      return sortValue(ownValue(this.#parsed.fields, String(field)) ?? null);
    });
    db.function('collect', (n) => this.#collected.add(Number(n)));
    db.function('is_member', (n) => this.#members.has[Number(n)] ?? 0);
  }

  page(name: string, query: PageQuery): Page {
    this.wanted = undefined;
    const now = this.spaceNow(name);
    const { at = Number.POSITIVE_INFINITY, withTotal, maxCharacters } = query;
    const none: Found = { total: 0, rows: [] };
    const { total, rows } =
      now === undefined ? none : at < now.state.changed ? this.#pageAt(now, query, at) : this.#pageNow(now, query);
    return { rows: cut(rows, maxCharacters), ...(withTotal && { total }), state: now?.state ?? this.noRows() };
  }

  #pageNow(now: SpaceNow, query: PageQuery): Found {
    const { conditions, sort, offset, limit, behind, withTotal } = query;
    const { rows } = now.state;
    const base = baseOf(now.space);
    const direction = sort[0]?.field === 'n' ? sort[0].direction : undefined;
    const [only] = conditions;
    if (limit === 0 && conditions.length === 1 && only?.kind === 'outsideBatch') {
      const sql = 'SELECT count(*) FROM seen WHERE row > ? AND row < ? AND batch = ?';
      return { total: rows - (this.column<number>(sql).get(base, base + now.next, only.batch) ?? 0), rows: [] };
    }
    const isQuick = () => conditions.some((condition) => rankOf(this.#accesses(now, condition)) <= RANKS.trigrams);
    const isFound = conditions.length > 0 && (direction === undefined || withTotal || isQuick());
    const set = isFound ? this.#matching(now, conditions) : undefined;
    let numbers: readonly number[];
    if (direction === undefined) numbers = this.#sorted(now, set, query);
    else if (set !== undefined) numbers = set.numbers(direction, behind, offset, limit);
    else {
      // Found while they are read. Where nothing was ever deleted, the page's place is known.
      const isDense = conditions.length === 0 && rows === now.next - 1;
      const skipped = isDense ? offset : 0;
      const [from, to] =
        direction === 'asc' ? [(behind ?? 0) + skipped, now.next] : [0, (behind ?? now.next) - skipped];
      const { text, cells } = sqlOf(conditions, now.space);
      const all = [base + from, base + Math.min(to, now.next), ...cells, limit, offset - skipped];
      numbers = this.#numbers(now, 'rows', `row > ? AND row < ? AND ${text}`, `row ${direction}`, all);
    }
    return { total: set?.count ?? rows, rows: numbers.map((n) => () => this.row(base + n)) };
  }

  #numbers({ space }: SpaceNow, from: string, where: string, by: string, cells: readonly Cell[]): readonly number[] {
    const sql = `SELECT row - ${baseOf(space)} FROM ${from} WHERE ${where} ORDER BY ${by} LIMIT ? OFFSET ?`;
    return this.column<number>(sql).all(...cells);
  }

  #sorted(now: SpaceNow, set: RowSet | undefined, { sort, offset, limit }: PageQuery): readonly number[] {
    const { space, state } = now;
    const total = set?.count ?? state.rows;
    const spec = sortSpec(space, sort);
    const index = spec === 'id' ? 'rows_id' : now.indexes.find((each) => each.spec === spec)?.name;
    if (index === undefined) this.wanted ??= spec;
    const count = Math.max(0, Math.min(limit, total - offset));
    const behind = Math.max(0, total - offset - count);
    const isFromEnd = behind < offset;
    const passed = isFromEnd ? behind : offset;
    const entries = ((passed + count) * state.rows) / Math.max(1, total);
    if (index === undefined || entries >= total * ENTRIES_PER_ROW + ENTRIES_AT_LEAST) {
      const { from, test } = this.#rest(now, set);
      return this.#numbers(now, from, test.text, orderSql(sort, space), [...test.cells, limit, offset]);
    }
    const turned = sort.map(({ field, direction }) => ({
      field,
      direction: (direction === 'asc') === isFromEnd ? ('desc' as const) : ('asc' as const),
    }));
    const where = `space = ${space.number} AND ${this.#isMember(now, set)}`;
    const found = this.#numbers(now, `rows INDEXED BY ${index}`, where, orderSql(turned, space), [count, passed]);
    return isFromEnd ? found.toReversed() : found;
  }

  /** A test whether a row is in the set, for the next statement; without a set, each is. */
  #isMember({ space }: SpaceNow, set: RowSet | undefined, row = 'row'): string {
    if (set === undefined) return '1';
    this.#members = set;
    return `is_member(${row} - ${baseOf(space)})`;
  }

  /** Few rows one by one, else by looking at each of the space. */
  #rest(now: SpaceNow, set: RowSet | undefined): Omit<Access, 'rank'> {
    const base = baseOf(now.space);
    if (set !== undefined && set.count <= now.state.rows / 8) {
      const cells = [JSON.stringify(set.numbers())];
      return { from: 'rows', row: 'row', test: { text: `row IN (SELECT ${base} + value FROM json_each(?))`, cells } };
    }
    const text = `row > ? AND row < ? AND ${this.#isMember(now, set)}`;
    return { from: 'rows NOT INDEXED', row: 'row', test: { text, cells: [base, base + now.next] } };
  }

  /** The rows as they were: those that have not changed since, and the states that ended later. */
  #pageAt(
    { space, next }: SpaceNow,
    { conditions, sort, offset, limit, behind, withTotal }: PageQuery,
    at: number,
  ): Found {
    const isUp = sort[0]?.direction !== 'desc';
    const base = baseOf(space);
    const range = isUp ? [base + (behind ?? 0), base + next] : [base, base + (behind ?? next)];
    const sides = (['rows', 'past'] as const).map((of) => {
      const { text, cells } = sqlOf(conditions, space, of);
      // Most rows have not changed: reading all in their order is quicker than by an index.
      const were =
        of === 'rows'
          ? 'rows NOT INDEXED WHERE 1'
          : `past INDEXED BY past_to WHERE space = ${space.number} AND to_pos > ${at}`;
      const rest = `FROM ${were} AND from_pos <= ${at} AND row > ? AND row < ? AND ${text}`;
      const terms = sort.map(({ field }) => valueSql(space, field));
      return { select: `SELECT ${of === 'rows' ? 'row' : 'n'} AS n, '${of}' AS source, ${terms} ${rest}`, rest, cells };
    });
    const cellsOf = (from: readonly number[]) => sides.flatMap(({ cells }) => [...from, ...cells]);
    const by = sort.map(({ direction }, i) => `${i + 3} ${direction}`);
    const places = this.query<{ n: number; source: 'rows' | 'past' }>(
      `${sides.map(({ select }) => select).join(' UNION ALL ')} ORDER BY ${by} LIMIT ? OFFSET ?`,
    );
    const rows = places.all(...cellsOf(range), limit, offset).map(
      ({ n, source }) =>
        () =>
          this.row(n, source),
    );
    if (!withTotal) return { total: 0, rows };
    const counts = sides.map(({ rest }) => `(SELECT count(*) ${rest})`).join(' + ');
    return {
      rows,
      total: this.column<number>(`SELECT ${counts}`).get(...cellsOf([base, base + next])) ?? 0,
    };
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
      const both = { text: `${test.text} AND ${text}`, cells: [...test.cells, ...cells] };
      set = this.#collect(now, [{ ...rest, rank: NO_ACCESS, test: both }], set);
    }
    set ??= new RowSet(0);
    this.#sets.set(key, { state, set });
    return set;
  }

  #collect(now: SpaceNow, all: readonly Access[], among: RowSet | undefined): RowSet {
    this.#collected = new RowSet(now.next);
    for (const { from, row, test } of all) {
      const where = `${test.text} AND ${this.#isMember(now, among, row)}`;
      const sql = `SELECT count(collect(${row} - ${baseOf(now.space)})) FROM ${from} WHERE ${where}`;
      this.column(sql).get(...test.cells);
    }
    return this.#collected;
  }

  /** Together they find the rows of the condition. */
  #accesses(now: SpaceNow, condition: Condition): readonly Access[] | undefined {
    if (condition.kind === 'outsideBatch' || condition.kind === 'differs') return undefined;
    if (condition.kind === 'any') {
      const all = condition.anyOf.map((each) => this.#accesses(now, each));
      return all.includes(undefined) ? undefined : all.flatMap((each) => each ?? []);
    }
    const { space } = now;
    const { text, cells } = sqlOf([condition], space);
    const test = { text: `space = ${space.number} AND ${text}`, cells };
    const by = (index: string, rank: number) => [{ rank, from: `rows INDEXED BY ${index}`, row: 'row', test }];
    if (condition.kind === 'ids') return by('rows_id', RANKS.ids);
    const column = columnOf(space, condition.field);
    if (column === undefined) return undefined;
    if (condition.kind === 'contains') {
      const field = space.assetType.fields.find(({ name }) => name === condition.field);
      if (field === undefined || !isText(field)) return undefined;
      if (condition.anyOf.every((part) => [...part].length >= SHORTEST_IN_TRIGRAMS))
        return this.#textAccesses(now, column, condition.anyOf, { text, cells });
    }
    const index = now.indexes.find(({ spec }) => spec === column || spec.startsWith(`${column}, `));
    if (index === undefined) this.wanted ??= `${column}, id`;
    return index && by(index.name, RANKS[condition.kind]);
  }

  /** The trigrams of a column, and a look at the rows that were created since they were written. */
  #textAccesses(now: SpaceNow, column: string, anyOf: readonly string[], test: Sql): readonly Access[] | undefined {
    const spec = textSpec(column);
    const index = now.indexes.find((each) => each.spec === spec);
    const [upto, base] = [index?.upto ?? 0, baseOf(now.space)];
    if (index === undefined || now.next - upto > MOST_LATER) this.wanted ??= spec;
    if (index === undefined) return undefined;
    const match = anyOf.map((part) => `"${part.replaceAll('"', '""')}"`).join(' OR ');
    const matches = { text: `${index.name} MATCH ?`, cells: [match === '' ? '""' : match] };
    const later = {
      text: `row > ? AND row < ? AND ${test.text}`,
      cells: [base + upto, base + now.next, ...test.cells],
    };
    return [
      { rank: RANKS.trigrams, from: index.name, row: `(rowid + ${base})`, test: matches },
      { rank: RANKS.trigrams, from: 'rows NOT INDEXED', row: 'row', test: later },
    ];
  }
}

const rankOf = (all: readonly Access[] | undefined): number =>
  all === undefined ? NO_ACCESS : Math.max(0, ...all.map(({ rank }) => rank));

function cut(rows: Found['rows'], maxCharacters: number): readonly StoredRow[] {
  const page: StoredRow[] = [];
  let length = 0;
  for (const read of rows) {
    const row = read();
    if (row === undefined) continue;
    length += row.data.length;
    if (page.length > 0 && length > maxCharacters) break;
    page.push(row);
  }
  return page;
}
