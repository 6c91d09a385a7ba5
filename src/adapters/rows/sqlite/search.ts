/** Which rows of a space hold conditions: from indexes where there are any, else by looking at each row. */
import { matchText } from '../../../domain/row.js';
import type { Condition, FieldCondition } from '../../../ports/rowStore.js';
import { baseOf, type Cell } from './cells.js';
import { joined, type Sql, sqlOf } from './conditions.js';
import type { SpaceNow } from './connection.js';
import type { Functions } from './functions.js';
import { columnOf, type IndexSpec, textSlot } from './indexes.js';
import { RowSet } from './rowSet.js';

/** Trigrams find nothing shorter. */
const SHORTEST_IN_TRIGRAMS = 3;
/** So many candidates are tested one by one. */
const FEW = 2_000;
/** A field with fewer values is searched value by value. */
const FEW_VALUES = 300;

type Contains = Extract<FieldCondition, { kind: 'contains' }>;
type Equals = Extract<FieldCondition, { kind: 'equals' | 'differs' }>;

/** A way to the rows of one condition. */
type Access = { readonly rank: number; readonly find: () => RowSet };

export class Search {
  /** Indexes that would have made it quicker. */
  readonly wanted: IndexSpec[] = [];
  readonly #functions: Functions;
  readonly #now: SpaceNow;
  readonly #base: number;

  constructor(functions: Functions, now: SpaceNow) {
    this.#functions = functions;
    this.#now = now;
    this.#base = baseOf(now.space);
  }

