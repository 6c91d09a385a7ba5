import { setTimeout as delay } from 'node:timers/promises';

export type BackoffSettings = {
  readonly firstMs: number;
  readonly longestMs: number;
  /** How far a wait may be off, as a share of it, so that many who lost the same server do not return at once. Default 0.2. */
  readonly jitter?: number;
};

/** Waits between attempts, each twice as long as the one before, up to a limit. */
export class Backoff {
  readonly #settings: BackoffSettings;
  #nextMs: number;

  constructor(settings: BackoffSettings) {
    this.#settings = settings;
    this.#nextMs = settings.firstMs;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const { longestMs, jitter = 0.2 } = this.#settings;
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(longestMs, waitMs * 2);
    return waitMs * (1 - jitter + 2 * jitter * Math.random());
  }

  /** To be called after a success: the next wait is the first one again. */
  reset(): void {
    this.#nextMs = this.#settings.firstMs;
  }
}

/** Resolves after the time, or at once when the signal aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}
