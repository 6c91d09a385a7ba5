/**
 * Brings the directory up to the head of the log when a request names an unknown tenant, client or user. Another
 * process, such as the command line, may have created it a moment ago.
 */
import { LRUCache } from 'lru-cache';
import type { Commands } from '../commands/context.js';
import { sleep, TimeLimitError, withTimeout } from '../supervision/waiting.js';

/** Unknown names that are remembered; beyond it, the oldest are forgotten. */
const MAX_REMEMBERED_REFUSALS = 10_000;

/** Milliseconds for which an unknown name is refused without another refresh; a new name is refused no longer than this. */
const REFUSAL_REMEMBERED_MS = 1_000;

/** Milliseconds between two refreshes of the directory for unknown names. */
const MIN_REFRESH_INTERVAL_MS = 10;

/** Milliseconds that a request waits for the directory to catch up before it refuses an unknown name. */
const LONGEST_REFRESH_MS = 2_000;

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
  let last: Promise<unknown> = Promise.resolve();

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
    await last;
    // From here on, the refresh may miss new events: callers need the next one.
    next = undefined;
    const running = run();
    last = Promise.allSettled([running, sleep(MIN_REFRESH_INTERVAL_MS)]);
    return running;
  }

  return async (name) => {
    if (name !== undefined && lookedFor.has(name)) return;
    next ??= begin();
    const isCurrent = await next;
    if (isCurrent && name !== undefined) lookedFor.set(name, true);
  };
}
