import { charactersOf } from '../../../domain/jsonSize.js';
import type { EventPosition, EventSlice, Position, RecordedEvent } from '../../../ports/eventStore.js';
import { type ClientEvent, decode, positionOf } from './encoding.js';
import type { LogReader } from './logReader.js';
import { Assembly } from './splitAppends.js';

/** Characters of data after which a slice is full. */
export const SLICE_CHARACTERS = 4_000_000;

/** A slice, and about how many characters of data are in it. */
export type SizedSlice = EventSlice & { readonly characters: number };

/** Whole appends on their way into a slice, and the position that goes with them. */
export class SliceBuilder {
  readonly #assembly: Assembly;
  readonly #progress: Progress;
  readonly #after: Position;
  readonly #maxCount: number;
  #reported: Position;
  #events: RecordedEvent[] = [];
  #characters = 0;

  /**
   * @param after position that the subscription was asked to start after
   * @param maxCount events after which a slice is full
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

  /** Whether there are events, or a new position, to report. */
  get hasNews(): boolean {
    return !this.isEmpty || this.#progress.position > this.#reported;
  }

  async add(event: ClientEvent): Promise<void> {
    const position = positionOf(event);
    // The subscription starts before the position it was asked for (see LogReader.startAfter).
    if (position <= this.#after) return;
    const stored = decode(event);
    const append = stored === undefined ? undefined : await this.#assembly.add(stored);
    if (append !== undefined) {
      this.#events.push(...append);
      for (const { data } of append) this.#characters += charactersOf(data);
    }
    // Parts of a split append that come before its last one need not be seen again: they are read back.
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
 * How far one connection of a filtered subscription has looked. The server reports only some of it, and a position that
 * is too high would lose events, so each step has its proof.
 */
export class Progress {
  #reached: EventPosition;
  readonly #headBefore: EventPosition;
  #checkpoint: Position | undefined;

  /**
   * @param reached looked at before
   * @param headBefore the head of the log, read before the subscription was opened
   */
  constructor(reached: EventPosition, headBefore: EventPosition) {
    this.#reached = reached;
    this.#headBefore = headBefore;
  }

  get position(): Position {
    return this.#reached.position;
  }

  /** Of the event at `position`; unset where none of the service's, nor of another program, is known to be there. */
  get eventId(): string | undefined {
    return this.#reached.eventId;
  }

  /** The server sends what matches in the order of the log: with an event, everything up to it has been sent. */
  delivered(place: EventPosition): void {
    this.#reach(place);
  }

  /**
   * With a checkpoint everything before it has been looked at and, where it matches, was sent. Whether the event at
   * the checkpoint itself was, depends on the server's version (EventStoreDB 4970). So it takes the next checkpoint to
   * be sure of this one.
   */
  checkpoint(position: Position): void {
    if (this.#checkpoint !== undefined && position > this.#checkpoint) {
      this.#reach({ position: this.#checkpoint });
    }
    this.#checkpoint = Math.max(position, this.#checkpoint ?? 0);
  }

  /**
   * The server says "caught up" when it has read to the end of the log as it was when, after the catch-up, it began to
   * listen for new events. That is not before the head that was read, from the same leader, before the subscription was
   * opened. What matches up to that head has been sent by now.
   */
  caughtUp(): void {
    this.#reach(this.#headBefore);
  }

  #reach(place: EventPosition): void {
    const before = this.#reached;
    // Of the same position one report may know the event and another not.
    if (place.position > before.position || (place.position === before.position && place.eventId !== undefined)) {
      this.#reached = place;
    }
  }
}