  /** The conditions as SQL over rows. */
  sqlOf(conditions: readonly Condition[], from: 'rows' | 'past' = 'rows'): Sql {
    const { connection } = this.#functions;
    const batch = (id: string) => connection.column<number>('SELECT batch FROM batches WHERE id = ?').get(id) ?? -1;
    const source = { space: this.#now.space, from, batch };
    return joined(
      conditions.map((condition) => sqlOf(condition, source)),
      ' AND ',
    );
  }

  /** Of at least one condition. */
  matching(conditions: readonly Condition[]): RowSet {
    const ways = conditions.map((condition) => ({ condition, access: this.#access(condition) }));
    ways.sort((a, b) => (a.access?.rank ?? Number.POSITIVE_INFINITY) - (b.access?.rank ?? Number.POSITIVE_INFINITY));
    const left: Condition[] = [];
    let set: RowSet | undefined;
    for (const { condition, access } of ways) {
      if (access === undefined || (set !== undefined && set.count <= FEW)) left.push(condition);
      else if (set === undefined) set = access.find();
      else set.keep(access.find());
    }
    if (left.length === 0) return set ?? new RowSet(0);
    const test = this.sqlOf(left);
    return set === undefined ? this.#scan(test) : this.#tested(set, test);
  }

  /** Whether the rows of a condition are found without looking at each of the space. */
  isQuick(condition: Condition): boolean {
    return (this.#access(condition)?.rank ?? Number.POSITIVE_INFINITY) <= QUICK;
  }

  /** All rows of the space. */
  all(): RowSet {
    return this.#collect('rows INDEXED BY rows_pos', 'row', { text: `space = ${this.#now.space.number}`, cells: [] });
  }

  #access(condition: Condition): Access | undefined {
    const { number } = this.#now.space;
    switch (condition.kind) {
      case 'any': {
        const all = condition.anyOf.map((each) => this.#access(each));
        const ranks = all.map((access) => access?.rank ?? Number.POSITIVE_INFINITY);
        if (ranks.includes(Number.POSITIVE_INFINITY)) return undefined;
        const find = () => {
          const set = this.#newSet();
          for (const access of all) for (const n of access?.find().numbers() ?? []) set.add(n);
          return set;
        };
        return { rank: Math.max(0, ...ranks), find };
      }
      case 'ids': {
        const test = this.sqlOf([condition]);
        return this.#ranked(0, 'rows INDEXED BY rows_id', { ...test, text: `space = ${number} AND ${test.text}` });
      }
      case 'outsideBatch':
        return { rank: 5, find: () => this.#outside(condition.batch) };
      case 'contains':
        return this.#accessByTrigrams(condition) ?? this.#accessByIndex(condition, 4, this.#isForTrigrams(condition));
      case 'equals':
        return this.#accessByKey(condition) ?? this.#accessByIndex(condition, 2);
      default:
        return this.#accessByIndex(condition, 3);
    }
  }

  #ranked(rank: number, from: string, where: Sql): Access {
    return { rank, find: () => this.#collect(from, 'row', where) };
  }

  #accessByKey({ field, anyOf }: Equals): Access | undefined {
    const { number, assetType } = this.#now.space;
    const keys = anyOf.filter((value) => typeof value === 'string');
    if (field !== assetType.uniqueField || keys.length < anyOf.length) return undefined;
    const where = `space = ${number} AND key IN (SELECT value FROM json_each(?))`;
    return this.#ranked(0, 'rows INDEXED BY rows_key', { text: where, cells: [JSON.stringify(keys)] });
  }

  #isForTrigrams({ field, anyOf }: Pick<Contains, 'field' | 'anyOf'>): boolean {
    const isLong = anyOf.every((part) => [...part].length >= SHORTEST_IN_TRIGRAMS);
    return isLong && textSlot(this.#now.space, field) !== undefined;
  }

  #accessByTrigrams({ field, anyOf }: Contains): Access | undefined {
    const slot = textSlot(this.#now.space, field);
    if (slot === undefined || !this.#isForTrigrams({ field, anyOf })) return undefined;
    const index = this.#now.indexes.texts.find((each) => each.slot === slot);
    if (index === undefined) this.wanted.push({ kind: 'text', slot });
    if (index === undefined || index.upto !== undefined) return undefined;
    const match = anyOf.map((part) => `"${part.replaceAll('"', '""')}"`).join(' OR ');
    if (match === '') return { rank: 0, find: () => this.#newSet() };
    return {
      rank: 1,
      find: () =>
        this.#collect(index.name, `(rowid + ${this.#base})`, { text: `${index.name} MATCH ?`, cells: [match] }),
    };
  }

  /** By an index that begins with the field's column. */
  #accessByIndex(
    condition: Exclude<FieldCondition, { kind: 'ids' }>,
    rank: number,
    isByTrigrams = false,
  ): Access | undefined {
    const column = columnOf(this.#now.space, condition.field);
    if (column === undefined || (condition.kind === 'contains' && !column.startsWith('s'))) return undefined;
    const index = this.#now.indexes.sorts.find(({ terms }) => terms[0]?.column === column);
    if (index === undefined) {
      // Trigrams were asked for already, and need no other index beside them.
      if (!isByTrigrams)
        this.wanted.push({ kind: 'sort', terms: [column, 'id'].map((each) => ({ column: each, descending: false })) });
      return undefined;
    }
    const from = `rows INDEXED BY ${index.name}`;
    const find = () => {
      const test =
        (condition.kind === 'contains' && this.#byValues(condition, from, column)) || this.sqlOf([condition]);
      return this.#collect(from, 'row', { ...test, text: `space = ${this.#now.space.number} AND ${test.text}` });
    };
    return { rank, find };
  }

  /** The same as one of the field's values, if these are few. */
  #byValues({ field, anyOf }: Contains, from: string, column: string): Sql | undefined {
    const { number, assetType } = this.#now.space;
    const next = this.#functions.connection.column<string | number>(
      `SELECT ${column} FROM ${from} WHERE space = ${number} AND ${column} > ? ORDER BY ${column} LIMIT 1`,
    );
    const isBoolean = assetType.fields.find(({ name }) => name === field)?.type === 'Boolean';
    const values: Cell[] = [];
    // It is below all numbers and texts.
    let value = next.get(Number.NEGATIVE_INFINITY);
    for (let count = 0; value !== undefined; count += 1) {
      if (count === FEW_VALUES) return undefined;
      const text = matchText(isBoolean ? value === 1 : value) ?? '';
      if (anyOf.some((part) => text.includes(part))) values.push(value);
      value = next.get(value);
    }
    return { text: `${column} IN (SELECT value FROM json_each(?))`, cells: [JSON.stringify(values)] };
  }

  #outside(batch: string): RowSet {
    const set = this.all();
    const next = this.#base + this.#now.next;
    const seen = `row > ${this.#base} AND row < ${next} AND batch = (SELECT batch FROM batches WHERE id = ?)`;
    set.keep(this.#collect('seen', 'row', { text: seen, cells: [batch] }), false);
    return set;
  }

  #scan(test: Sql): RowSet {
    const where = `row > ${this.#base} AND row < ${this.#base + this.#now.next} AND ${test.text}`;
    return this.#collect('rows', 'row', { ...test, text: where });
  }

  #tested(set: RowSet, test: Sql): RowSet {
    if (set.count > this.#now.state.rows / 8) {
      set.keep(this.#scan(test));
      return set;
    }
    const among = `row IN (SELECT ${this.#base} + value FROM json_each(?))`;
    const cells = [JSON.stringify([...set.numbers()]), ...test.cells];
    return this.#collect('rows', 'row', { text: `${among} AND ${test.text}`, cells });
  }

  #collect(from: string, row: string, { text, cells }: Sql): RowSet {
    const set = this.#newSet();
    const where = `${text} AND (${row} & 1023 <> 0 OR still_wanted())`;
    this.#functions.collect(`SELECT count(collect(${row} - ${this.#base})) FROM ${from} WHERE ${where}`, cells, set);
    return set;
  }

  #newSet(): RowSet {
    return new RowSet(this.#now.next);
  }
}

const QUICK = 2;
