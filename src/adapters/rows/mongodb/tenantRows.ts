/** A tenant's rows as they are at its progress. */

import { LRUCache } from 'lru-cache';
import type { FindCursor } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import { compareSortValues } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import type {
  DumpLine,
  FoundRows,
  Page,
  PageQuery,
  RowsQuery,
  SpaceState,
  Spaces,
  StoredRow,
  TenantProgress,
  VersionPage,
  VersionQuery,
} from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { filtersOf, type StateFilter, sortOf } from './conditions.js';
import { type Database, LONGEST_QUERY_MS } from './connection.js';
import { type Definition, Definitions } from './definitions.js';
import {
  OPEN,
  progressOf,
  spaceIn,
  spaceKey,
  spaceState,
  storedRow,
  storedVersion,
  type TenantDocument,
  VERSIONS,
  WHOLE_STATE,
  type WholeState,
} from './documents.js';
import type { Indexes } from './indexes.js';

/** Options of a query that ends when it is cancelled. */
const whileWanted = (cancellation: Cancellation | undefined): { maxTimeMS: number; signal?: AbortSignal } => ({
  maxTimeMS: LONGEST_QUERY_MS,
  ...(cancellation === undefined ? {} : { signal: cancellation.signal }),
});
type Wanted = ReturnType<typeof whileWanted>;

/** Large results are sorted on disk. */
const ANY_SIZE = { allowDiskUse: true } as const;
/** Documents in one answer of the server. A page is to come in one. */
const MOST_AT_ONCE = 1_001;
const MOST_TOTALS = 1_000;

/** What is known beyond one question. */
export class Known {
  /** Totals by space, the position of its last change, and conditions. */
  readonly totals = new LRUCache<string, number>({ max: MOST_TOTALS });

  readonly definitions = new Definitions();

  constructor(readonly indexes?: Indexes) {}
}

/** @param id a tenant, or a copy */
export const tenantIn = async ({ tenants }: Database, id: string) => (await tenants.findOne({ _id: id })) ?? undefined;

export class TenantRows {
  readonly #database: Database;
  readonly #known: Known;
  readonly #tenant: TenantDocument | undefined;

  /** @param tenant as it was read for this question; undefined: it has no rows */
  constructor(database: Database, known: Known, tenant: TenantDocument | undefined) {
    this.#database = database;
    this.#known = known;
    this.#tenant = tenant;
  }

  get progress(): TenantProgress | undefined {
    return this.#tenant && progressOf(this.#tenant);
  }

