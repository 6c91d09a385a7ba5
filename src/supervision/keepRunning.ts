/** Repeats work after failures with backoff: until it succeeds (`retry`), or for ever (`keepRunning`). */
import { sleep } from './waiting.js';

type Backoff = { readonly firstMs: number; readonly longestMs: number };

/** A wait that doubles with each failure before it, up to `longestMs`. */
export const doubled = (firstMs: number, longestMs: number, failures: number): number =>
  Math.min(longestMs, firstMs * 2 ** failures);

/**
 * The wait after a failure, in milliseconds: up to a fifth more or less, so that many clients of one server do not return at once.
 * @param failures in a row before this one
 */
export const backoffMs = ({ firstMs, longestMs }: Backoff, failures: number): number =>
  doubled(firstMs, longestMs, failures) * (0.8 + 0.4 * Math.random());

/** Returns the result of the first successful attempt. @throws the error of the last attempt */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: {
    /** No attempt begins after this time (milliseconds since 1970). */
    readonly until: number;
    readonly backoff: Backoff;
    /** Whether the same attempt may succeed later. */
    readonly isTransient: (error: unknown) => boolean;
  },
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = backoffMs(options.backoff, failures);
      if (!options.isTransient(error) || Date.now() + waitMs > options.until) throw error;
      await sleep(waitMs);
    }
  }
}

type KeepRunningOptions = {
  /** Ends the loop. `run` must end with it too, in any way. */
  readonly signal: AbortSignal;
  readonly backoff: Backoff;
  /** @param delayMs until the restart */
  readonly onFailure: (error: unknown, delayMs: number) => void;
};

/**
 * Runs something endless until the signal aborts: if it fails or ends, restarts it after a backoff. The backoff is
 * reset when `run` calls `succeeded` or runs longer than the longest wait.
 */
export async function keepRunning(
  run: (succeeded: () => void) => Promise<void>,
  { signal, backoff, onFailure }: KeepRunningOptions,
): Promise<void> {
  let failures = 0;
  for (; !signal.aborted; failures += 1) {
    const startedAt = performance.now();
    const error = await run(() => {
      failures = 0;
    }).then(
      () => new Error('It ended by itself.'),
      (thrown: unknown) => thrown,
    );
    if (signal.aborted) return;
    if (performance.now() - startedAt > backoff.longestMs) failures = 0;
    const delayMs = backoffMs(backoff, failures);
    onFailure(error, delayMs);
    await sleep(delayMs, signal);
  }
}
