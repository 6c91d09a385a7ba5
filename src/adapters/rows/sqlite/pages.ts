/** Pages of rows: finds what holds the conditions, and reads the page from an index of its sort where there is one. */
import type { AssetField } from '../../../domain/assetTypes/assetType.js';
import { type Fields, fieldRules, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { sortValue } from '../../../domain/spaces.js';
import type { Condition, FieldCondition, Page, PageQuery, Sort, StoredRow } from '../../../ports/rowStore.js';
import type { Database } from '../../openSqlite.js';
import { baseOf, type Cell, Connection, columnOf, idCell, OF_TEXT, type Space, type SpaceNow } from './connection.js';

/** Entries of an index that are passed for each row that is found, before collecting and sorting them is quicker. */
const ENTRIES_PER_ROW = 12.5;
const ENTRIES_AT_LEAST = 5_000;
const FEW = 2_000;
const SHORTEST_IN_TRIGRAMS = 3;
/** Rows that were created later than an index of trigrams, before their trigrams are written. */
const MOST_LATER = 1_000;

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

  numbers(): number[] {
    const found: number[] = [];
    for (let n = 1; n < this.has.length; n += 1) if (this.has[n] === 1) found.push(n);
    return found;
  }
}

/** Where the rows of a condition are found without looking at each of the space. */
type Access = { readonly from: string; readonly row: string; readonly test: Sql };
/** By how quickly conditions are found, and how few rows they leave. */
const QUICKEST: readonly Condition['kind'][] = ['ids', 'equals', 'contains', 'any', 'compares', 'null'];
const hasTrigrams = (anyOf: readonly string[]): boolean =>
  anyOf.every((part) => [...part].length >= SHORTEST_IN_TRIGRAMS);
const costOf = (condition: Condition): number =>
  condition.kind === 'contains' && !hasTrigrams(condition.anyOf) ? QUICKEST.length : QUICKEST.indexOf(condition.kind);

type Found = { readonly total: number; readonly rows: readonly (() => StoredRow | undefined)[] };

export class TenantRows extends Connection {
  /** An index with which the last page would have been found sooner. */
  wanted: string | undefined;
  /** Which statements of this moment ask for, and which they add to. */
  #members = new RowSet(0);
  #collected = new RowSet(0);
  /** What was found last, until the space changes: other pages of a list need it as well. */
  #found = { key: '', set: new RowSet(0) };
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
    if (now === undefined) return { rows: [], ...(withTotal && { total: 0 }), state: this.noRows() };
    const { total, rows } = at < now.state.changed ? this.#pageAt(now, query, at) : this.#pageNow(now, query);
    const page: StoredRow[] = [];
    let length = 0;
    for (const read of rows) {
      const row = read();
      if (row === undefined) continue;
      length += row.data.length;
      if (page.length > 0 && length > maxCharacters) break;
      page.push(row);
    }
    return { rows: page, ...(withTotal && { total }), state: now.state };
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
    const isQuick = (each: Condition) => costOf(each) < QUICKEST.length && this.#accesses(now, each) !== undefined;
    const isFound = conditions.length > 0 && (direction === undefined || withTotal || conditions.some(isQuick));
    const set = isFound ? this.#matching(now, conditions) : undefined;
    let numbers: readonly number[];
    if (direction === undefined) numbers = this.#sorted(now, set, query);
    else if (set !== undefined) {
      const all = set.numbers().filter((n) => behind === undefined || (direction === 'asc' ? n > behind : n < behind));
      numbers = (direction === 'asc' ? all : all.reverse()).slice(offset, offset + limit);
    } else {
      // Found while they are read. Where nothing was ever deleted, the page's place is known.
      const skipped = conditions.length === 0 && rows === now.next - 1 ? offset : 0;
      const { text, cells } = sqlOf(conditions, now.space);
      const [from, to] =
        direction === 'asc' ? [(behind ?? 0) + skipped, now.next] : [0, (behind ?? now.next) - skipped];
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
    const where = `space = ${space.number} AND ${this.#isMember(now, set)}`;
    const order = orderSql(isFromEnd ? sort.map(reversed) : sort, space);
    const found = this.#numbers(now, `rows INDEXED BY ${index}`, where, order, [count, passed]);
    return isFromEnd ? found.toReversed() : found;
  }

