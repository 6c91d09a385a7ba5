import { charactersOf } from '../../../domain/jsonSize.js';
import type { EventPosition, EventSlice, Position, RecordedEvent } from '../../../ports/eventStore.js';
import { type ClientEvent, decode, positionOf } from './encoding.js';
import type { LogReader } from './logReader.js';
import { Assembly } from './splitAppends.js';

/** The characters of data that fill a slice. */
export const SLICE_CHARACTERS = 4_000_000;

/** A slice with its approximate characters of data. */
export type SizedSlice = EventSlice & { readonly characters: number };

/** Collects complete appends into a slice, with the position that they reach. */
export class SliceBuilder {
  readonly #assembly: Assembly;
  readonly #progress: Progress;
  readonly #after: Position;
  readonly #maxCount: number;
  #reported: Position;
  #events: RecordedEvent[] = [];
  #characters = 0;

  /**
   * @param after start position that the subscriber asked for
   * @param maxCount the number of events that fills a slice
   */
  constructor(reader: LogReader, progress: Progress, after: Position, maxCount: number) {
    this.#assembly = new Assembly(({ event, part }) => {
      const count = part?.count ?? 1;
      return reader.storedIn(event.stream, event.revision - count + 1, count);
    });
    this.#progress = progress;
    this.#after = after;
    this.#maxCount = maxCount;
    this.#reported = after;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  get isFull(): boolean {
    return this.#events.length >= this.#maxCount || this.#characters >= SLICE_CHARACTERS;
  }

  /** Whether there are events or a new position to report. */
  get hasNews(): boolean {
    return !this.isEmpty || this.#progress.position > this.#reported;
  }

  async add(event: ClientEvent): Promise<void> {
    const position = positionOf(event);
    // The subscription starts before the requested position (see LogReader.startAfter).
    if (position <= this.#after) return;
    const stored = decode(event);
    const append = stored === undefined ? undefined : await this.#assembly.add(stored);
    if (append !== undefined) {
      this.#events.push(...append);
      for (const { data } of append) this.#characters += charactersOf(data);
    }
    // Earlier parts of a split append need not be seen again: they are read back.
    if (!this.#assembly.midAppend) this.#progress.delivered({ position, eventId: event.id });
  }

  checkpoint(position: Position): void {
    if (!this.#assembly.midAppend) this.#progress.checkpoint(position);
  }

  caughtUp(): void {
    if (!this.#assembly.midAppend) this.#progress.caughtUp();
  }

  take(caughtUp: boolean): SizedSlice {
    const slice = {
      events: this.#events,
      position: this.#progress.position,
      eventId: this.#progress.eventId,
      caughtUp,
      characters: this.#characters,
    };
    this.#events = [];
    this.#characters = 0;
    this.#reported = slice.position;
    return slice;
  }
}

/**
 * The proven position of one connection of a filtered subscription. The server reports only part of its progress, and a
 * position that is too high would lose events, so each step needs a proof.
 */
export class Progress {
  #reached: EventPosition;
  readonly #headBefore: EventPosition;
  #checkpoint: Position | undefined;

  /**
   * @param reached proven before this connection
   * @param headBefore the log's head, read before the subscription was opened
   */
  constructor(reached: EventPosition, headBefore: EventPosition) {
    this.#reached = reached;
    this.#headBefore = headBefore;
  }

  get position(): Position {
    return this.#reached.position;
  }

  /** Id of the event at `position`; unset if it is unknown, or an event of the server. */
  get eventId(): string | undefined {
    return this.#reached.eventId;
  }

  /** The server sends matching events in log order: with an event, everything up to it has been sent. */
  delivered(place: EventPosition): void {
    this.#reach(place);
  }

  /**
   * Everything before a checkpoint has been sent if it matches. Whether the event at the checkpoint itself was sent
   * depends on the server's version (EventStoreDB 4970). So a checkpoint is proven by the next one.
   */
  checkpoint(position: Position): void {
    if (this.#checkpoint !== undefined && position > this.#checkpoint) {
      this.#reach({ position: this.#checkpoint });
    }
    this.#checkpoint = Math.max(position, this.#checkpoint ?? 0);
  }

  /**
   * The server says "caught up" when it has reached the end that the log had when, after the catch-up, it began to
   * listen for new events. That is not before `headBefore`, which the same leader gave before the subscription was
   * opened. So every match up to `headBefore` has been sent.
   */
  caughtUp(): void {
    this.#reach(this.#headBefore);
  }

  #reach(place: EventPosition): void {
    const before = this.#reached;
    // One report of a position may have the event's id and another not.
    if (place.position > before.position || (place.position === before.position && place.eventId !== undefined)) {
      this.#reached = place;
    }
  }
}
