/** A second copy of read models: it is filled beside the served one, and takes its place in one step. */
import { ObjectId } from 'mongodb';
import type { Position } from '../../../ports/eventStore.js';
import type { ReadModelProof } from '../../../ports/readModelProof.js';
import { type ReadModelRebuild, RebuildInProgressError, type RebuildScope } from '../../../ports/readModelWriter.js';
import {
  catalogOf,
  insertOnce,
  isUnfinished,
  KINDS,
  positionOf,
  readState,
  type StoredParked,
  stateOf,
} from './catalog.js';
import { CatalogWriter } from './catalogWriter.js';
import type { LaneDb } from './connection.js';
import { type DatabaseLocation, MongoConnection, WRITER_SOCKET_TIMEOUT_MS } from './connection.js';
import { CopyWriter } from './copyWriter.js';
import { dropUnreferenced, LEASE_MS, Lease, LeaseLostError } from './lease.js';
import { parkedAroundSwap } from './parked.js';
import { MongoProof } from './proof/proof.js';

/** A rebuild without a heartbeat for so long counts as dead. */
const ABANDONED_AFTER_MS = 60_000;
const HEARTBEAT_MS = 10_000;

type RebuildDocument = { readonly _id: 'rebuild'; readonly id: string; readonly touchedAt: Date };
const rebuildsOf = (db: LaneDb) => db.collection<RebuildDocument>('rebuilds');

type RebuildOptions = DatabaseLocation & { readonly leaseMs?: number; readonly smallRows?: number };

/**
 * Starts a rebuild over a connection of its own. Removes the copies of dead ones first.
 * @throws RebuildInProgressError while another rebuild is at work
 */