  /** A test whether a row is in the set, for the next statement; without a set, each is. */
  #isMember({ space }: SpaceNow, set: RowSet | undefined, row = 'row'): string {
    if (set === undefined) return '1';
    this.#members = set;
    return `is_member(${row} - ${baseOf(space)})`;
  }

  /** Few rows one by one, else by looking at each of the space. */
  #rest(now: SpaceNow, set: RowSet | undefined): Access {
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
    const places = this.query<{ readonly n: number; readonly source: 'rows' | 'past' }>(
      `${sides.map(({ select }) => select).join(' UNION ALL ')} ORDER BY ${by} LIMIT ? OFFSET ?`,
    );
    const rows = places.all(...cellsOf(range), limit, offset).map((place) => () => this.row(place.n, place.source));
    if (!withTotal) return { total: 0, rows };
    const counts = sides.map(({ rest }) => `(SELECT count(*) ${rest})`).join(' + ');
    const total = this.column<number>(`SELECT ${counts}`).get(...cellsOf([base, base + next])) ?? 0;
    return { total, rows };
  }

  /** The rows that hold all conditions, of which there is at least one. */
  #matching(now: SpaceNow, conditions: readonly Condition[]): RowSet {
    const key = JSON.stringify([now.space.number, now.state.changed, now.state.rows, conditions]);
    if (this.#found.key === key) return this.#found.set;
    const left: Condition[] = [];
    let set: RowSet | undefined;
    for (const condition of conditions.toSorted((a, b) => costOf(a) - costOf(b))) {
      const all = this.#accesses(now, condition);
      if (all === undefined || (set !== undefined && set.count <= FEW)) left.push(condition);
      else set = this.#collect(now, all, set);
    }
    if (left.length > 0) {
      const { test, ...rest } = this.#rest(now, set);
      const { text, cells } = sqlOf(left, now.space);
      const both = { text: `${test.text} AND ${text}`, cells: [...test.cells, ...cells] };
      set = this.#collect(now, [{ ...rest, test: both }], set);
    }
    this.#found = { key, set: set ?? new RowSet(0) };
    return this.#found.set;
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
    const by = (index: string) => [{ from: `rows INDEXED BY ${index}`, row: 'row', test }];
    if (condition.kind === 'ids') return by('rows_id');
    const column = columnOf(space, condition.field);
    if (column === undefined) return undefined;
    if (condition.kind === 'contains') {
      const field = space.assetType.fields.find(({ name }) => name === condition.field);
      if (field === undefined || !isText(field)) return undefined;
      if (hasTrigrams(condition.anyOf)) return this.#textAccesses(now, column, condition.anyOf, { text, cells });
    }
    const index = now.indexes.find(({ spec }) => spec === column || spec.startsWith(`${column}, `));
    if (index === undefined) this.wanted ??= `${column}, id`;
    return index && by(index.name);
  }

  /** The trigrams of a column, and a look at the rows that were created since they were written. */
  #textAccesses(now: SpaceNow, column: string, anyOf: readonly string[], test: Sql): readonly Access[] | undefined {
    const spec = OF_TEXT + column;
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
      { from: index.name, row: `(rowid + ${base})`, test: matches },
      { from: 'rows NOT INDEXED', row: 'row', test: later },
    ];
  }
}

// Conditions and sorts as SQL over a row's columns; where a field has none, over its `data`.

/** `text`: an expression that is 1, or 0 or NULL. */
type Sql = { readonly text: string; readonly cells: readonly Cell[] };

