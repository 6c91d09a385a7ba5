/**
 * Tells readers of a log about commits. Threads of this process get the events by a channel, other processes notice the
 * changed file time, which the system reports (they are on the same machine, as SQLite's write-ahead log requires). So
 * nobody has to poll, and followers in this process need not read from the file what was in memory a moment ago.
 */
import { type FSWatcher, utimes, utimesSync, watch } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { EventSlice, Position } from '../../../ports/eventStore.js';
import { decodeEvent, type EventRow, uuidText } from './encoding.js';

const channelOf = (file: string): BroadcastChannel => {
  const channel = new BroadcastChannel(`event-log ${file}`);
  channel.unref();
  return channel;
};

/** The shortest time between two changes of the file time, in milliseconds: a change takes longer than a commit. */
const TOUCH_EVERY_MS = 50;

/** Tells other processes. If it fails, the commit stands, and they find it when they poll. */
export function touch(file: string): void {
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
  #isThrottled = false;
  /** A change of the file time is under way. */
  #isTouching = false;
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
    if (!this.#isThrottled) this.#touch();
  }

  close(): void {
    this.#channel.close();
    // A change under way may be lost when the thread ends.
    if (this.#isDue || this.#isTouching) touch(this.#file);
  }

  #touch(): void {
    this.#isDue = false;
    this.#isThrottled = true;
    this.#isTouching = true;
    const now = new Date();
    utimes(this.#file, now, now, () => {
      this.#isTouching = false;
      const rest = setTimeout(() => {
        this.#isThrottled = false;
        if (this.#isDue) this.#touch();
      }, TOUCH_EVERY_MS);
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

/** A commit, as reported to the threads of this process. */
export type CommitNews = {
  /** The head of the log before the commit. */
  readonly after: Position;
  readonly head: Position;
  /** The commit's events; none if they are so large that reading the file is cheaper than handing them over. */
  readonly rows: readonly EventRow[];
};

/** Limit in characters, for the events of a commit that are handed over and for all that are kept. */
export const MAX_NEWS_SIZE = 65_536;

const sizeOf = (rows: readonly EventRow[]): number =>
  rows.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);

export class RecentCommits {
  /** Consecutive, without a gap. */
  #commits: CommitNews[] = [];
  #size = 0;

  add(news: CommitNews): void {
    const size = sizeOf(news.rows);
    // Another process has committed in between, or the commit is in the file only.
    if (news.rows.length === 0 || this.#commits.at(-1)?.head !== news.after) this.#forget();
    if (news.rows.length === 0) return;
    this.#commits.push(news);
    this.#size += size;
    while (this.#size > MAX_NEWS_SIZE && this.#commits.length > 1) {
      this.#size -= sizeOf(this.#commits.shift()?.rows ?? []);
    }
  }

  /** The next slice after a position; undefined if it has to be read from the file. See `LogReader.slice`. */
  slice(
    after: Position,
    prefixes: readonly string[] | undefined,
    maxCount: number,
    accepts: (stream: string) => boolean = () => true,
  ): Omit<EventSlice, 'caughtUp'> | undefined {
    const first = this.#commits.findIndex((commit) => commit.after === after);
    if (first < 0) return undefined;
    // A commit may have many appends, and the file can be read up to any of them.
    if ((this.#commits[first]?.rows.length ?? 0) > maxCount) return undefined;
    const events: EventRow[] = [];
    let position = after;
    for (const { rows, head } of this.#commits.slice(first)) {
      if (events.length >= maxCount) break;
      const isWanted = ({ stream }: EventRow) =>
        (prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && accepts(stream);
      events.push(...rows.filter(isWanted));
      position = head;
    }
    const eventId = this.#commits.find(({ head }) => head === position)?.rows.at(-1)?.id;
    return {
      events: events.map(decodeEvent),
      position,
      ...(eventId === undefined ? {} : { eventId: uuidText(eventId) }),
    };
  }

  #forget(): void {
    this.#commits = [];
    this.#size = 0;
  }
}
