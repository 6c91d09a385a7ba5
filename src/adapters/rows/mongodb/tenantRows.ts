/** A tenant's rows as they are at its progress. */

import { LRUCache } from 'lru-cache';
import type { FindCursor } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Position } from '../../../ports/eventStore.js';
import type {
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
import { Definitions } from './definitions.js';
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
  visibleAt,
  WHOLE_STATE,
  type WholeState,
} from './documents.js';
import type { Indexes } from './indexes.js';

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
  /** Options of queries that end when they are not wanted any more. */
  readonly #wanted: { readonly maxTimeMS: number; readonly signal?: AbortSignal };

  /** @param tenant as it was read for this question; undefined: it has no rows */
  constructor(database: Database, known: Known, tenant: TenantDocument | undefined, cancellation?: Cancellation) {
    this.#database = database;
    this.#known = known;
    this.#tenant = tenant;
    this.#wanted = { maxTimeMS: LONGEST_QUERY_MS, ...(cancellation && { signal: cancellation.signal }) };
  }

  get progress(): TenantProgress | undefined {
    return this.#tenant && progressOf(this.#tenant);
  }

  async rows(space: string, { ids, keys, at }: RowsQuery): Promise<FoundRows> {
    const state = spaceState(this.#tenant, space);
    const place = this.#placeOf(space);
    const [first, second] = [ids.length > 0 && { i: { $in: [...ids] } }, keys.length > 0 && { k: { $in: [...keys] } }];
    if (place === undefined || !(first || second)) return { rows: [], formerIds: new Map(), state };
    const named = first && second ? { $or: [first, second] } : { ...first, ...second };
    const rows = (await this.#find({ ...shownAt(place, at), ...named }, this.#wanted).toArray()).map(storedRow);
    const taken = new Set(rows.map(({ key }) => key));
    const free = keys.filter((key) => !taken.has(key));
    return { rows, formerIds: await this.#formerIds(place, free, Math.min(at ?? OPEN, place.progress)), state };
  }

  async #formerIds({ s }: Place, keys: string[], until: Position): Promise<Map<string, string>> {
    if (keys.length === 0) return new Map();
    const were = { s, k: { $in: keys }, t: { $lte: until }, h: 'deleted' } as const;
    const deleted = await this.#find(were, this.#wanted).toArray();
    deleted.sort((a, b) => a.t - b.t || a.n - b.n);
    return new Map(deleted.map(({ k, i }) => [k ?? '', i]));
  }

  async page(space: string, query: PageQuery): Promise<Page> {
    const { sort, offset, limit, behind, withTotal, maxCharacters } = query;
    const state = spaceState(this.#tenant, space);
    const place = this.#placeOf(space);
    if (place === undefined) return { rows: [], state, ...(withTotal && { total: 0 }) };
    const definition = await this.#known.definitions.get(this.#database, place.definition);
    const filter = both(shownAt(place, query.at), filtersOf(definition, query.conditions));
    const isDown = sort.at(-1)?.direction === 'desc';
    const range: StateFilter[] = behind === undefined ? [] : [{ n: isDown ? { $lt: behind } : { $gt: behind } }];
    const startedAt = performance.now();
    const rows: StoredRow[] = [];
    let characters = 0;
    const order = { sort: sortOf(definition, sort), skip: offset, limit };
    if (limit > 0)
      for await (const found of this.#find(both(filter, range), { ...this.#wanted, ...order })) {
        characters += found.d.length;
        if (rows.length > 0 && characters > maxCharacters) break;
        rows.push(storedRow(found));
      }
    this.#known.indexes?.took(performance.now() - startedAt, this.#database, definition, query);
    if (!withTotal) return { rows, state };
    const isLast = behind === undefined && rows.length < limit && (rows.length > 0 || offset === 0);
    const isWhole = isLast && characters <= maxCharacters;
    return { rows, state, total: isWhole ? offset + rows.length : await this.#total(place, filter, query, state) };
  }

  async #total({ s }: Place, filter: StateFilter, { conditions, at }: PageQuery, state: SpaceState): Promise<number> {
    if (conditions.length === 0 && at === undefined) return state.rows;
    const key = JSON.stringify([s, state.changed, at, conditions]);
    const total = this.#known.totals.get(key) ?? (await this.#database.states.countDocuments(filter, this.#wanted));
    this.#known.totals.set(key, total);
    return total;
  }

  async versions(space: string, query: VersionQuery): Promise<VersionPage> {
    const { begun, direction, behind, limit, withTotal } = query;
    const state = spaceState(this.#tenant, space);
    const place = this.#placeOf(space);
    if (place === undefined) return { versions: [], state, ...(withTotal && { total: 0 }) };
    const by = begun === undefined ? 't' : 'f';
    const order = direction === 'asc' ? 1 : -1;
    const filter = both({ s: place.s }, versionFilters(query, place.progress));
    const range = behind === undefined ? [] : [behindOf(by, direction, behind)];
    const options = { ...this.#wanted, sort: { [by]: order, n: order }, limit } as const;
    const found = limit === 0 ? [] : await this.#find(both(filter, range), options).toArray();
    const versions = found.map((each) => storedVersion(each, place.progress));
    if (!withTotal) return { versions, state };
    return { versions, state, total: await this.#database.states.countDocuments(filter, this.#wanted) };
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

  #find(filter: StateFilter, options: Parameters<Database['states']['find']>[1]): FindCursor<WholeState> {
    const batchSize = Math.min(options?.limit ?? MOST_AT_ONCE, MOST_AT_ONCE);
    return this.#database.states.find<WholeState>(filter, { projection: WHOLE_STATE, batchSize, ...options });
  }

  #placeOf(space: string): Place | undefined {
    const stored = spaceIn(this.#tenant, space);
    if (this.#tenant === undefined || stored === undefined) return undefined;
    return { s: spaceKey(this.#tenant, space), progress: this.#tenant.position, definition: stored.definition };
  }
}

type Place = { readonly s: string; readonly progress: Position; readonly definition: string };

/** States that rows had at a position, or have. */
const shownAt = ({ s, progress }: Place, at: Position = progress): StateFilter =>
  at >= progress ? visibleAt(s, progress) : { s, f: { $lte: at }, t: { $gt: at } };

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
