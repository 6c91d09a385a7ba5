/**
 * New events of the log, read once for all subscriptions of a process. The feed is unfiltered: with every event each
 * subscription learns the log's position, even if its own streams have no events, and no write has to query the log.
 */
import {
  DEFAULT_SLICE_COUNT,
  type EventSlice,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { WakeUp } from '../../../supervision/waiting.js';
import { type SizedSlice, SLICE_CHARACTERS } from './sliceBuilder.js';

/** Reads the log after a position until the signal ends it: the shared, unfiltered subscription. */
export type ReadLog = (after: Position, signal: AbortSignal) => AsyncIterable<SizedSlice>;

/** Kept for subscriptions that are behind. A subscription further behind reads the log itself. */
const KEPT_CHARACTERS = SLICE_CHARACTERS;

type Filter = Pick<SubscribeOptions, 'streamPrefixes' | 'maxCount'>;

/** One run through the log, from its start until it fails, and the latest slices. */
class Reading {
  failure: unknown;
  /** Position reached. */
  position: Position;
  /** Everything after this position is kept. */
  #after: Position;
  #kept: SizedSlice[] = [];
  #characters = 0;

  constructor(after: Position) {
    this.position = after;
    this.#after = after;
  }

  keeps(position: Position): boolean {
    return position >= this.#after;
  }

  add(slice: SizedSlice): void {
    this.#kept.push(slice);
    this.#characters += slice.characters;
    this.position = slice.position;
    while (this.#characters > KEPT_CHARACTERS) {
      const [oldest] = this.#kept.splice(0, 1);
      if (oldest === undefined) break;
      this.#characters -= oldest.characters;
      this.#after = oldest.position;
    }
  }

  /** The matching events after a position: whole slices, until there are enough events. */
  slice(after: Position, { streamPrefixes, maxCount = DEFAULT_SLICE_COUNT }: Filter): EventSlice {
    const matches = ({ position, stream }: RecordedEvent): boolean =>
      position > after && (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true);
    const events: RecordedEvent[] = [];
    let last: Pick<EventSlice, 'position' | 'eventId' | 'caughtUp'> = { position: after, caughtUp: false };
    // Searched from the end: a close follower's slice is there, and much may be kept before it.
    const first = this.#kept.findLastIndex(({ position }) => position <= after) + 1;
    for (let at = first; events.length < maxCount; at += 1) {
      const slice = this.#kept[at];
      if (slice === undefined) break;
      for (const event of slice.events) if (matches(event)) events.push(event);
      last = slice;
    }
    return { events, position: last.position, eventId: last.eventId, caughtUp: last.caughtUp };
  }
}

export class LiveFeed {
  readonly #read: ReadLog;
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<WakeUp>();
  #reading: Reading | undefined;

  /** @param signal ends the feed and its followers */
  constructor(read: ReadLog, signal: AbortSignal) {
    this.#read = read;
    this.#signal = signal;
  }

  /** Whether following from this position misses nothing. */
  keeps(position: Position): boolean {
    return this.#reading?.keeps(position) ?? true;
  }

  /**
   * Yields everything after this position as it arrives. Ends when the signal aborts, or if the next events are no
   * longer kept.
   */
  async *follow(after: Position, filter: Filter, signal: AbortSignal): AsyncGenerator<EventSlice> {
    this.#reading ??= this.#start(after);
    const reading = this.#reading;
    const wakeUp = new WakeUp();
    this.#waiting.add(wakeUp);
    try {
      for (let position = after; !signal.aborted && reading.keeps(position); ) {
        if (reading.failure !== undefined) throw reading.failure;
        if (reading.position > position) {
          const slice = reading.slice(position, filter);
          position = slice.position;
          yield slice;
        } else {
          await wakeUp.wait(undefined, signal);
        }
      }
    } finally {
      this.#waiting.delete(wakeUp);
    }
  }

  #start(after: Position): Reading {
    const reading = new Reading(after);
    void this.#run(reading);
    return reading;
  }

  /** All followers throw its failure. The next one to follow starts a new reading. */
  async #run(reading: Reading): Promise<void> {
    try {
      for await (const slice of this.#read(reading.position, this.#signal)) {
        reading.add(slice);
        this.#wake();
      }
    } catch (error) {
      reading.failure = error;
    }
    this.#reading = undefined;
    this.#wake();
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }
}
