/**
 * How those who read a log hear of commits: threads of this process by a channel; other processes by the file's time of
 * change, of which the system tells (they are on the same machine, as SQLite's write-ahead log demands). So nobody has to
 * look at the file again and again to be in time.
 */
import { type FSWatcher, utimesSync, watch } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';

const channelOf = (file: string): BroadcastChannel => {
  const channel = new BroadcastChannel(`event-log ${file}`);
  channel.unref();
  return channel;
};

/** To be used by whoever commits. */
export class CommitAnnouncer {
  readonly #file: string;
  readonly #channel: BroadcastChannel;

  /** @param file its real path */
  constructor(file: string) {
    this.#file = file;
    this.#channel = channelOf(file);
  }

  announce(): void {
    this.#channel.postMessage(null);
    try {
      const now = new Date();
      utimesSync(this.#file, now, now);
    } catch {
      // The commit stands; other processes find it when they look.
    }
  }

  close(): void {
    this.#channel.close();
  }
}

export class CommitListener {
  readonly #channel: BroadcastChannel;
  readonly #watcher: FSWatcher | undefined;
  readonly #looking: NodeJS.Timeout;

  /**
   * @param file its real path
   * @param pollMs how often to look without being told, for systems that do not tell
   * @param look called when something may have been committed
   */
  constructor(file: string, pollMs: number, look: () => void) {
    this.#channel = channelOf(file);
    this.#channel.onmessage = look;
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
