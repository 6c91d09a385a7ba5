/**
 * Tells readers of a log about commits. Threads of this process hear of them by a channel, other processes by a changed
 * file time, which the system reports (they are on the same machine, as SQLite's write-ahead log requires). So nobody
 * has to poll.
 */
import { type FSWatcher, utimes, utimesSync, watch } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { CommitNews } from './recentCommits.js';

const channelOf = (file: string): BroadcastChannel => {
  const channel = new BroadcastChannel(`event-log ${file}`);
  channel.unref();
  return channel;
};

/** Changing the file time takes longer than a commit, so it is done at most once in so many milliseconds. */
const FILE_NEWS_MS = 50;

/** Tells other processes. If it fails, the commit stands, and they find it when they poll. */
export function changeTime(file: string): void {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // See above.
  }
}

/** For the thread that commits. */
export class CommitAnnouncer {
  readonly #file: string;
  readonly #channel: BroadcastChannel;
  #isResting = false;
  /** A change of the file time is under way. */
  #isTelling = false;
  /** There were commits since the last change of the file time. */
  #isDue = false;

  /** @param file its real path */
  constructor(file: string) {
    this.#file = file;
    this.#channel = channelOf(file);
  }

  announce(news: CommitNews): void {
    this.#channel.postMessage(news);
    this.#isDue = true;
    if (!this.#isResting) this.#changeTime();
  }

  close(): void {
    this.#channel.close();
    // A change under way may be lost when the thread ends.
    if (this.#isDue || this.#isTelling) changeTime(this.#file);
  }

  #changeTime(): void {
    this.#isDue = false;
    this.#isResting = true;
    this.#isTelling = true;
    const now = new Date();
    utimes(this.#file, now, now, () => {
      this.#isTelling = false;
      const rest = setTimeout(() => {
        this.#isResting = false;
        if (this.#isDue) this.#changeTime();
      }, FILE_NEWS_MS);
      rest.unref();
    });
  }
}

export class CommitListener {
  readonly #channel: BroadcastChannel;
  readonly #watcher: FSWatcher | undefined;
  readonly #looking: NodeJS.Timeout;

  /**
   * @param file its real path
   * @param pollMs how often to look, for systems that report nothing
   * @param hear called for a commit of this process
   * @param look called if another process may have committed
   */
  constructor(file: string, pollMs: number, hear: (news: CommitNews) => void, look: () => void) {
    this.#channel = channelOf(file);
    this.#channel.onmessage = (message: unknown) => hear((message as { readonly data: CommitNews }).data);
    this.#watcher = watched(file, look);
    this.#looking = setInterval(look, pollMs).unref();
  }

  close(): void {
    clearInterval(this.#looking);
    this.#watcher?.close();
    this.#channel.close();
  }
}

/** Undefined if the system reports nothing: it may have no more watches left. */
function watched(file: string, look: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(file, { persistent: false }, look);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
