import { Backoff, type BackoffSettings, sleep } from './backoff.js';

export type RetryOptions = {
  /** No attempt begins after this time (milliseconds since 1970). */
  readonly until: number;
  readonly backoff: BackoffSettings;
  /** Whether the same attempt may succeed later. */
  readonly isTransient: (error: unknown) => boolean;
};

/** Resolves with the result of the first attempt that succeeds. @throws the error of the last attempt */
export async function retry<T>(
  attempt: () => Promise<T>,
  { until, backoff: settings, isTransient }: RetryOptions,
): Promise<T> {
  const backoff = new Backoff(settings);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = backoff.next();
      if (!isTransient(error) || Date.now() + waitMs > until) throw error;
      await sleep(waitMs);
    }
  }
}
