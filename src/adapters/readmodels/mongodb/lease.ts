/**
 * The lease of the process that may write. Each has a fencing token, one higher than the lease before. A process takes a
 * lease by inserting a document with the token as _id, which one of many can do, when the lease before has expired, was
 * released, or has to make way for a rebuild.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { ObjectId } from 'mongodb';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { ProjectorLeaseHeldError } from '../../../ports/readModelWriter.js';
import {
  type CatalogEntry,
  COLLECTION_NAME,
  catalogOf,
  definitionsOf,
  insertOnce,
  isUnfinished,
  newCollectionName,
  newPartName,
  readState,
  SHARED_COLLECTIONS,
  stateOf,
} from './catalog.js';
import type { LaneDb, MongoConnection } from './connection.js';
import type { Place } from './part.js';
import { copyPart } from './smallTables.js';

/** Another holder has taken over: nothing more may be written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  constructor() {
    super('The lease on the read models has gone to another process.');
  }
}

/** A rebuild's lease makes the projector wait; a projector's makes others give up. */
type Mode = 'projector' | 'rebuild';

type LeaseDocument = {
  /** Fencing token. */
  readonly _id: number;
  readonly owner: string;
  readonly mode: Mode;
  /** By the server's clock. */
  readonly renewedAt: Date;
  readonly lastsMs: number;
  readonly released: boolean;
};

/** The default time for which a lease lasts without renewal. */
export const LEASE_MS = 5_000;

const POLL_MS = 20;
/** A rebuild holds the lease while it catches up before its swap. */
const REBUILD_TIMEOUT_MS = 120_000;

/** A rebuild waits so long for the end of a commit of the projector that it takes the lease from. */
const COMMIT_TIMEOUT_MS = 60_000;

const leasesOf = (db: LaneDb) => db.collection<LeaseDocument>('leases');

export class Lease {
  readonly #connection: MongoConnection;
  readonly #mode: Mode;
  readonly #lastsMs: number;
  readonly #owner: string;
  #fencingToken: number | undefined;
  #renewal: NodeJS.Timeout | undefined;

  /**
   * @param lastsMs how long it holds without renewal; it is renewed in the background
   * @param owner does not wait for its own lease, such as one that it could not release
   */
  constructor(connection: MongoConnection, mode: Mode, lastsMs: number, owner = new ObjectId().toHexString()) {
    this.#owner = owner;
    this.#connection = connection;
    this.#mode = mode;
    this.#lastsMs = lastsMs;
  }

  /** Undefined while the lease is not held. */
  get fencingToken(): number | undefined {
    return this.#fencingToken;
  }

