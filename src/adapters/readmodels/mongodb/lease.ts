/**
 * The lease of the process that may write. Each has a fencing token, one higher than the lease before. A process takes a
 * lease by inserting a document with the token as _id, which one of many can do, when the lease before has expired, was
 * released, or has to make way for a rebuild.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { ObjectId } from 'mongodb';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { ProjectorLeaseHeldError } from '../../../ports/readModelWriter.js';
import { type CatalogEntry, COLLECTION_NAME, catalogOf, insertOnce, newCollectionName, stateOf } from './catalog.js';
import type { LaneDb, MongoConnection } from './connection.js';

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
      await fenceOff(db, token);
      await leasesOf(db).deleteMany({ _id: { $lt: token } });
      this.#fencingToken = token;
      this.#keepAlive(token);
      return token;
    }
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
 * Fences off earlier holders, before a new holder writes. Its token goes into the state and each entry of the catalog. A
 * writer announces each commit, and each table that it is about to change, by an update that requires its own token, so an
 * earlier holder can announce nothing more. Tables that it had announced before, and may still be writing (a request can be
 * late by any time), are `applying`: their collections are renamed, and late writes go to the old name, which nobody reads.
 *
 * @throws LeaseLostError if a later holder was faster
 */
async function fenceOff(db: LaneDb, token: number): Promise<void> {
  await insertOnce(stateOf(db), { _id: 'state', fence: 0, checkpoints: [], until: [] });
  const { matchedCount } = await stateOf(db).updateOne(
    { _id: 'state', fence: { $lt: token } },
    { $set: { fence: token } },
  );
  if (matchedCount !== 1) throw new LeaseLostError();
  await catalogOf(db).updateMany({ rebuild: null, fence: { $lt: token } }, { $set: { fence: token } });
  const dirty = await catalogOf(db).find({ rebuild: null, applying: true }).toArray();
  for (const entry of dirty) await move(db, entry, token);
  await dropUnreferenced(db);
}

/** Renames a collection. If a holder died meanwhile, `moving` is set and the collection has one of both names. */
async function move(db: LaneDb, entry: CatalogEntry, token: number): Promise<void> {
  const names = await db.collectionNames();
  const from = entry.moving !== null && names.includes(entry.moving) ? entry.moving : entry.collection;
  const to = newCollectionName(entry.kind);
  const change = ($set: Partial<CatalogEntry>) =>
    catalogOf(db).updateOne({ _id: entry._id, fence: token }, { $set, $inc: { version: 1 } });
  await change({ collection: from, moving: to });
  if (names.includes(from)) await db.renameCollection(from, to);
  await change({ collection: to, moving: null });
}

/**
 * Drops collections that the catalog does not name. It lists them first: one created meanwhile was in the catalog before.
 * @param most how many are dropped at most
 * @returns whether there may be more
 */
export async function dropUnreferenced(db: LaneDb, most = Number.POSITIVE_INFINITY): Promise<boolean> {
  const names = (await db.collectionNames()).filter((name) => COLLECTION_NAME.test(name));
  const entries = await catalogOf(db)
    .find({}, { projection: { collection: 1, moving: 1, swept: 1 } })
    .toArray();
  const used = new Set(entries.flatMap(({ collection, moving, swept }) => [collection, moving, swept]));
  const unused = names.filter((name) => !used.has(name));
  for (const name of unused.slice(0, most)) await db.dropCollection(name);
  return unused.length > most;
}
