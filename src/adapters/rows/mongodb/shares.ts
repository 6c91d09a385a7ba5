/**
 * Which tenants a process writes. Tenants have 16 shares; each is leased to one process, and processes that want shares have
 * about as many. One that has lost a lease, and does not know yet, writes what the next one writes as well.
 */
import { createHash } from 'node:crypto';
import { type Database, MongoConnection } from './connection.js';

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

/** Without Shares, a process has all. */
export type HeldShares = Pick<Shares, 'held' | 'check'>;
export const ALL_SHARES: HeldShares = { held: () => ALL, check: () => undefined };

export class Shares {
  readonly #connection: MongoConnection;
  readonly #options: SharesOptions;
  readonly #leaseMs: number;
  /** The shares that it has, and until when. */
  #held: readonly number[] = [];
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
    return performance.now() < this.#until ? this.#held : [];
  }

  /** @throws ShareLostError if the tenant is not this process's own */
  check(tenant: string): void {
    if (!this.held().includes(shareOf(tenant)))
      throw new ShareLostError(`Another process writes the rows of ${tenant}.`);
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
    const _id = 'processes';
    const empty = { $setOnInsert: { revision: 0, processes: [] } };
    const read = await leases.findOneAndUpdate({ _id }, empty, { upsert: true, returnDocument: 'after' });
    const { revision = 0, processes = [] } = read ?? {};
    const now = (await serverTime()).getTime();
    const isAlive = (each: { readonly renewedAt: Date }): boolean => now - each.renewedAt.getTime() < this.#leaseMs;
    const others = processes.filter((each) => each.owner !== owner && isAlive(each));
    const own = processes.find((each) => each.owner === owner)?.shares ?? [];
    const taken = [...own, ...others.flatMap(({ shares }) => shares)];
    const part = isLast ? 0 : Math.ceil(SHARES / (others.length + 1));
    const shares = [...own, ...ALL.filter((share) => !taken.includes(share))].slice(0, part);
    // What is handed over is not written any more when others may take it.
    this.#held = this.#held.filter((share) => shares.includes(share));
    const after = [...others, ...(isLast ? [] : [{ owner, renewedAt: new Date(now), shares }])];
    const { matchedCount } = await leases.replaceOne({ _id, revision }, { revision: revision + 1, processes: after });
    if (matchedCount === 0) return false;
    [this.#held, this.#until] = [shares, until];
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