  /**
   * A projector waits for a rebuild; a rebuild takes the lease from a projector.
   * @throws ProjectorLeaseHeldError when another projector holds it; ReadModelsUnavailableError after two minutes
   */
  async acquire(db: LaneDb): Promise<number> {
    this.forget();
    const giveUpAt = performance.now() + REBUILD_TIMEOUT_MS;
    for (;;) {
      const last = await leasesOf(db).findOne({}, { sort: { _id: -1 } });
      if (last !== null && (await this.#isHeld(db, last))) {
        if (this.#mode === 'projector' && last.mode === 'projector') throw new ProjectorLeaseHeldError();
        if (last.mode === 'rebuild') {
          if (performance.now() > giveUpAt) throw new ReadModelsUnavailableError('A rebuild holds the read models.');
          await delay(POLL_MS);
          continue;
        }
      }
      const token = (last?._id ?? 0) + 1;
      if (!(await this.#insert(db, token))) continue;
      // To move what the holder before was writing may take longer than the lease lasts.
      this.#keepAlive(token);
      try {
        await this.#takeState(db, token, last);
        await fenceOff(db, token);
        await leasesOf(db).deleteMany({ _id: { $lt: token } });
      } catch (error) {
        this.forget();
        // Another one was faster. Its lease is looked at like that of any other.
        if (error instanceof LeaseLostError) continue;
        throw error;
      }
      this.#fencingToken = token;
      return token;
    }
  }

  /**
   * The first step of `fenceOff`: the holder before can announce and end no more commits. A rebuild takes the state between two
   * commits: one that is interrupted has to be written again, and until then the served tables are of no one position.
   * @throws LeaseLostError if a later holder was faster
   */
  async #takeState(db: LaneDb, token: number, before: LeaseDocument | null): Promise<void> {
    await insertOnce(stateOf(db), { _id: 'state', fence: 0, checkpoints: [], until: [] });
    const giveUpAt = performance.now() + COMMIT_TIMEOUT_MS;
    for (;;) {
      const state = await readState(db);
      if (state === undefined || state.fence >= token) throw new LeaseLostError();
      const isWriting =
        this.#mode === 'rebuild' && performance.now() < giveUpAt && (await this.#isStillHeld(db, before?._id));
      if (isWriting && state.until.some(({ name }) => isUnfinished(state, name))) {
        await delay(POLL_MS);
        continue;
      }
      const same = isWriting ? { until: state.until } : {};
      const { matchedCount } = await stateOf(db).updateOne(
        { _id: 'state', fence: { $lt: token }, ...same },
        { $set: { fence: token } },
      );
      if (matchedCount === 1) return;
    }
  }

  async #isStillHeld(db: LaneDb, token: number | undefined): Promise<boolean> {
    const lease = token === undefined ? null : await leasesOf(db).findOne({ _id: token });
    return lease !== null && (await this.#isHeld(db, lease));
  }

  async #isHeld(db: LaneDb, { released, owner, renewedAt, lastsMs }: LeaseDocument): Promise<boolean> {
    if (released || owner === this.#owner) return false;
    return (await db.serverTime()).getTime() - renewedAt.getTime() < lastsMs;
  }

  async #insert(db: LaneDb, token: number): Promise<boolean> {
    return insertOnce(leasesOf(db), {
      _id: token,
      owner: this.#owner,
      mode: this.#mode,
      renewedAt: await db.serverTime(),
      lastsMs: this.#lastsMs,
      released: false,
    });
  }

  /** A failed renewal does no harm: the next may succeed, and a write without the lease fails by its token. */
  #keepAlive(token: number): void {
    const renew = (): void => {
      this.#connection
        .run((db) => leasesOf(db).updateOne({ _id: token }, { $currentDate: { renewedAt: true } }))
        .catch(() => undefined);
    };
    this.#renewal = setInterval(renew, this.#lastsMs / 4).unref();
  }

  /** Stops to renew it without release: the next holder waits until it expires. */
  forget(): void {
    clearInterval(this.#renewal);
    this.#fencingToken = undefined;
  }

  /** Ends the lease, so that the next holder need not wait. */
  async release(db: LaneDb): Promise<void> {
    const token = this.#fencingToken;
    this.forget();
    if (token !== undefined) await leasesOf(db).updateOne({ _id: token }, { $set: { released: true } });
  }
}

/**
 * Fences off earlier holders, before a new holder writes. Its token is in the state, and goes into each entry of the catalog. A
 * writer announces each commit, and each table that it is about to change, by an update that requires its own token, so an
 * earlier holder can announce nothing more. Tables that it had announced before, and may still be writing (a request can be
 * late by any time), are `applying`: their collections are renamed, and late writes go to the old name, which nobody reads.
 */
async function fenceOff(db: LaneDb, token: number): Promise<void> {
  await catalogOf(db).updateMany({ rebuild: null, fence: { $lt: token } }, { $set: { fence: token } });
  const dirty = await catalogOf(db).find({ rebuild: null, applying: true }).toArray();
  for (const entry of dirty) await move(db, entry, token);
  await dropUnreferenced(db);
}

/**
 * Renames a collection. If a holder died meanwhile, `moving` is set and the collection has one of both names. The records
 * of a small table are copied to another part, and the late writes go to the part that nobody reads.
 */
async function move(db: LaneDb, entry: CatalogEntry, token: number): Promise<void> {
  if (entry.of) return moveSmall(db, entry, token);
  const names = await db.collectionNames();
  const from = entry.moving !== null && names.includes(entry.moving) ? entry.moving : entry.collection;
  const to = newCollectionName(entry.kind);
  const change = ($set: Partial<CatalogEntry>) =>
    catalogOf(db).updateOne({ _id: entry._id, fence: token }, { $set, $inc: { version: 1 } });
  await change({ collection: from, moving: to });
  if (names.includes(from)) await db.renameCollection(from, to);
  await change({ collection: to, moving: null });
}

async function moveSmall(db: LaneDb, entry: CatalogEntry, token: number): Promise<void> {
  // Not the part that an earlier holder may still copy to.
  const of = newPartName();
  const change = ($set: Partial<CatalogEntry>) =>
    catalogOf(db).updateOne({ _id: entry._id, fence: token }, { $set, $inc: { version: 1 } });
  await change({ moving: of });
  await copyPart(db, entry, of);
  await change({ of, moving: null });
}

/** Documents of shared collections that one call removes. */
const DOCUMENTS_A_STEP = 10_000;

/**
 * Drops collections, and removes parts of shared ones, that the catalog does not name. It lists them first: one created
 * meanwhile was in the catalog before.
 * @param most how many collections are dropped at most
 * @returns whether there may be more
 */
export async function dropUnreferenced(db: LaneDb, most = Number.POSITIVE_INFINITY): Promise<boolean> {
  const names = (await db.collectionNames()).filter((name) => COLLECTION_NAME.test(name));
  const parts: (Place & { readonly of: string })[] = [];
  for (const collection of SHARED_COLLECTIONS) {
    for (const of of await db.collection(collection).distinct('of')) parts.push({ collection, of });
  }
  const definitions = await oldDefinitions(db);
  const isNamed = await whetherNamed(db, [...names, ...parts.map(({ of }) => of), ...definitions]);
  await definitionsOf(db).deleteMany({ _id: { $in: definitions.filter((name) => !isNamed(name)) } });
  const unused = names.filter((name) => !isNamed(name));
  for (const name of unused.slice(0, most)) await db.dropCollection(name);
  let room = DOCUMENTS_A_STEP;
  for (const part of parts.filter(({ of }) => !isNamed(of))) {
    if (room > 0) room -= await removeSome(db, part, room);
    else return true;
  }
  return room === 0 || unused.length > most;
}

/** A definition is made before an entry names it: one of this age that none names is of a former asset type or entry. */
const DEFINITION_UNUSED_SECONDS = 3_600;

/** Their names begin with the time. */
async function oldDefinitions(db: LaneDb): Promise<readonly string[]> {
  const now = (await db.serverTime()).getTime() / 1_000;
  const before = ObjectId.createFromTime(Math.floor(now) - DEFINITION_UNUSED_SECONDS).toHexString();
  const found = await definitionsOf(db)
    .find({ _id: { $lt: before } }, { projection: { _id: 1 } })
    .toArray();
  return found.map(({ _id }) => _id);
}

/**
 * Whether the catalog names each of these. It is read again before one counts as not named: the swap of a rebuild takes a
 * name from one entry to another, and a reading may see the one before it and the other after it.
 */
async function whetherNamed(db: LaneDb, names: readonly string[]): Promise<(name: string) => boolean> {
  const named = await namesIn(db);
  if (names.every((name) => named.has(name))) return () => true;
  const again = await namesIn(db);
  return (name) => named.has(name) || again.has(name);
}

async function namesIn(db: LaneDb): Promise<ReadonlySet<unknown>> {
  const projection = { collection: 1, of: 1, moving: 1, growing: 1, swept: 1, events: 1, definition: 1 };
  const entries = await catalogOf(db).find({}, { projection }).toArray();
  return new Set(
    entries.flatMap(({ collection, of, moving, growing, swept, events, definition }) => [
      collection,
      of,
      moving,
      growing,
      swept,
      events,
      definition,
    ]),
  );
}

/** @returns how many there were, up to the limit */
async function removeSome(db: LaneDb, place: Place, limit: number): Promise<number> {
  const part = db.part(place);
  const some = await part.find({}, { projection: { _id: 1 }, limit, batchSize: limit }).toArray();
  await part.deleteMany(some.length < limit ? {} : { _id: { $in: some.map(({ _id }) => _id) } });
  return some.length;
}
