/** What is asked of rows on MongoDB. An answer is of the tenant's progress, which is read first. */
import { type FindCursor, type IndexDescription, MongoServerError } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Position } from '../../../ports/eventStore.js';
import {
  type Checkpoint,
  type FoundRows,
  type Page,
  type PageQuery,
  type RowReads,
  type RowsQuery,
  refuseHidden,
  type SpaceRef,
  type SpaceState,
  type Spaces,
  type StoredRow,
  type TenantProgress,
  type VersionPage,
  type VersionQuery,
} from '../../../ports/rowStore.js';
import type { Cancellation } from '../../../supervision/cancellation.js';
import { type Definition, Definitions, filtersOf, type StateFilter, sortKey, sortOf } from './conditions.js';
import { type Database, LONGEST_QUERY_MS, MongoConnection } from './connection.js';
import {
  type How,
  OPEN,
  progressOf,
  spaceIn,
  spaceKey,
  spaceState,
  storedRow,
  storedVersion,
  visibleAt,
  WHOLE_STATE,
  type WholeState,
} from './documents.js';
import { ALL_SHARES, shareOf } from './shares.js';

const VERSIONS: How[] = ['changed', 'deleted'];
/** Documents in one answer of the server. A page is to come in one. */
const MOST_AT_ONCE = 1_001;

/** A space as it is asked. One that does not exist has no states. */
type SpaceReads = {
  readonly states: Database['states'];
  readonly s: string;
  readonly state: SpaceState;
  readonly definition: Definition | undefined;
  /** Options of queries: they end when they are not wanted any more. */
  readonly wanted: { readonly maxTimeMS: number; readonly signal?: AbortSignal };
};

/** What readers and the writer ask alike. A tenant is its name, or the id of a copy. */
export class StoredRows {
  protected readonly definitions = new Definitions();
  /** Keys of indexes that lists have asked for. */
  readonly #wanted = new Set<string>();
  #building: Promise<void> = Promise.resolve();

  /** @param seesHidden also rows that are being filled, or that stand still */
  constructor(
    protected readonly connection: MongoConnection,
    private readonly seesHidden: boolean,
  ) {}

