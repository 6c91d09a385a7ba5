/**
 * How those who read a log hear of commits: threads of this process by a channel; other processes by the file's time of
 * change, of which the system tells (they are on the same machine, as SQLite's write-ahead log demands). So nobody has to
 * look at the file again and again to be in time.
 */
import { type FSWatcher, utimes, utimesSync, watch } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { CommitNews } from './recentCommits.js';

const channelOf = (file: string): BroadcastChannel => {
  const channel = new BroadcastChannel(`event-log ${file}`);
  channel.unref();
  return channel;
};

/** The file's time is changed at most once in so many milliseconds: it takes longer than a commit. */
const FILE_NEWS_MS = 50;

/** Tells other processes. Where that fails, the commit stands all the same: they find it when they look. */
export function changeTime(file: string): void {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // See above.
  }
}

/** To be used by whoever commits. */
export class CommitAnnouncer {
  readonly #file: string;
  readonly #channel: BroadcastChannel;
  #isResting = false;
  /** The system is asked to change the file's time. */
  #isTelling = false;
  /** Something was committed since the file's time was changed. */
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
    // What the system was asked for may come to nothing with the end of the thread.
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
   * @param pollMs how often to look without being told, for systems that do not tell
   * @param hear of a commit of this process
   * @param look called when another process may have committed something
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

/** undefined where the system tells nothing: it may have no more watches left. */
function watched(file: string, look: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(file, { persistent: false }, look);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
