import type { RecordedEvent } from '../../../ports/eventStore.js';
import { atOnce, continues, isLast, type StoredEvent } from './parts.js';

/** Unfinished split appends that are kept in memory; of older ones, the parts are read again when the last one comes. */
const MOST_HELD = 100;

/**
 * Puts the appends together that a subscription delivers in parts. Takes the events of all streams in the order of the
 * log. Nothing here has to survive a restart: whatever is missing when the last part comes is read from the stream,
 * where the parts of an append stand one after the other.
 */
export class Assembly {
  readonly #readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>;
  readonly #held = new Map<string, StoredEvent[]>();
  #midAppend = false;

  /** @param readBack gives the events of the append that ends with `last`, as its stream has them */
  constructor(readBack: (last: StoredEvent) => Promise<readonly StoredEvent[]>) {
    this.#readBack = readBack;
  }

  /**
   * Whether the events so far end inside an append of one call. Then no position may be reported: a reader that
   * starts again there would miss its beginning.
   */
  get midAppend(): boolean {
    return this.#midAppend;
  }

  /** The append that this event completes; undefined where it completes none. */
  async add(stored: StoredEvent): Promise<readonly RecordedEvent[] | undefined> {
    const { event, part } = stored;
    const held = this.#held.get(event.stream) ?? [];
    // Its writer has given up the append that this event does not continue, or never came to its end.
    this.#held.delete(event.stream);
    this.#midAppend = part !== undefined && !part.split && !isLast(part);
    if (part === undefined) return [event];

    const run = continues(held.at(-1)?.part, part) ? held : [];
    run.push(stored);
    if (!isLast(part)) {
      this.#hold(event.stream, run);
      return undefined;
    }
    return atOnce(run.length === part.count ? run : await this.#readWhole(stored, part.count));
  }

  async #readWhole(last: StoredEvent, count: number): Promise<readonly StoredEvent[]> {
    const run = await this.#readBack(last);
    const whole = run.length === count && run.every(({ part }, index) => part?.index === index);
    if (!whole)
      throw new Error(`The append that ends at ${last.event.revision} of ${last.event.stream} has lost a part.`);
    return run;
  }

  #hold(stream: string, run: StoredEvent[]): void {
    this.#held.set(stream, run);
    if (this.#held.size <= MOST_HELD) return;
    const [oldest] = this.#held.keys();
    if (oldest !== undefined) this.#held.delete(oldest);
  }
}