export async function beginRebuild(options: RebuildOptions, scope: RebuildScope): Promise<ReadModelRebuild> {
  const connection = new MongoConnection({ ...options, socketTimeoutMs: WRITER_SOCKET_TIMEOUT_MS });
  try {
    return await connection.run(async (db) => {
      const id = await register(db);
      const lease = new Lease(connection, 'rebuild', options.leaseMs ?? LEASE_MS);
      return new MongoRebuild(connection, scope, id, lease, options.smallRows);
    });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function register(db: LaneDb): Promise<string> {
  const other = await rebuildsOf(db).findOne({ _id: 'rebuild' });
  const now = await db.serverTime();
  if (other !== null) {
    if (now.getTime() - other.touchedAt.getTime() < ABANDONED_AFTER_MS) throw new RebuildInProgressError();
    await rebuildsOf(db).deleteOne({ _id: 'rebuild', id: other.id });
  }
  const id = new ObjectId().toHexString();
  const isFirst = await insertOnce<RebuildDocument>(rebuildsOf(db), { _id: 'rebuild', id, touchedAt: now });
  if (!isFirst) throw new RebuildInProgressError();
  await catalogOf(db).deleteMany({ rebuild: { $nin: [null, id] } });
  while (await dropUnreferenced(db));
  return id;
}

class MongoRebuild extends CopyWriter implements ReadModelRebuild {
  readonly writer: ReadModelRebuild['writer'] = this;
  readonly #scope: RebuildScope;
  readonly #id: string;
  readonly #lease: Lease;
  readonly #heartbeat: NodeJS.Timeout;
  readonly proof: ReadModelProof;
  #isHeld = false;
  #position: Position = 0;

  constructor(
    connection: MongoConnection,
    scope: RebuildScope,
    id: string,
    lease: Lease,
    smallRows: number | undefined,
  ) {
    super(connection, new CatalogWriter(id, smallRows));
    this.#scope = scope;
    this.#id = id;
    this.#lease = lease;
    const run = <Result>(work: (db: LaneDb) => Promise<Result>) =>
      connection.run(async (db) => {
        if (this.#isHeld) {
          await this.#write(db);
          this.beginTransaction();
        }
        return work(db);
      });
    this.proof = new MongoProof({ run, isHeldBetweenCommits: (db) => this.#isHeldBetweenCommits(db) }, scope, id);
    const touch = (): void => {
      // The next may succeed; a rebuild whose copy was removed notices at its next commit.
      connection.run((db) => this.#touch(db)).catch(() => undefined);
    };
    this.#heartbeat = setInterval(touch, HEARTBEAT_MS).unref();
  }

  async #touch(db: LaneDb): Promise<void> {
    const { matchedCount } = await rebuildsOf(db).updateOne(
      { _id: 'rebuild', id: this.#id },
      { $currentDate: { touchedAt: true } },
    );
    if (matchedCount !== 1) throw new Error('This rebuild was taken for dead and cleared away by another.');
  }

  async begin(): Promise<void> {
    this.beginTransaction();
  }

  async commit(checkpoints: ReadonlyMap<string, Position>): Promise<void> {
    await this.connection.run((db) => this.#write(db));
    this.#position = checkpoints.get(this.#scope.projection) ?? this.#position;
  }

  async #write(db: LaneDb): Promise<void> {
    await this.#touch(db);
    await this.prepareCollections(db);
    await this.writeChanges(db, 'not');
    this.endTransaction();
  }

  position(): Position {
    return this.#position;
  }

  /** Takes the lease from the projector, which waits for its release. */
  async holdLive(): Promise<Position> {
    return this.connection.run(async (db) => {
      await this.#lease.acquire(db);
      this.beginTransaction();
      const state = await readState(db);
      this.#isHeld = true;
      return positionOf(state?.checkpoints, this.#scope.projection);
    });
  }

  /** True after reads: nobody has written meanwhile, as another holder would have put its token into the state first. */
  async #isHeldBetweenCommits(db: LaneDb): Promise<boolean> {
    const state = this.#isHeld ? await readState(db) : undefined;
    return (
      state?.fence === this.#lease.fencingToken && state !== undefined && !isUnfinished(state, this.#scope.projection)
    );
  }

  async release(position: Position): Promise<void> {
    await this.connection.run(async (db) => {
      await this.#write(db);
      await this.#lease.release(db);
    });
    this.#isHeld = false;
    this.#position = position;
  }

  /** Swaps table by table, as both copies of each are at the same position. */
  async swap(): Promise<void> {
    await this.connection.run(async (db) => {
      await this.#write(db);
      const state = await readState(db);
      if (state === undefined) throw new LeaseLostError();
      const parked = parkedAroundSwap(state, this.#scope);
      if (state.parked !== undefined) await this.#setParked(db, parked.before);
      await this.#putInPlace(db);
      if (state.parked !== undefined) await this.#setParked(db, parked.after);
      await this.#end(db);
    });
    await this.#close();
  }

  /** After a rebuild of one table its tenant stays parked. */
  async #setParked(db: LaneDb, parked: readonly StoredParked[]): Promise<void> {
    if (this.#scope.table !== undefined) return;
    const fence = this.#lease.fencingToken ?? -1;
    const { matchedCount } = await stateOf(db).updateOne({ _id: 'state', fence }, { $set: { parked } });
    if (matchedCount !== 1) throw new LeaseLostError();
  }

  async #putInPlace(db: LaneDb): Promise<void> {
    const catalog = catalogOf(db);
    const copies = await catalog.find({ rebuild: this.#id }).toArray();
    const fence = this.#lease.fencingToken ?? -1;
    for (const { _id, rebuild: _, fence: __, version: ___, ...copy } of copies) {
      const liveId = this.#liveId(_id);
      const { matchedCount } = await catalog.updateOne(
        { _id: liveId, fence },
        {
          $set: {
            swept: null,
            events: null,
            of: null,
            growing: null,
            indexing: false,
            ...copy,
            applying: false,
            moving: null,
          },
          $inc: { version: 1 },
          ...(copy.definition === undefined ? {} : { $unset: { assetType: '', layout: '' } }),
        },
      );
      if (matchedCount === 1) continue;
      // If the entry exists nevertheless, it is a later lease holder's.
      const live = { ...copy, _id: liveId, rebuild: null, fence, version: 0 };
      if (!(await insertOnce(catalog, live))) throw new LeaseLostError();
    }
    const { projection, tenant, table } = this.#scope;
    await catalog.deleteMany({
      rebuild: null,
      fence,
      kind: KINDS[projection],
      ...(tenant === undefined ? {} : { tenant }),
      ...(table === undefined ? {} : { table }),
      _id: { $nin: copies.map(({ _id }) => this.#liveId(_id)) },
    });
  }

  #liveId(copyId: string): string {
    return copyId.slice(`${this.#id}.`.length);
  }

  async #end(db: LaneDb): Promise<void> {
    await catalogOf(db).deleteMany({ rebuild: this.#id });
    await rebuildsOf(db).deleteOne({ _id: 'rebuild', id: this.#id });
    await this.#lease.release(db);
    while (await dropUnreferenced(db));
  }

  async abandon(): Promise<void> {
    try {
      await this.connection.run((db) => this.#end(db));
    } finally {
      await this.#close();
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#lease.forget();
    await this.connection.close();
  }
}
