/** Watches the rows from outside: whether they have caught up with the log since the start, and whether they stand still. */
import type { EventStore, Position } from '../ports/eventStore.js';
import type { RowProgress } from '../ports/progress.js';
import { sleep } from '../supervision/waiting.js';

/** Rows that are behind and have not moved for this long are stuck, not busy. */
const STANDSTILL_MS = 30_000;
/** Between two looks while the start waits, in milliseconds. */
const LOOK_MS = 20;

export class RowWatch {
  readonly #eventStore: Pick<EventStore, 'head'>;
  readonly #progress: Pick<RowProgress, 'position' | 'filling'>;
  readonly #now: () => number;
  #seen = { position: -1, since: 0 };
  #hasCaughtUp = false;

  /** @param now milliseconds, for tests */
  constructor(
    eventStore: Pick<EventStore, 'head'>,
    progress: Pick<RowProgress, 'position' | 'filling'>,
    now: () => number = Date.now,
  ) {
    this.#eventStore = eventStore;
    this.#progress = progress;
    this.#now = now;
  }

  /** Waits until the rows show the log as it is now. False after `timeoutMs`. */
  async catchUp(
    timeoutMs: number,
    onProgress: (reached: { readonly position: Position; readonly of: Position }) => void,
  ): Promise<boolean> {
    const head = await this.#eventStore.head();
    const until = performance.now() + timeoutMs;
    while (!this.#isAt(head) && performance.now() < until) {
      onProgress({ position: this.#progress.position, of: head });
      await sleep(LOOK_MS);
    }
    return this.#hasCaughtUp;
  }

  #isAt(head: Position): boolean {
    this.#hasCaughtUp ||= this.#progress.position >= head && this.#progress.filling().size === 0;
    return this.#hasCaughtUp;
  }

  /** Positions that the rows are behind the log. @throws what the log throws */
  async lag(): Promise<Position> {
    return Math.max(0, (await this.#eventStore.head()) - this.#progress.position);
  }

  /** What is wrong; undefined if the rows are current or catching up. @throws what the log throws */
  async trouble(): Promise<string | undefined> {
    const head = await this.#eventStore.head();
    const { position } = this.#progress;
    if (!this.#isAt(head)) return `The rows have not caught up yet: they are at position ${position} of ${head}.`;
    if (position !== this.#seen.position || position >= head) this.#seen = { position, since: this.#now() };
    else if (this.#now() - this.#seen.since > STANDSTILL_MS)
      return `The rows stand still at ${position}; the log is at ${head}.`;
    return undefined;
  }

  /** After an interruption: `trouble` reports until the rows have caught up once more. */
  mistrust(): void {
    this.#hasCaughtUp = false;
  }
}