const joined = (by: 'AND' | 'OR', all: readonly Sql[]): Sql => ({
  text: all.map(({ text }) => `(${text})`).join(` ${by} `) || (by === 'AND' ? '1' : '0'),
  cells: all.flatMap(({ cells }) => cells),
});
const anyOf = (all: readonly Sql[]): Sql => joined('OR', all);

const sqlOf = (conditions: readonly Condition[], space: Space, from: 'rows' | 'past' = 'rows'): Sql =>
  joined(
    'AND',
    conditions.map((each) => sqlOfOne(each, space, from)),
  );

function sqlOfOne(condition: Condition, space: Space, from: 'rows' | 'past'): Sql {
  switch (condition.kind) {
    case 'any':
      return anyOf(condition.anyOf.map((each) => sqlOfOne(each, space, from)));
    case 'ids':
      return { text: 'id BETWEEN ? AND ?', cells: [idCell(condition.from), idCell(condition.to)] };
    case 'outsideBatch': {
      const batch = from === 'past' ? 'batch' : '(SELECT batch FROM seen WHERE seen.row = rows.row)';
      return { text: `${batch} IS NOT ?`, cells: [condition.batch] };
    }
    default:
      return sqlOfField(condition, space);
  }
}

/** What a field is compared and sorted by: its column, or what `data` says. */
export const valueSql = (space: Space, field: string): string => columnOf(space, field) ?? `sort_of('${field}', data)`;

const reversed = ({ field, direction }: Sort): Sort => ({ field, direction: direction === 'asc' ? 'desc' : 'asc' });
const orderSql = (sort: readonly Sort[], space: Space): string =>
  sort.map(({ field, direction }) => `${valueSql(space, field)} ${direction}`).join(', ');

/** The index that serves a sort, in one direction or the other; undefined where a term has no column. */
function sortSpec(space: Space, sort: readonly Sort[]): string | undefined {
  const terms = sort.map(({ field, direction }) => {
    const column = columnOf(space, field);
    return column && column + (direction === sort[0]?.direction ? '' : ' DESC');
  });
  return terms.includes(undefined) ? undefined : terms.join(', ');
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function sqlOfField(condition: Exclude<FieldCondition, { kind: 'ids' }>, space: Space): Sql {
  const value = valueSql(space, condition.field);
  const field = space.assetType.fields.find(({ name }) => name === condition.field);
  const json = `data -> '$."${condition.field}"'`;
  switch (condition.kind) {
    case 'null':
      return { text: `${value} IS ${condition.isNull ? '' : 'NOT '}NULL`, cells: [] };
    case 'compares': {
      // Times of creation and change are stored as they are.
      const cell = field === undefined ? condition.value : sortValue(condition.value);
      return { text: `${value} ${OPERATORS[condition.is]} ?`, cells: [cell] };
    }
    case 'differs': {
      const { text, cells } = sqlOfField({ ...condition, kind: 'equals' }, space);
      return { text: `(${text}) IS NOT 1`, cells };
    }
    case 'contains': {
      const text = field === undefined || isText(field) ? value : json;
      return anyOf(condition.anyOf.map((part) => ({ text: `instr(${text}, ?)`, cells: [part] })));
    }
    case 'equals': {
      const values = condition.anyOf.filter((each) => each !== null);
      const isNull = values.length < condition.anyOf.length ? [{ text: `${value} IS NULL`, cells: [] }] : [];
      const list = `IN (${values.map(() => '?').join(', ')})`;
      if (field === undefined) return anyOf([{ text: `${value} ${list}`, cells: values.map(String) }, ...isNull]);
      // The value as it is, too: folding makes some alike, and truth values are numbers there.
      const cells = [...values.map(sortValue), ...values.map((each) => JSON.stringify(each))];
      return anyOf([{ text: `${value} ${list} AND ${json} ${list}`, cells }, ...isNull]);
    }
  }
}

/** Whether sort values and match texts of the field are the same. */
const isText = ({ type, list }: AssetField): boolean => list === true || fieldRules(type).sortsAs === 'text';
