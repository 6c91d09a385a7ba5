/** The write side of the read models on MongoDB: records and checkpoints agree after any crash (docs/decisions/0010). */
import type { LogAnchor, Position } from '../../../ports/eventStore.js';
import type { Parked } from '../../../ports/projectionProgress.js';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '../../../ports/readModelWriter.js';
import {
  type Checkpoint,
  catalogOf,
  KINDS,
  placeOf,
  positionOf,
  readState,
  type State,
  stateOf,
  storedPlace,
} from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import { type DatabaseLocation, MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { CopyWriter } from './copyWriter.js';
import { endedDeliveries } from './deliveries.js';
import type { LaneDb } from './laneDb.js';
import { dropUnreferenced, LEASE_MS, Lease, LeaseLostError } from './lease.js';
import { nextTenant, outdatedTables } from './outdated.js';
import { askRetry, ParkedChanges, parkedOf } from './parked.js';
import { beginRebuild } from './rebuild.js';

const COLLECTIONS_A_STEP = 10;

export type WriterOptions = DatabaseLocation & {
  /** How long after its death a projector is replaced, in milliseconds; 5 seconds where unset. */
  readonly leaseMs?: number;
  /** Writers of one owner come one after the other, and need not wait for each other's lease; unset: its own. */
  readonly owner?: string;
};

/** Opens the write side, whether the server can be reached or not: each use connects when it is needed. */
export async function openMongoReadModelWriter(
  options: WriterOptions,
): Promise<ReadModelWriter & RebuildableReadModels> {
  return new MongoReadModelWriter(options);
}

class MongoReadModelWriter extends CopyWriter implements ReadModelWriter, RebuildableReadModels {
  readonly #options: WriterOptions;
  readonly #lease: Lease;
  /** After a failed commit its requests may still be under way: a new lease shuts them out. */
  #mustAcquire = true;
  /** Where the projections stood when the open transaction began. */
  #state: State | undefined;
  /** Whoever takes the lease clears away what was dropped before. */
  #mayHoldDropped = false;
  /** The last tenant's delivery log that was asked for entries to drop. */
  #askedForEnded = '';
  #parked = new ParkedChanges();

  constructor(options: WriterOptions) {
    const connection = new MongoConnection({ ...options, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
    super(connection, new CatalogWriter(null));
    this.#options = options;
    this.#lease = new Lease(connection, 'projector', options.leaseMs ?? LEASE_MS, options.owner);
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
   * A rebuild may have taken the lease meanwhile. Once it gives it back, the changes still fit, as it left the checkpoints
   * alone; not so where it has filled anew what was parked.
   */
  async #commitUnderLease(db: LaneDb, checkpoints: ReadonlyMap<string, Position>, place?: LogAnchor): Promise<void> {
    if (this.#state === undefined) throw new Error('No transaction has been begun.');
    for (;;) {
      try {
        await this.#write(db, this.#state, checkpoints, place);
        return;
      } catch (error) {
        // Whatever goes wrong after another has taken over, such as a collection that is gone, comes of that.
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

  /** MongoDB's are trees. */
  async mergeIndexes(): Promise<boolean> {
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
    await this.connection.run(dropUnreferenced);
  }

  async checkpoint(projection: string): Promise<Position> {
    // Nobody else moves it while this process may write, and the commit finds out when it may not any more.
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

  /** Gives the lease back, so that another projector may go on at once. */
  async close(): Promise<void> {
    try {
      if (this.#lease.fencingToken !== undefined) await this.connection.run((db) => this.#lease.release(db));
    } catch (error) {
      // It runs out by itself.
      if (!(error instanceof ReadModelsUnavailableError)) throw error;
    } finally {
      this.#lease.forget();
      await this.connection.close();
    }
  }
}

/** Where everything stands that a transaction is made for. */
const standing = ({ checkpoints, parked = [] }: State): string => JSON.stringify([checkpoints, parked]);

/** A commit was begun and its end not reached: some of its changes may be there. */
const isUnfinished = ({ checkpoints, until }: State, name: string): boolean =>
  positionOf(until, name) > positionOf(checkpoints, name);

function merged(before: readonly Checkpoint[], reached: ReadonlyMap<string, Position>): readonly Checkpoint[] {
  const all = new Map([...before.map(({ name, position }) => [name, position] as const), ...reached]);
  return [...all].map(([name, position]) => ({ name, position }));
}
