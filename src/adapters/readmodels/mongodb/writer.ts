/** The write side of the read models on MongoDB: records and checkpoints agree after any crash (docs/decisions/0010). */
import type { LogAnchor, Position } from '../../../ports/eventStore.js';
import type { Parked } from '../../../ports/projectionProgress.js';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '../../../ports/readModelWriter.js';
import {
  type Checkpoint,
  catalogOf,
  isUnfinished,
  KINDS,
  placeOf,
  positionOf,
  readState,
  recordsEntryId,
  type State,
  stateOf,
  storedPlace,
  wholeEntries,
} from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import type { LaneDb } from './connection.js';
import { type DatabaseLocation, MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { CopyWriter } from './copyWriter.js';
import { endedDeliveries } from './deliveries.js';
import { IndexBuilds } from './indexBuilds.js';
import { isOutdated } from './layout.js';
import { dropUnreferenced, LEASE_MS, Lease, LeaseLostError } from './lease.js';
import { askRetry, ParkedChanges, parkedOf } from './parked.js';
import { beginRebuild } from './rebuild.js';
import { shapeOf } from './recordDocument.js';

const COLLECTIONS_A_STEP = 10;

type WriterOptions = DatabaseLocation & {
  /** The time after which a dead projector is replaced, in milliseconds; default 5,000. */
  readonly leaseMs?: number;
  /** Writers of one owner follow each other and need not wait for the lease of the one before; default: an owner of its own. */
  readonly owner?: string;
  /** Default: `SMALL_ROWS`. */
  readonly smallRows?: number;
};

/** Opens the write side. The server need not be reachable: each use connects when needed. */
export async function openMongoReadModelWriter(
  options: WriterOptions,
): Promise<ReadModelWriter & RebuildableReadModels> {
  return new MongoReadModelWriter(options);
}

class MongoReadModelWriter extends CopyWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #options: WriterOptions;
  readonly #lease: Lease;
  /** After a failed commit its requests may still be in flight: a new lease fences them off. */
  #mustAcquire = true;
  /** The progress when the open transaction began. */
  #state: State | undefined;
  /** A new holder of the lease drops the collections that the one before has left. */
  #mayHoldDropped = false;
  /** The tenant whose delivery log was asked last for entries to drop. */
  #askedForEnded = '';
  #parked = new ParkedChanges();
  readonly #indexBuilds: IndexBuilds;

  constructor(options: WriterOptions) {
    const connection = new MongoConnection({ ...options, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
    super(connection, new CatalogWriter(null, options.smallRows));
    this.#options = options;
    this.#lease = new Lease(connection, 'projector', options.leaseMs ?? LEASE_MS, options.owner);
    this.#indexBuilds = new IndexBuilds(options, this.catalog);
  }

  /** @throws ProjectorLeaseHeldError while another process projects */
  async begin(): Promise<void> {
    this.#state = await this.connection.run((db) => this.#underLease(db));
    this.beginTransaction();
  }

  async #underLease(db: LaneDb): Promise<State> {
    if (!this.#mustAcquire) {
      const state = await readState(db);
      if (state !== undefined && state.fence === this.#lease.fencingToken) return state;
    }
    this.catalog.fencingToken = await this.#lease.acquire(db);
    this.catalog.forget();
    this.#mustAcquire = false;
    // The holder before may have left some.
    this.#mayHoldDropped = true;
    const state = await readState(db);
    if (state === undefined) throw new LeaseLostError();
    return state;
  }

  async commit(checkpoints: ReadonlyMap<string, Position>, place?: LogAnchor): Promise<void> {
    try {
      await this.connection.run((db) => this.#commitUnderLease(db, checkpoints, place));
    } catch (error) {
      this.#mustAcquire = true;
      throw error;
    }
    this.endTransaction();
  }

  /**
   * A rebuild may have taken the lease meanwhile. After its release the changes still fit, as it left the checkpoints alone,
   * unless it has filled parked tenants.
   */
  async #commitUnderLease(db: LaneDb, checkpoints: ReadonlyMap<string, Position>, place?: LogAnchor): Promise<void> {
    if (this.#state === undefined) throw new Error('No transaction has been begun.');
    for (;;) {
      try {
        await this.#write(db, this.#state, checkpoints, place);
        return;
      } catch (error) {
        // Any failure after another holder took over, such as a missing collection, is caused by that.
        if ((await readState(db))?.fence === this.#lease.fencingToken) throw error;
        this.#mustAcquire = true;
        const state = await this.#underLease(db);
        if (standing(state) !== standing(this.#state)) throw error;
        this.#state = state;
      }
    }
  }

  async #write(
    db: LaneDb,
    state: State,
    reached: ReadonlyMap<string, Position>,
    place: LogAnchor | undefined,
  ): Promise<void> {
    const parked = this.#parked;
    const checkpoints = merged(state.checkpoints, reached);
    const isRepeated = parked.isUnfinished(state) || state.until.some(({ name }) => isUnfinished(state, name));
    const until = checkpoints.map(({ name, position }) =>
      isUnfinished(state, name)
        ? { name, position: Math.max(position, positionOf(state.until, name)) }
        : { name, position },
    );
    const reaches = (name: string) => positionOf(checkpoints, name);
    const isBeyond = parked.isBeyond(state, reaches) || until.some(({ name, position }) => position > reaches(name));
    await this.prepareCollections(db);
    if (this.hasChanges) await this.#setState(db, { until, ...parked.announced(state, reaches) });
    await this.writeChanges(db, isRepeated ? (isBeyond ? 'of more' : 'of this') : 'not');
    const placed = place === undefined ? {} : { place: storedPlace(place) };
    const stand = parked.written(state, (name) => positionOf(until, name));
    await this.#setState(db, { checkpoints, until, ...placed, ...stand });
    await parked.settleRetries(db);
  }

  async parked(): Promise<readonly Parked[]> {
    return this.connection.run(async (db) => parkedOf(db, this.#state ?? (await readState(db))));
  }

  /** Each event is applied as a whole, in the order of the log. */
  readonly outOfOrder: ReadModelWriter['outOfOrder'] = async () => [];

  readonly park: ReadModelWriter['park'] = async (parked) => this.#parked.put(parked);

  readonly unpark: ReadModelWriter['unpark'] = async (named) => this.#parked.remove(named);

  readonly askRetry: ReadModelWriter['askRetry'] = (named) =>
    this.connection.run(async (db) => askRetry(db, await readState(db), named));

  async #setState(db: LaneDb, $set: Partial<State>): Promise<void> {
    const fence = this.#lease.fencingToken ?? -1;
    const { matchedCount } = await stateOf(db).updateOne({ _id: 'state', fence }, { $set });
    if (matchedCount !== 1) throw new LeaseLostError();
  }

  protected override endTransaction(): void {
    super.endTransaction();
    this.#state = undefined;
    this.#parked = new ParkedChanges();
  }

  async dropDeliveries(endedBefore: string, limit: number): Promise<number> {
    const { ended, next } = await this.connection.run((db) =>
      endedDeliveries(db, endedBefore, { after: this.#askedForEnded, limit }),
    );
    this.#askedForEnded = next;
    for (const [tenant, ids] of ended) this.dropFromLog(tenant, ids);
    return [...ended.values()].flat().length;
  }

  override readonly dropTenant: ReadModelWriter['dropTenant'] = async (projection, tenant) => {
    await this.dropFromCopy(projection, tenant);
    this.#mayHoldDropped = true;
  };

  async clearDropped(): Promise<boolean> {
    if (!this.#mayHoldDropped) return false;
    this.#mayHoldDropped = await this.connection.run((db) => dropUnreferenced(db, COLLECTIONS_A_STEP));
    return true;
  }

  /** MongoDB's indexes are trees, which need no merging. Those that are missing are built while others write. */
  async mergeIndexes(): Promise<boolean> {
    this.#indexBuilds.begin();
    return false;
  }

  async reset(projection: string): Promise<void> {
    await this.begin();
    const kind = new Map(Object.entries(KINDS)).get(projection);
    await this.connection.run(async (db) => {
      const fence = { $lte: this.#lease.fencingToken ?? -1 };
      if (kind !== undefined) await catalogOf(db).deleteMany({ rebuild: null, kind, fence });
      this.catalog.forget();
    });
    for (const each of this.#state?.parked ?? []) if (each.projection === projection) await this.unpark(each);
    await this.commit(new Map([[projection, 0]]));
    await this.connection.run(async (db) => {
      while (await dropUnreferenced(db));
    });
  }

  async checkpoint(projection: string): Promise<Position> {
    // Only the lease holder changes it, and the commit notices a lost lease.
    const state = this.#state ?? (await this.connection.run(readState));
    return positionOf(state?.checkpoints, projection);
  }

  async anchor(): Promise<LogAnchor | undefined> {
    return placeOf(this.#state ?? (await this.connection.run(readState)));
  }

  readonly beginRebuild: RebuildableReadModels['beginRebuild'] = (scope) => beginRebuild(this.#options, scope);

  readonly nextTenant: RebuildableReadModels['nextTenant'] = (after) =>
    this.connection.run((db) => nextTenant(db, after));

  readonly outdatedTables: RebuildableReadModels['outdatedTables'] = (tenant) =>
    this.connection.run((db) => outdatedTables(db, tenant));

  /** Releases the lease, so that another projector can go on at once. */
  async close(): Promise<void> {
    try {
      if (this.#lease.fencingToken !== undefined) await this.connection.run((db) => this.#lease.release(db));
    } catch (error) {
      // It expires by itself.
      if (!(error instanceof ReadModelsUnavailableError)) throw error;
    } finally {
      this.#lease.forget();
      await Promise.all([this.connection.close(), this.#indexBuilds.close()]);
    }
  }
}

/** The progress that a transaction is made for. */
const standing = ({ checkpoints, parked = [] }: State): string => JSON.stringify([checkpoints, parked]);

function merged(before: readonly Checkpoint[], reached: ReadonlyMap<string, Position>): readonly Checkpoint[] {
  const all = new Map([...before.map(({ name, position }) => [name, position] as const), ...reached]);
  return [...all].map(([name, position]) => ({ name, position }));
}

/** No id of an entry of the tenant's tables comes before the first, nor at or behind the second: `/` follows `.`. */
const boundsOf = (tenant: string) => {
  const first = recordsEntryId({ tenant, table: '' });
  return [first, `${first.slice(0, -1)}/`] as const;
};

export async function nextTenant(db: LaneDb, after?: string): Promise<string | undefined> {
  const behind = after === undefined ? 'records.' : boundsOf(after)[1];
  const entry = await catalogOf(db).findOne(
    { _id: { $gte: behind, $lt: 'records/' }, rebuild: null },
    { sort: { _id: 1 }, projection: { tenant: 1 } },
  );
  return entry?.tenant;
}

/** A table without records is laid out with its first one. */
export async function outdatedTables(db: LaneDb, tenant: string): Promise<readonly string[]> {
  const [from, to] = boundsOf(tenant);
  const entries = await wholeEntries(db, { _id: { $gte: from, $lt: to }, rebuild: null, made: true });
  return entries.flatMap((entry) => {
    const { assetType, large } = shapeOf(entry);
    return isOutdated(assetType, large) ? [entry.table] : [];
  });
}
