/** Repeats work after failures with backoff: until it succeeds (`retry`), or for ever (`keepRunning`). */
import { sleep } from './waiting.js';

type BackoffSettings = {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Random share of each wait, so that many clients of one server do not return at once. Default 0.2. */
  readonly jitter?: number;
};

/** Waits between attempts, each twice the previous one, up to a limit. */
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

  /** Call it after a success: the next wait is the first one again. */
  reset(): void {
    this.#nextMs = this.#settings.firstMs;
  }
}

/** Returns the result of the first successful attempt. @throws the error of the last attempt */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: {
    /** No attempt begins after this time (milliseconds since 1970). */
    readonly until: number;
    readonly backoff: BackoffSettings;
    /** Whether the same attempt may succeed later. */
    readonly isTransient: (error: unknown) => boolean;
  },
): Promise<T> {
  const backoff = new Backoff(options.backoff);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = backoff.next();
      if (!options.isTransient(error) || Date.now() + waitMs > options.until) throw error;
      await sleep(waitMs);
    }
  }
}

type KeepRunningOptions = {
  /** Ends the loop. `run` must end with it too, in any way. */
  readonly signal: AbortSignal;
  readonly backoff: BackoffSettings;
  /** @param delayMs until the restart */
  readonly onFailure: (error: unknown, delayMs: number) => void;
};

/**
 * Runs something endless until the signal aborts: if it fails or ends, restarts it after a backoff. The backoff is
 * reset when `run` calls `succeeded` or runs longer than the longest wait.
 */
export async function keepRunning(
  run: (succeeded: () => void) => Promise<void>,
  { signal, backoff: settings, onFailure }: KeepRunningOptions,
): Promise<void> {
  const backoff = new Backoff(settings);
  while (!signal.aborted) {
    const startedAt = performance.now();
    const error = await run(() => backoff.reset()).then(
      () => new Error('It ended by itself.'),
      (thrown: unknown) => thrown,
    );
    if (signal.aborted) return;
    if (performance.now() - startedAt > settings.longestMs) backoff.reset();
    const delayMs = backoff.next();
    onFailure(error, delayMs);
    await sleep(delayMs, signal);
  }
}
