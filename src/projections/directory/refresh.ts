/**
 * Brings the directory up to the head of the log when a request names an unknown tenant, client or user. Another
 * process, such as the command line, may have created it a moment ago.
 */
import type { EventStore } from '../../ports/eventStore.js';
import { DeadlineError, withTimeout } from '../../supervision/deadline.js';
import { sleep } from '../../supervision/waiting.js';
import type { Directory } from './directory.js';

/** Between two refreshes: so requests with invented names cause few. */
const MIN_REFRESH_INTERVAL_MS = 20;

/** How long a request waits before it refuses an unknown name. */
const LONGEST_REFRESH_MS = 2_000;

/** Resolves when the directory has applied all that was in the log at the call, or in the end. @throws errors of the event store */
export type Refresh = () => Promise<void>;

type Read = { readonly eventStore: Pick<EventStore, 'head'>; readonly directory: Pick<Directory, 'waitFor'> };

/** Callers share a refresh that has not read the log's head yet. */
export function directoryRefresh({ eventStore, directory }: Read): Refresh {
  let next: Promise<void> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function run(): Promise<void> {
    await last;
    // From here on, the refresh may miss new events: callers need the next one.
    next = undefined;
    const caughtUp = eventStore.head().then((head) => directory.waitFor(head));
    const running = withTimeout(LONGEST_REFRESH_MS, 'The directory is behind.', caughtUp);
    last = Promise.allSettled([running, sleep(MIN_REFRESH_INTERVAL_MS)]);
    try {
      await running;
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
    }
  }

  return () => {
    next ??= run();
    return next;
  };
}
