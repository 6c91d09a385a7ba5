import { setTimeout as wait } from 'node:timers/promises';
import type { Commands } from '../commands/context.js';

const LONGEST_WAIT_MS = 2000;

/**
 * Makes the function that brings the directory of tenants, clients and users up to the head of the log. For names that are
 * not known here: the command line, or another process, may have made them a moment ago. It resolves when what was in the
 * log at the call is known, or after two seconds. Callers at the same time share one refresh.
 */
export function directoryRefresh({ eventStore, directory }: Pick<Commands, 'eventStore' | 'directory'>) {
  let running: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const head = await eventStore.head();
    const known = new AbortController();
    const timeout = wait(LONGEST_WAIT_MS, undefined, { signal: known.signal }).catch(() => {});
    await Promise.race([directory.waitFor(head), timeout]).finally(() => known.abort());
  }

  return async (): Promise<void> => {
    // A refresh under way may have read the head too early for this caller: wait for it, then share the next one.
    if (running !== undefined) await running;
    running ??= refresh().finally(() => {
      running = undefined;
    });
    await running;
  };
}
