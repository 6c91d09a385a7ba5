/**
 * Which tenants a process writes. Tenants have 16 shares, and the processes that are alive have about as many each. Nobody leases
 * them: where two processes write a tenant for a moment, one of them stores each progress, and the other begins again from it.
 */
import { createHash } from 'node:crypto';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import { MongoConnection } from './connection.js';

export const SHARES = 16;
export const ALL_SHARES: readonly number[] = Array.from({ length: SHARES }, (_, share) => share);

export const shareOf = (tenant: string): number => (createHash('sha256').update(tenant).digest()[0] ?? 0) % SHARES;

/** The tenant's rows are not as this process has found them: begin again with what is stored. */
export class OtherWriterError extends RowsUnavailableError {
  override readonly name = 'OtherWriterError';

  constructor() {
    super('Another process writes these rows.');
  }
}

/** A process that has not beaten for so long is gone. */
const GONE_AFTER_MS = 5_000;
const BEATS_BEFORE_GONE = 4;

type SharesOptions = {
  readonly url: string;
  /** Names the process. */
  readonly owner: string;
  readonly goneAfterMs?: number;
  /** Called after each beat, also one that failed: `held` may be others. */
  readonly onBeat?: () => void;
};

export class Shares {
  readonly #connection: MongoConnection;
  readonly #options: Required<SharesOptions>;
  /** What each other process has said last, and when that was heard, by this process's clock. */
  readonly #heard = new Map<string, { readonly beats: number; readonly at: number }>();
  #held: readonly number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(options: SharesOptions) {
    this.#connection = new MongoConnection(options.url);
    this.#options = { goneAfterMs: GONE_AFTER_MS, onBeat: () => undefined, ...options };
  }

  /** Beats, and goes on with that in the background. @throws RowsUnavailableError */
  async start(): Promise<void> {
    const { goneAfterMs, onBeat } = this.#options;
    // Others hear of this process before it writes what was theirs.
    if (await this.#beat()) this.#held = [];
    this.#timer = setInterval(() => {
      // One that fails does no harm: the next may succeed.
      this.#beating = this.#beating.then(() => this.#beat().then(onBeat, onBeat));
    }, goneAfterMs / BEATS_BEFORE_GONE).unref();
  }

  held(): readonly number[] {
    return this.#held;
  }

  /** @returns whether there are others */
  #beat(): Promise<boolean> {
    const { owner, goneAfterMs } = this.#options;
    return this.#connection.run(async ({ writers }) => {
      await writers.updateOne({ _id: owner }, { $inc: { beats: 1 } }, { upsert: true });
      const alive = [owner];
      for (const { _id, beats } of await writers.find({ _id: { $ne: owner } }).toArray()) {
        const heard = this.#heard.get(_id);
        if (heard?.beats !== beats) this.#heard.set(_id, { beats, at: performance.now() });
        if (heard?.beats !== beats || performance.now() - heard.at < goneAfterMs) alive.push(_id);
        else {
          await writers.deleteOne({ _id, beats });
          this.#heard.delete(_id);
        }
      }
      const place = alive.sort().indexOf(owner);
      this.#held = ALL_SHARES.filter((share) => share % alive.length === place);
      return alive.length > 1;
    });
  }

  /** The others hear of it with their next beat. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    this.#held = [];
    await this.#connection.run(({ writers }) => writers.deleteOne({ _id: this.#options.owner })).catch(() => undefined);
    await this.#connection.close();
  }
}
