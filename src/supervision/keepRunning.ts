import { Backoff, type BackoffSettings, sleep } from './backoff.js';

export type Failure = {
  readonly error: unknown;
  /** How often it has failed since it last succeeded, this time included. */
  readonly failures: number;
  /** When it is started again. */
  readonly delayMs: number;
};

export type KeepRunningOptions = {
  /** Ends the loop. `run` must end by it as well; how it ends then does not matter. */
  readonly signal: AbortSignal;
  readonly backoff: BackoffSettings;
  readonly onFailure: (failure: Failure) => void;
};

/**
 * Runs something that should never end, until the signal aborts: when it fails or ends by itself, it is started again
 * after a backoff. A success resets the backoff: `run` calls `succeeded`, or has run for longer than the longest wait.
 */
export async function keepRunning(
  run: (succeeded: () => void) => Promise<void>,
  { signal, backoff: settings, onFailure }: KeepRunningOptions,
): Promise<void> {
  const backoff = new Backoff(settings);
  let failures = 0;
  const succeeded = (): void => {
    failures = 0;
    backoff.reset();
  };
  while (!signal.aborted) {
    const startedAt = performance.now();
    const error = await run(succeeded).then(
      () => new Error('It ended by itself.'),
      (thrown: unknown) => thrown,
    );
    if (signal.aborted) return;
    if (performance.now() - startedAt > settings.longestMs) succeeded();
    failures += 1;
    const delayMs = backoff.next();
    onFailure({ error, failures, delayMs });
    await sleep(delayMs, signal);
  }
}