  async #asked(database: Database, { tenant: id, space }: SpaceRef, cancellation?: Cancellation): Promise<SpaceReads> {
    const tenant = await database.tenants.findOne({ _id: id });
    if (!this.seesHidden) refuseHidden(tenant?.state);
    const stored = spaceIn(tenant, space);
    return {
      states: database.states,
      s: tenant === null ? '' : spaceKey(tenant, space),
      state: spaceState(tenant, space),
      definition: stored && (await this.definitions.get(database, stored.definition)),
      wanted: { maxTimeMS: LONGEST_QUERY_MS, ...(cancellation && { signal: cancellation.signal }) },
    };
  }

  rows(space: SpaceRef, { ids, keys, at }: RowsQuery, cancellation?: Cancellation): Promise<FoundRows> {
    const [byId, byKey] = [{ i: { $in: [...ids] } }, { k: { $in: [...keys] } }];
    const named = keys.length === 0 ? byId : ids.length === 0 ? byKey : { $or: [byId, byKey] };
    return this.connection.run(async (database) => {
      const asked = await this.#asked(database, space, cancellation);
      const rows = await found(asked, { ...shownAt(asked, at), ...named }).toArray();
      const taken = new Set(rows.map(({ k }) => k));
      const free = keys.filter((key) => !taken.has(key));
      return { rows: rows.map(storedRow), formerIds: await formerIds(asked, free, at), state: asked.state };
    });
  }

  page(space: SpaceRef, query: PageQuery, cancellation?: Cancellation): Promise<Page> {
    const { sort, offset, limit, behind, conditions, at, withTotal, maxCharacters } = query;
    return this.connection.run(async (database) => {
      const asked = await this.#asked(database, space, cancellation);
      const { definition, state } = asked;
      if (definition === undefined) return { rows: [], state, ...(withTotal && { total: 0 }) };
      const filter = both(shownAt(asked, at), filtersOf(definition, conditions));
      const isDown = sort.at(-1)?.direction === 'desc';
      const range: StateFilter[] = behind === undefined ? [] : [{ n: isDown ? { $lt: behind } : { $gt: behind } }];
      const startedAt = performance.now();
      const rows: StoredRow[] = [];
      let characters = 0;
      const order = { sort: sortOf(definition, sort), skip: offset, limit };
      if (limit > 0)
        for await (const each of found(asked, both(filter, range), order)) {
          characters += each.d.length;
          if (rows.length > 0 && characters > maxCharacters) break;
          rows.push(storedRow(each));
        }
      if (performance.now() - startedAt >= LONG_MS) this.#makeIndexes(database, definition, query);
      if (!withTotal) return { rows, state };
      const isAll = conditions.length === 0 && at === undefined;
      return { rows, state, total: isAll ? state.rows : await asked.states.countDocuments(filter, asked.wanted) };
    });
  }

  #makeIndexes(database: Database, definition: Definition, { sort, conditions }: PageQuery): void {
    const tested = conditions.flatMap((each) =>
      each.kind === 'equals' || each.kind === 'compares' || each.kind === 'contains' ? each.field : [],
    );
    const keys = [...tested, ...sort.slice(0, 1).map(({ field }) => field)].map((field) => sortKey(definition, field));
    for (const key of keys) {
      if (key === 'n' || key === 'i' || Number(key.slice(1)) >= MOST_SLOTS || this.#wanted.has(key)) continue;
      this.#wanted.add(key);
      // Beside the reads, one after the other; one that failed is asked for again. The server goes on with one that it has begun.
      this.#building = this.#building
        .then(() => makeIndexes(database, [listed({ [key]: 1, i: 1 })]))
        .catch(() => void this.#wanted.delete(key));
    }
  }

  versions(space: SpaceRef, query: VersionQuery, cancellation?: Cancellation): Promise<VersionPage> {
    const { id, begun, behind, limit } = query;
    const [by, order] = [begun === undefined ? 't' : 'f', id === undefined ? 1 : -1] as const;
    const range = behind === undefined ? [] : [behindOf(by, order, behind)];
    return this.connection.run(async (database) => {
      const asked = await this.#asked(database, space, cancellation);
      const { progress } = asked.state;
      const filter = both({ s: asked.s }, [...versionFilters(query, progress), ...range]);
      const states = await found(asked, filter, { sort: { [by]: order, n: order }, limit }).toArray();
      return { versions: states.map((each) => storedVersion(each, progress)), state: asked.state };
    });
  }

  spaces(tenant: string): Promise<Spaces | undefined> {
    return this.connection.run(async (database) => {
      const document = await database.tenants.findOne({ _id: tenant });
      const spaces = new Map<string, { readonly assetType: AssetType; readonly state: SpaceState }>();
      for (const [space, { definition }] of Object.entries(document?.spaces ?? {})) {
        const { assetType } = await this.definitions.get(database, definition);
        spaces.set(space, { assetType, state: spaceState(document, space) });
      }
      return document === null ? undefined : spaces;
    });
  }

  progress(tenant: string): Promise<TenantProgress | undefined> {
    return this.connection.run(async ({ tenants }) => progressOf(await tenants.findOne({ _id: tenant })));
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

class MongoRowReads extends StoredRows implements RowReads {
  override progress(tenant: string): Promise<TenantProgress | undefined> {
    return this.connection.run(async ({ tenants, checkpoints }) => {
      const asked = [tenants.findOne({ _id: tenant }), checkpoints.findOne({ _id: shareOf(tenant) })] as const;
      const [document, kept] = await Promise.all(asked);
      const progress = progressOf(document);
      if (progress?.state !== 'running') return progress;
      // Its writer has found nothing of it in between.
      return { ...progress, position: Math.max(progress.position, kept?.position ?? 0) };
    });
  }
}

/** The server need not be reachable: each question connects when needed. */
export const openMongoRowReads = ({ url }: { readonly url: string }): RowReads =>
  new MongoRowReads(new MongoConnection(url), false);

/** What writers of shares have kept, the earliest first. @param shares by default all */
export const keptIn = ({ checkpoints }: Database, shares = ALL_SHARES): Promise<Checkpoint[]> =>
  checkpoints
    .find<Checkpoint>({ _id: { $in: [...shares] } }, { sort: { position: 1 }, projection: { _id: 0 } })
    .toArray();

export async function keptCheckpoint(url: string): Promise<Checkpoint | undefined> {
  const connection = new MongoConnection(url);
  return connection.run(async (database) => (await keptIn(database))[0]).finally(() => connection.close());
}

const found = (
  { states, wanted }: SpaceReads,
  filter: StateFilter,
  options: Parameters<Database['states']['find']>[1] = {},
): FindCursor<WholeState> => {
  const batchSize = Math.min(options.limit ?? MOST_AT_ONCE, MOST_AT_ONCE);
  return states.find<WholeState>(filter, { projection: WHOLE_STATE, batchSize, ...wanted, ...options });
};

/** Of keys that no row has: the last rows that had them. */
async function formerIds(asked: SpaceReads, keys: string[], at: Position = OPEN): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map();
  const t = { $lte: Math.min(at, asked.state.progress) };
  const order = { sort: { t: 1, n: 1 } } as const;
  const deleted = await found(asked, { s: asked.s, k: { $in: keys }, t, h: 'deleted' }, order).toArray();
  return new Map(deleted.map(({ k, i }) => [k ?? '', i]));
}

/** States that rows had at a position, or have. */
const shownAt = ({ s, state: { progress } }: SpaceReads, at: Position = progress): StateFilter =>
  at >= progress ? visibleAt(s, progress) : { s, f: { $lte: at }, t: { $gt: at } };

function versionFilters({ id, ended, begun, how }: VersionQuery, progress: Position): StateFilter[] {
  const isPast = { t: { $lte: progress }, h: how === 'deleted' ? how : { $in: VERSIONS } };
  const isPresent = { t: { $gt: progress } };
  return [
    ...(id === undefined ? [] : [{ i: id }]),
    { f: { $gt: begun?.[0] ?? -1, $lte: Math.min(begun?.[1] ?? progress, progress) } },
    ...(ended === undefined ? [] : [{ t: { $gt: ended[0], $lte: Math.min(ended[1], progress) } }]),
    how === undefined && ended === undefined ? { $or: [isPast, isPresent] } : how === 'present' ? isPresent : isPast,
  ];
}

function behindOf(by: 't' | 'f', order: 1 | -1, [position, n]: readonly [Position, number]): StateFilter {
  const [beyond, at] = [order === 1 ? '$gt' : '$lt', Math.min(position, OPEN)];
  return { $or: [{ [by]: { [beyond]: at } }, { [by]: at, n: { [beyond]: n } }] };
}

/** The space stays where each server looks for the beginning of an index. */
const both = (filter: StateFilter, more: readonly StateFilter[]): StateFilter =>
  more.length === 0 ? filter : { ...filter, $and: [...(filter.$and ?? []), ...more] };

// Indexes of the states. Those of slots, which the tables of all tenants share, are made when a list that needs one took long.

/** Only states that have not ended, or not for long. */
const listed = (key: IndexDescription['key']): IndexDescription => ({
  key: { s: 1, o: 1, ...key },
  partialFilterExpression: { o: 1 },
});

const ALWAYS: IndexDescription[] = [
  { key: { s: 1, i: 1, f: 1 } },
  { key: { s: 1, k: 1, t: 1 } },
  { key: { s: 1, f: 1, n: 1 } },
  { key: { s: 1, t: 1, n: 1 } },
  listed({ n: 1 }),
  listed({ b: 1 }),
];

/** A list that took longer asks for an index. */
const LONG_MS = 50;
/** The server has at most 64 for a collection. */
const MOST_SLOTS = 40;
/** NotImplemented, CommandNotSupported: the server has no partial indexes. Whole ones find the same, and are larger. */
const NO_PARTIAL_INDEXES: readonly unknown[] = [238, 115];

/** Makes those that are not there. @param indexes by default, those that are always there */
export async function makeIndexes({ states }: Database, indexes = ALWAYS): Promise<void> {
  try {
    await states.createIndexes(indexes);
  } catch (error) {
    if (!(error instanceof MongoServerError && NO_PARTIAL_INDEXES.includes(error.code))) throw error;
    await states.createIndexes(indexes.map(({ key }) => ({ key })));
  }
}