  async rows(space: string, query: RowsQuery, cancellation?: Cancellation): Promise<FoundRows> {
    const { ids, keys, at, withFormerIds } = query;
    const place = this.#placeOf(space);
    const state = spaceState(this.#tenant, space);
    const named = [
      ...(ids.length === 0 ? [] : [{ i: { $in: [...ids] } }]),
      ...(keys.length === 0 ? [] : [{ k: { $in: [...keys] } }]),
    ];
    const [first] = named;
    if (place === undefined || first === undefined) return { rows: [], formerIds: new Map(), state };
    const wanted = whileWanted(cancellation);
    const visible = visibleAt(place, at);
    const found = await this.#find({ ...visible, ...(named.length === 1 ? first : { $or: named }) }, wanted).toArray();
    const rows = found.map(storedRow);
    if (withFormerIds !== true) return { rows, formerIds: new Map(), state };
    const taken = new Set(rows.map(({ key }) => key));
    const free = keys.filter((key) => !taken.has(key));
    return { rows, formerIds: await this.#formerIds(place, free, at, wanted), state };
  }

  async #formerIds(place: Place, keys: string[], at: Position | undefined, wanted: Wanted) {
    if (keys.length === 0) return new Map<string, string>();
    const until = Math.min(at ?? place.progress, place.progress);
    const deleted = await this.#database.states
      .find<Pick<WholeState, 'i' | 'k' | 't' | 'n'>>(
        { s: place.s, k: { $in: keys }, t: { $lte: until }, h: 'deleted' },
        { ...wanted, projection: { i: 1, k: 1, t: 1, n: 1 } },
      )
      .toArray();
    deleted.sort((a, b) => a.t - b.t || a.n - b.n);
    return new Map(deleted.flatMap(({ k, i }) => (k === null ? [] : [[k, i] as const])));
  }

  async page(space: string, query: PageQuery, cancellation?: Cancellation): Promise<Page> {
    const { sort, offset, limit, behind, withTotal, maxCharacters } = query;
    const state = spaceState(this.#tenant, space);
    const place = this.#placeOf(space);
    const definition = await this.#definitionOf(space);
    if (place === undefined || definition === undefined) return { rows: [], state, ...(withTotal && { total: 0 }) };
    const wanted = whileWanted(cancellation);
    const conditions = filtersOf(definition, query.conditions);
    const filter = both(visibleAt(place, query.at), conditions);
    const isDown = sort.at(-1)?.direction === 'desc';
    const range: StateFilter[] = behind === undefined ? [] : [{ n: isDown ? { $lt: behind } : { $gt: behind } }];
    const startedAt = performance.now();
    const rows: StoredRow[] = [];
    let characters = 0;
    const order = { sort: sortOf(definition, sort), skip: offset, limit };
    if (limit > 0)
      for await (const found of this.#find(both(filter, range), { ...wanted, ...order })) {
        characters += found.d.length;
        if (rows.length > 0 && characters > maxCharacters) break;
        rows.push(storedRow(found));
      }
    this.#known.indexes?.took(performance.now() - startedAt, this.#database, definition, query);
    if (!withTotal) return { rows, state };
    const isLast = behind === undefined && rows.length < limit && (rows.length > 0 || offset === 0);
    const isWhole = isLast && characters <= maxCharacters;
    const total = isWhole ? offset + rows.length : await this.#total(place, filter, query, state, wanted);
    return { rows, state, total };
  }

  async #total(place: Place, filter: StateFilter, { conditions, at }: PageQuery, state: SpaceState, wanted: Wanted) {
    if (conditions.length === 0 && at === undefined) return state.rows;
    const key = JSON.stringify([place.s, state.changed, at, conditions]);
    const known = this.#known.totals.get(key);
    if (known !== undefined) return known;
    const total = await this.#database.states.countDocuments(filter, wanted);
    this.#known.totals.set(key, total);
    return total;
  }

  async versions(space: string, query: VersionQuery, cancellation?: Cancellation): Promise<VersionPage> {
    const { limit, withTotal, behind } = query;
    const state = spaceState(this.#tenant, space);
    const place = this.#placeOf(space);
    if (place === undefined) return { versions: [], state, ...(withTotal && { total: 0 }) };
    const wanted = whileWanted(cancellation);
    const by = query.begun === undefined ? 't' : 'f';
    const order = query.direction === 'asc' ? 1 : -1;
    const filter = both({ s: place.s }, versionFilters(query, place.progress));
    const range = behind === undefined ? [] : [behindOf(by, query.direction, behind)];
    const options = { ...wanted, sort: { [by]: order, n: order }, limit } as const;
    const found = limit === 0 ? [] : await this.#find(both(filter, range), options).toArray();
    const versions = found.map((each) => storedVersion(each, place.progress));
    if (!withTotal) return { versions, state };
    return { versions, state, total: await this.#database.states.countDocuments(filter, wanted) };
  }

  async spaces(): Promise<Spaces | undefined> {
    if (this.#tenant === undefined) return undefined;
    const spaces = new Map<string, { readonly assetType: AssetType; readonly state: SpaceState }>();
    for (const [space, { definition }] of Object.entries(this.#tenant.spaces)) {
      const { assetType } = await this.#known.definitions.get(this.#database, definition);
      spaces.set(space, { assetType, state: spaceState(this.#tenant, space) });
    }
    return spaces;
  }

  async *dump(): AsyncGenerator<DumpLine> {
    const spaces = Object.entries(this.#tenant?.spaces ?? {}).sort(([a], [b]) => compareSortValues(a, b));
    for (const [space, { next, revision, lastEventAt, rows }] of spaces) {
      const assetType = (await this.#definitionOf(space))?.assetType;
      const text = JSON.stringify({ assetType, next, revision, lastEventAt, rows });
      yield { space, kind: 'space', id: '', text };
      const place = this.#placeOf(space);
      if (place === undefined) continue;
      const rowsByNumber = this.#find(visibleAt(place), { ...ANY_SIZE, sort: { n: 1 } });
      for await (const row of rowsByNumber) {
        yield { space, kind: 'row', id: row.i, text: JSON.stringify(storedRow(row)) };
      }
      const past = { s: place.s, t: { $lte: place.progress }, h: { $in: VERSIONS } };
      for await (const version of this.#find(past, { ...ANY_SIZE, sort: { n: 1, f: 1 } })) {
        yield { space, kind: 'version', id: version.i, text: JSON.stringify(storedVersion(version, place.progress)) };
      }
    }
  }

  #find(filter: StateFilter, options: Parameters<Database['states']['find']>[1]): FindCursor<WholeState> {
    const batchSize = Math.min(options?.limit ?? MOST_AT_ONCE, MOST_AT_ONCE);
    return this.#database.states.find<WholeState>(filter, { projection: WHOLE_STATE, batchSize, ...options });
  }

  #placeOf(space: string): Place | undefined {
    const tenant = this.#tenant;
    if (tenant === undefined || spaceIn(tenant, space) === undefined) return undefined;
    return { s: spaceKey(tenant, space), progress: tenant.position };
  }

  async #definitionOf(space: string): Promise<Definition | undefined> {
    const id = spaceIn(this.#tenant, space)?.definition;
    return id === undefined ? undefined : this.#known.definitions.get(this.#database, id);
  }
}

type Place = { readonly s: string; readonly progress: Position };

/** States that rows had at a position, or have. Those that ended for a while are not among the present ones. */
function visibleAt({ s, progress }: Place, at?: Position): StateFilter {
  if (at === undefined || at >= progress) return { s, o: 1, f: { $lte: progress }, t: { $gt: progress } };
  return { s, f: { $lte: at }, t: { $gt: at } };
}

function versionFilters({ id, ended, begun, how }: VersionQuery, progress: Position): StateFilter[] {
  const isPast: StateFilter = {
    t: { $lte: progress },
    h: how === 'deleted' || how === 'changed' ? how : { $in: VERSIONS },
  };
  const isPresent: StateFilter = { t: { $gt: progress } };
  return [
    ...(id === undefined ? [] : [{ i: id }]),
    { f: { $gt: begun?.[0] ?? -1, $lte: Math.min(begun?.[1] ?? progress, progress) } },
    ...(ended === undefined ? [] : [{ t: { $gt: ended[0], $lte: Math.min(ended[1], progress) } }]),
    how === undefined && ended === undefined ? { $or: [isPast, isPresent] } : how === 'present' ? isPresent : isPast,
  ];
}

function behindOf(by: 't' | 'f', direction: 'asc' | 'desc', [position, n]: readonly [Position, number]): StateFilter {
  const [beyond, at] = [direction === 'asc' ? '$gt' : '$lt', Math.min(position, OPEN)];
  return { $or: [{ [by]: { [beyond]: at } }, { [by]: at, n: { [beyond]: n } }] };
}

/** The space stays where each server looks for the beginning of an index. */
const both = (filter: StateFilter, more: readonly StateFilter[]): StateFilter =>
  more.length === 0 ? filter : { ...filter, $and: [...(filter.$and ?? []), ...more] };
