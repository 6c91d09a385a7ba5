/**
 * What is new in the log, read once for all subscriptions of a process. Of everything: so each subscription learns with
 * every event how far the log is, also where its own streams stand still, and no write has to wait for a look at the log.
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

/** Reads the log after a position until the signal ends it: the unfiltered subscription that is shared. */
export type ReadLog = (after: Position, signal: AbortSignal) => AsyncIterable<SizedSlice>;

/** Characters of data that are kept for subscriptions that are behind; one that is behind further reads the log itself. */
const KEPT_CHARACTERS = SLICE_CHARACTERS;

type Filter = Pick<SubscribeOptions, 'streamPrefixes' | 'maxCount'>;

/** One reading of the log, from its beginning until it fails, and what came last in it. */
class Reading {
  failure: unknown;
  /** How far it is. */
  position: Position;
  /** All that came after this position is kept. */
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

  /** What matches after a position: whole slices, until there are events enough. */
  slice(after: Position, { streamPrefixes, maxCount = DEFAULT_SLICE_COUNT }: Filter): EventSlice {
    const matches = ({ position, stream }: RecordedEvent): boolean =>
      position > after && (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true);
    const events: RecordedEvent[] = [];
    let last: Pick<EventSlice, 'position' | 'eventId' | 'caughtUp'> = { position: after, caughtUp: false };
    // From the end: who follows closely finds what is new there, and much may be kept before it.
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

  /** @param signal ends it and what follows it */
  constructor(read: ReadLog, signal: AbortSignal) {
    this.#read = read;
    this.#signal = signal;
  }

  /** Whether nothing is missed by following it from this position on. */
  keeps(position: Position): boolean {
    return this.#reading?.keeps(position) ?? true;
  }

  /** Everything after this position, as it comes. Ends when the signal aborts, or when what follows is no longer kept. */
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

  /** What ends it is thrown by all who follow; the next to follow begins it anew. */
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
