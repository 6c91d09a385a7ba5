/**
 * Where machines share the log, a read is answered when this process knows what was in the log as it came: another machine
 * may have answered it. Requests that come at once share the question for the log's end.
 */
import { LOG_END_ASKED_EVERY_MS, LOG_END_WAIT_MS } from '../domain/limits.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { withTimeout } from '../supervision/waiting.js';

/** What is made from the log in memory. */
type Follower = { waitFor(position: Position): Promise<void> };

export class LogEnd {
  readonly #eventStore: Pick<EventStore, 'head'>;
  readonly #followers: readonly Follower[];
  #next: Promise<boolean> | undefined;
  #asked: Promise<unknown> = Promise.resolve();
  /** The last answer did not come in time. Then no request waits, until one has come again. */
  #isAway = false;
  #isProbing = false;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(eventStore: Pick<EventStore, 'head'>, followers: readonly Follower[]) {
    this.#eventStore = eventStore;
    this.#followers = followers;
  }

  /**
   * Resolves true when this process knows everything that was in the log at the call; false if that takes too long, and at
   * once while the log is away. Never rejects.
   */
  reached(): Promise<boolean> {
    if (this.#isAway) {
      void this.#probe();
      return Promise.resolve(false);
    }
    this.#next ??= this.#afterLast();
    return this.#next;
  }

  async #afterLast(): Promise<boolean> {
    await this.#asked;
    // From here on the answer may lack new events: later requests need the next one.
    this.#next = undefined;
    return this.#isAway ? false : this.#ask();
  }

  async #ask(): Promise<boolean> {
    const asked = withTimeout(LOG_END_WAIT_MS, 'The log does not answer in time.', this.#eventStore.head());
    this.#asked = asked.catch(() => undefined);
    try {
      const end = await asked;
      const known = Promise.all(this.#followers.map((follower) => follower.waitFor(end)));
      await withTimeout(LOG_END_WAIT_MS, 'The log is not followed in time.', known);
      this.#isAway = false;
    } catch {
      this.#isAway = true;
    }
    return !this.#isAway;
  }

  async #probe(): Promise<void> {
    if (this.#isProbing || performance.now() < this.#probedAt + LOG_END_ASKED_EVERY_MS) return;
    this.#isProbing = true;
    this.#probedAt = performance.now();
    await this.#ask();
    this.#isProbing = false;
  }
}
