/**
 * Brings the directory up to the head of the log when a request names an unknown tenant, client or user. Another
 * process, such as the command line, may have created it a moment ago.
 */
import { LRUCache } from 'lru-cache';
import type { Commands } from '../commands/context.js';
import {
  LONGEST_REFRESH_MS,
  MAX_REMEMBERED_REFUSALS,
  MIN_REFRESH_INTERVAL_MS,
  REFUSAL_REMEMBERED_MS,
} from '../domain/limits.js';
import { sleep, TimeLimitError, withTimeout } from '../supervision/waiting.js';

/**
 * Resolves when the directory has applied all that was in the log at the call, or after `LONGEST_REFRESH_MS`.
 * @param name the unknown name, such as `tenant acme`. If a refresh does not find it, it is not looked up again for a
 *   moment.
 * @throws errors of the event store
 */
export type Refresh = (name?: string) => Promise<void>;

/**
 * Callers share a refresh that has not read the log's head yet, so requests with invented names cause few refreshes.
 */
export function directoryRefresh({ eventStore, directory }: Pick<Commands, 'eventStore' | 'directory'>): Refresh {
  const lookedFor = new LRUCache<string, true>({ max: MAX_REMEMBERED_REFUSALS, ttl: REFUSAL_REMEMBERED_MS });
  let next: Promise<boolean> | undefined;
  let last: Promise<boolean> = Promise.resolve(true);
  let lastBeganAt = Number.NEGATIVE_INFINITY;

  /** @returns whether the directory has caught up */
  async function run(): Promise<boolean> {
    const head = await eventStore.head();
    try {
      await withTimeout(LONGEST_REFRESH_MS, 'The directory is behind.', directory.waitFor(head));
      return true;
    } catch (error) {
      if (error instanceof TimeLimitError) return false;
      throw error;
    }
  }

  async function begin(): Promise<boolean> {
    await last.catch(() => false);
    const waitMs = lastBeganAt + MIN_REFRESH_INTERVAL_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    lastBeganAt = performance.now();
    // From here on, the refresh may miss new events: callers need the next one.
    next = undefined;
    last = run();
    return last;
  }

  return async (name) => {
    if (name !== undefined && lookedFor.has(name)) return;
    next ??= begin();
    const isCurrent = await next;
    if (isCurrent && name !== undefined) lookedFor.set(name, true);
  };
}
