/**
 * Who may write. Each lease has a fencing token, higher than that of the one before. It is taken by inserting
 * a document with that number as _id, which the server lets one of many do; a lease that has run out, was given
 * back, or has to make way for a rebuild is followed by the next number. The new holder then writes its token into
 * the state and the catalog, and from then on every write of an earlier holder finds a higher token and fails.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, ObjectId } from 'mongodb';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { ProjectorLeaseHeldError } from '../../../ports/readModelWriter.js';
import { insertOnce, serverTime } from './catalog.js';
import type { MongoConnection } from './connection.js';
import { fenceOff } from './fencing.js';

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

/** How long a lease lasts without renewal, where nothing else is asked for. */
export const LEASE_MS = 5_000;

const POLL_MS = 20;
/** A rebuild holds the lease while it catches up before its swap. */
const REBUILD_TIMEOUT_MS = 120_000;

const leasesOf = (db: Db) => db.collection<LeaseDocument>('leases');

export class Lease {
  readonly #connection: MongoConnection;
  readonly #mode: Mode;
  readonly #lastsMs: number;
  readonly #owner = new ObjectId().toHexString();
  #fencingToken: number | undefined;
  #renewal: NodeJS.Timeout | undefined;

  /** @param lastsMs how long it holds without renewal; it is renewed in the background */
  constructor(connection: MongoConnection, mode: Mode, lastsMs: number) {
    this.#connection = connection;
    this.#mode = mode;
    this.#lastsMs = lastsMs;
  }

  /** Undefined while it is not held. */
  get fencingToken(): number | undefined {
    return this.#fencingToken;
  }

  /**
   * A projector waits for a rebuild; a rebuild takes the lease from a projector.
   * @throws ProjectorLeaseHeldError when another projector holds it; ReadModelsUnavailableError after two minutes
   */
  async acquire(db: Db): Promise<number> {
    this.forget();
    const giveUpAt = performance.now() + REBUILD_TIMEOUT_MS;
    for (;;) {
      const last = await this.#last(db);
      if (last !== undefined && (await this.#isHeld(db, last))) {
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

  async #last(db: Db): Promise<LeaseDocument | undefined> {
    return (await leasesOf(db).findOne({}, { sort: { _id: -1 } })) ?? undefined;
  }

  async #isHeld(db: Db, { released, owner, renewedAt, lastsMs }: LeaseDocument): Promise<boolean> {
    if (released || owner === this.#owner) return false;
    return (await serverTime(db)).getTime() - renewedAt.getTime() < lastsMs;
  }

  async #insert(db: Db, token: number): Promise<boolean> {
    return insertOnce(leasesOf(db), {
      _id: token,
      owner: this.#owner,
      mode: this.#mode,
      renewedAt: await serverTime(db),
      lastsMs: this.#lastsMs,
      released: false,
    });
  }

  /** A renewal that fails does no harm: the next may succeed, and a write without the lease fails by its token. */
  #keepAlive(token: number): void {
    const renew = (): void => {
      this.#connection
        .run((db) => leasesOf(db).updateOne({ _id: token }, { $currentDate: { renewedAt: true } }))
        .catch(() => undefined);
    };
    this.#renewal = setInterval(renew, this.#lastsMs / 4).unref();
  }

  /** Stops renewing it, without giving it back: the next holder has to wait until it has run out. */
  forget(): void {
    clearInterval(this.#renewal);
    this.#fencingToken = undefined;
  }

  /** Gives it back, so that the next need not wait. */
  async release(db: Db): Promise<void> {
    const token = this.#fencingToken;
    this.forget();
    if (token !== undefined) await leasesOf(db).updateOne({ _id: token }, { $set: { released: true } });
  }
}
