/**
 * Which tenants a process writes. Tenants have 16 shares; each is leased to one process, and processes that want shares have
 * about as many. A lease has a fencing number, one higher than the lease before, which goes into each progress that is stored:
 * a process that has lost its lease, and does not know yet, can store none where the next one has.
 */
import { createHash } from 'node:crypto';
import { type Database, MongoConnection, unlessThere } from './connection.js';
import type { LeaseDocument } from './documents.js';

export const SHARES = 16;
const ALL = Array.from({ length: SHARES }, (_, share) => share);

export const shareOf = (tenant: string): number => (createHash('sha256').update(tenant).digest()[0] ?? 0) % SHARES;

/** Another process writes the tenant's rows, or may do so soon. */
export class ShareLostError extends Error {
  override readonly name = 'ShareLostError';
}

/** The default time for which a lease lasts without renewal. */
const LEASE_MS = 5_000;
const BEATS_A_LEASE = 4;

export type SharesOptions = {
  readonly url: string;
  /** Names the process. */
  readonly owner: string;
  readonly leaseMs?: number;
  /** Called after each renewal, also one that failed: `held` may be others. */
  readonly onBeat?: () => void;
};

export class Shares {
  readonly #connection: MongoConnection;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #onBeat: () => void;
  readonly #held = new Map<number, { readonly fence: number; until: number }>();
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor({ url, owner, leaseMs = LEASE_MS, onBeat = () => undefined }: SharesOptions) {
    this.#connection = new MongoConnection({ url, socketTimeoutMs: leaseMs });
    this.#owner = owner;
    this.#leaseMs = leaseMs;
    this.#onBeat = onBeat;
  }

  /** Takes what is free, and goes on with that in the background. @throws RowsUnavailableError */
  async start(): Promise<void> {
    await this.#connection.run((database) => this.#beat(database));
    this.#timer = setInterval(() => this.#beatLater(), this.#leaseMs / BEATS_A_LEASE).unref();
  }

  /** Shares whose lease has not run out. */
  held(): readonly number[] {
    const now = performance.now();
    return [...this.#held].flatMap(([share, { until }]) => (until > now ? share : []));
  }

  /** @returns the fencing number of the tenant's share @throws ShareLostError */
  fenceOf(tenant: string): number {
    const lease = this.#held.get(shareOf(tenant));
    if (lease === undefined || lease.until <= performance.now())
      throw new ShareLostError(`Another process writes the rows of ${tenant}.`);
    return lease.fence;
  }

  /** A beat that fails does no harm: the next may succeed, and without it the leases run out. */
  #beatLater(): void {
    this.#beating = this.#beating
      .then(() => this.#connection.run((database) => this.#beat(database)))
      .catch(() => undefined)
      // One that failed in the middle has changed some.
      .finally(() => this.#onBeat());
  }

  async #beat(database: Database): Promise<void> {
    const { leases } = database;
    const until = performance.now() + this.#leaseMs;
    const now = await database.serverTime();
    const sign = { owner: this.#owner, renewedAt: now, released: false };
    await leases.replaceOne({ _id: `process ${this.#owner}` }, sign, { upsert: true });
    const mine = [...this.#held].map(([share, { fence }]) => leaseId(share, fence));
    await leases.updateMany({ _id: { $in: mine }, owner: this.#owner, released: false }, { $set: { renewedAt: now } });
    const known = await leases.find().toArray();
    for (const [share, lease] of this.#held) {
      const last = lastOf(known, share);
      if (last?.fence === lease.fence && !last.released) lease.until = until;
      else this.#held.delete(share);
    }
    const isAlive = ({ renewedAt, released }: LeaseDocument): boolean =>
      !released && now.getTime() - renewedAt.getTime() < this.#leaseMs;
    const wanting = known.filter((lease) => lease.share === undefined && isAlive(lease)).length;
    const fair = Math.ceil(SHARES / Math.max(wanting, 1));
    for (const share of [...this.#held.keys()].slice(fair)) await this.#release(database, share);
    for (const share of ALL) {
      const last = lastOf(known, share);
      if (this.#held.size >= fair || this.#held.has(share) || (last !== undefined && isAlive(last))) continue;
      await this.#take(database, share, (last?.fence ?? 0) + 1, until, now);
    }
  }

  /** Of many that insert the same lease, one does. */
  async #take({ leases }: Database, share: number, fence: number, until: number, renewedAt: Date): Promise<void> {
    const lease = { _id: leaseId(share, fence), owner: this.#owner, share, fence, renewedAt, released: false };
    const there = await unlessThere(() => leases.insertOne(lease));
    if (there.length > 0) return;
    this.#held.set(share, { fence, until });
    await leases.deleteMany({ share, fence: { $lt: fence } });
  }

  async #release({ leases }: Database, share: number): Promise<void> {
    const lease = this.#held.get(share);
    this.#held.delete(share);
    if (lease !== undefined) await leases.updateOne({ _id: leaseId(share, lease.fence) }, { $set: { released: true } });
  }

  /** Others need not wait for what is released. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#connection
      .run(async (database) => {
        for (const share of [...this.#held.keys()]) await this.#release(database, share);
        await database.leases.deleteOne({ _id: `process ${this.#owner}` });
      })
      // They run out.
      .catch(() => undefined);
    await this.#connection.close();
  }
}

const leaseId = (share: number, fence: number): string => `${share} ${fence}`;

const lastOf = (known: readonly LeaseDocument[], share: number): LeaseDocument | undefined =>
  known
    .filter((lease) => lease.share === share)
    .reduce<LeaseDocument | undefined>(
      (last, lease) => ((lease.fence ?? 0) > (last?.fence ?? 0) ? lease : last),
      undefined,
    );
