/** Answers queries for a page of a table, with the exact total. */
import { LRUCache } from 'lru-cache';
import type { CreationKey, ListBehind, RecordJson, RecordQuery, TableRef } from '../../../../ports/readModels.js';
import type { Rankings } from '../ranking/ranking.js';
import { type ReadConnection, type ReadTable, stateOf } from '../read/readConnection.js';
import { recordTexts } from '../read/recordReads.js';
import { type Condition, conditionOf } from './conditions.js';
import { COSTS, type Costs } from './costs.js';
import { creationKey, fittingTexts, rowsBehind } from './createdAfter.js';
import { findMatches, type Matches } from './matches.js';
import { pageRows } from './pageRows.js';
import { bytesFor, hasRowBits } from './rowSet.js';
import { reversed, termsOf } from './sortTerms.js';

/** Limits of the matches that are kept, each as a list of rows or as a bit for each row of the table. */
const KEPT_FILTERS = 64;
const KEPT_BYTES = 8 * 2 ** 20;
const BYTES_A_LISTED_ROW = 16;

/** Lists that take longer are reported with their plans. */
const SLOW_MS = 100;

/** A slow list: how long it took, and how its rows were found. */
export type SlowList = {
  readonly tenant: string;
  readonly table: string;
  readonly ms: number;
  readonly total: number;
  /** How the matches were found and counted. */
  readonly matches: Matches['by'];
  /** See `planText`: of the page and, in a sort of several terms, of the ties that it begins in and ends in. */
  readonly plans: readonly string[];
};

type Behind = { readonly records: readonly RecordJson[]; readonly next?: CreationKey | undefined };
type Page = { readonly records: readonly RecordJson[]; readonly total: number; readonly state?: string };

export class Lister {
  readonly #connection: ReadConnection;
  readonly #costs: Costs;
  /** Pages of one filter are mostly asked for one after another: its matches are found once. */
  readonly #matches = new LRUCache<string, Matches>({ max: KEPT_FILTERS, maxSize: KEPT_BYTES });
  readonly #rankings: Rankings | undefined;
  readonly #onSlow: (list: SlowList) => void;

  constructor(
    connection: ReadConnection,
    costs: Costs = COSTS,
    rankings?: Rankings,
    onSlow: (list: SlowList) => void = () => undefined,
  ) {
    this.#connection = connection;
    this.#costs = costs;
    this.#rankings = rankings;
    this.#onSlow = onSlow;
  }

  /** @throws ReadModelsWithheldError when the query names a field that the table does not have yet; AnswerTooLargeError */
  list(ref: TableRef, query: RecordQuery): Page {
    return this.#connection.read<Page>(ref, { records: [], total: 0 }, (table) => this.#page(ref, table, query)).result;
  }

  #page(ref: TableRef, table: ReadTable, query: RecordQuery): Page {
    const startedAt = performance.now();
    const plans: (() => string)[] = [];
    const connection = this.#connection;
    const costs = this.#costs;
    const conditions = query.filters.map((filter) => conditionOf(filter, table));
    const terms = termsOf(query.sort, table);
    const matches = this.#matchesOf(table, query, conditions);
    const { total } = matches;
    const wanted = Math.max(0, Math.min(query.limit, total - query.offset));
    const filters = total === table.rowCount ? [] : conditions;
    // A page in the second half is found sooner from the end.
    const fromEnd = query.offset > total / 2;
    const skip = fromEnd ? total - query.offset - wanted : query.offset;
    const rows = pageRows({
      connection,
      table,
      costs,
      filters,
      ranges: [],
      terms: fromEnd ? reversed(terms) : terms,
      skip,
      wanted,
      matches,
      rankings: this.#rankings,
      explain: (plan) => plans.push(plan),
    });
    const records = recordTexts(connection, table, fromEnd ? rows.toReversed() : rows);
    const ms = Math.round(performance.now() - startedAt);
    if (ms > SLOW_MS) this.#onSlow({ ...ref, ms, total, matches: matches.by, plans: plans.map((plan) => plan()) });
    return { records, total, state: stateOf(table) };
  }

  #matchesOf(table: ReadTable, { filters }: Pick<RecordQuery, 'filters'>, conditions: readonly Condition[]): Matches {
    // Not by its count of changes alone: an added field may make a small table large.
    const key = JSON.stringify([stateOf(table), filters]);
    let matches = this.#matches.get(key);
    if (matches === undefined) {
      matches = findMatches({ connection: this.#connection, table, conditions, costs: this.#costs });
      const listedRows = Math.min(matches.total, this.#costs.listedRows);
      this.#matches.set(key, matches, {
        size: key.length + listedRows * BYTES_A_LISTED_ROW + (hasRowBits(table) ? bytesFor(table.nextRow) : 0),
      });
    }
    return matches;
  }

  /** See `RecordReads`. @throws ReadModelsWithheldError */
  listBehind(ref: TableRef, query: ListBehind): Behind {
    return this.#connection.read<Behind>(ref, { records: [] }, (table) => this.#behind(table, query)).result;
  }

  #behind(table: ReadTable, query: ListBehind): Behind {
    const connection = this.#connection;
    const conditions = query.filters.map((filter) => conditionOf(filter, table));
    const matches = conditions.length === 0 ? undefined : this.#matchesOf(table, query, conditions);
    const search = { connection, table, costs: this.#costs, conditions, matches };
    const rows = rowsBehind(search, query, query.limit + 1);
    const records = fittingTexts(connection, table, rows.slice(0, query.limit));
    const last = rows[records.length - 1];
    const isLast = records.length === rows.length || last === undefined;
    return { records, next: isLast ? undefined : creationKey(connection, table, last) };
  }
}
