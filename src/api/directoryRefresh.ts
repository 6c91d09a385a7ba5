/**
 * Brings the directory of tenants, clients and users up to the head of the log, for names that are not known here: the
 * command line, or another process, may have made them a moment ago.
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
 * Resolves when the directory knows what was in the log at the call, or after `LONGEST_REFRESH_MS`.
 * @param name of what is not known here, such as `tenant acme`. When it is not there after a refresh either, it is not
 *   looked for again for a moment, however often it is asked for; the directory may hear of it by itself meanwhile.
 * @throws what the event store throws
 */
export type Refresh = (name?: string) => Promise<void>;

/** Callers share a refresh that has not looked at the log yet, so strangers who ask for names cannot make it look often. */
export function directoryRefresh({ eventStore, directory }: Pick<Commands, 'eventStore' | 'directory'>): Refresh {
  const lookedFor = new LRUCache<string, true>({ max: MAX_REMEMBERED_REFUSALS, ttl: REFUSAL_REMEMBERED_MS });
  let next: Promise<boolean> | undefined;
  let last: Promise<boolean> = Promise.resolve(true);
  let lastBeganAt = Number.NEGATIVE_INFINITY;

  /** Whether all of it is known here. */
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
    // What is in the log from here on may come too late for it.
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
