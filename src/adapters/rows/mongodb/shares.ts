/**
 * Which tenants a process writes. Tenants have 16 shares; each is leased to one process, and processes that want shares have
 * about as many. A lease has a fencing number, higher than that of the lease before, which goes into each progress that is
 * stored: a process that has lost its lease, and does not know yet, can store none where the next one has.
 */
import { createHash } from 'node:crypto';
import { type Database, MongoConnection, unlessThere } from './connection.js';
import type { LeasesDocument } from './documents.js';

export const SHARES = 16;

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

const NOBODY: LeasesDocument = {
  _id: 'leases',
  revision: 0,
  processes: [],
  shares: Array.from({ length: SHARES }, () => ({ owner: null, fence: 0 })),
};

export class Shares {
  readonly #connection: MongoConnection;
  readonly #options: SharesOptions;
  readonly #leaseMs: number;
  /** Fencing numbers of the shares that it has, and until when. */
  #fences: ReadonlyMap<number, number> = new Map();
  #until = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(options: SharesOptions) {
    this.#connection = new MongoConnection(options.url);
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
  }

  /** Takes what is free, and goes on with that in the background. @throws RowsUnavailableError */
  async start(): Promise<void> {
    await this.#beat();
    this.#timer = setInterval(() => this.#beatLater(), this.#leaseMs / BEATS_A_LEASE).unref();
  }

  /** Shares whose lease has not run out. */
  held(): readonly number[] {
    return performance.now() < this.#until ? [...this.#fences.keys()] : [];
  }

  /** @returns the fencing number of the tenant's share @throws ShareLostError */
  fenceOf(tenant: string): number {
    const fence = this.#fences.get(shareOf(tenant));
    if (fence === undefined || performance.now() >= this.#until)
      throw new ShareLostError(`Another process writes the rows of ${tenant}.`);
    return fence;
  }

  /** A beat that fails does no harm: the next may succeed, and without it the leases run out. */
  #beatLater(): void {
    this.#beating = this.#beating
      .then(() => this.#beat())
      .catch(() => undefined)
      .finally(() => this.#options.onBeat?.());
  }

  #beat(isLast = false): Promise<void> {
    return this.#connection.run(async (database) => {
      while (!(await this.#renew(database, isLast)));
    });
  }

  /** @returns false if another process was quicker */
  async #renew({ leases, serverTime }: Database, isLast: boolean): Promise<boolean> {
    const { owner } = this.#options;
    const until = performance.now() + this.#leaseMs;
    const now = await serverTime();
    const before = (await leases.findOne({ _id: NOBODY._id })) ?? NOBODY;
    const after = renewed(before, { owner, now, leaseMs: this.#leaseMs, isLast });
    const own = after.shares.flatMap((lease, share) => (lease.owner === owner ? [[share, lease.fence] as const] : []));
    const fences = new Map(own);
    // What is handed over is not written any more when others may take it.
    this.#fences = new Map([...this.#fences].filter(([share, fence]) => fences.get(share) === fence));
    const { _id, revision } = before;
    const there = await unlessThere(() => leases.replaceOne({ _id, revision }, after, { upsert: true }));
    if (there.length > 0) return false;
    [this.#fences, this.#until] = [fences, until];
    return true;
  }

  /** Others need not wait for what is released. What cannot be released runs out. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#beat(true).catch(() => undefined);
    await this.#connection.close();
  }
}

type Beat = { readonly owner: string; readonly now: Date; readonly leaseMs: number; readonly isLast: boolean };

/** The leases after a process has renewed its own, handed over what is more than its part, and taken what is free. */
function renewed({ _id, revision, processes, shares }: LeasesDocument, beat: Beat): LeasesDocument {
  const { owner, now, leaseMs, isLast } = beat;
  const others = processes.filter((each) => each.owner !== owner && now.getTime() - each.renewedAt.getTime() < leaseMs);
  const alive = isLast ? others : [...others, { owner, renewedAt: now }];
  let room = isLast ? 0 : Math.ceil(SHARES / alive.length);
  const kept = shares.map((lease) => {
    if (lease.owner !== owner) return lease;
    room -= 1;
    return room < 0 ? { ...lease, owner: null } : lease;
  });
  const isTaken = (by: string | null): boolean => by === owner || others.some((each) => each.owner === by);
  const taken = kept.map((lease, share) => {
    if (isTaken(lease.owner) || shares[share]?.owner === owner || room <= 0) return lease;
    room -= 1;
    // Higher than those of any lease before, also one of an earlier release.
    return { owner, fence: Math.max(lease.fence + 1, now.getTime()) };
  });
  return { _id, revision: revision + 1, processes: alive, shares: taken };
}
