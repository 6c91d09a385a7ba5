/**
 * The latest commits of this process, as its appender reported them: followers of the log need not read from the file
 * what was in memory a moment ago.
 */
import type { EventSlice, Position } from '../../../ports/eventStore.js';
import { decodeEvent, type EventRow, uuidText } from './encoding.js';

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
