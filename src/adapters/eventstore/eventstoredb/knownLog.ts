import { type EventPosition, EventStoreUnavailableError } from '../../../ports/eventStore.js';
import { LogReplacedError } from '../../../ports/logAnchor.js';
import { singleFlight, sleep } from '../../../supervision/waiting.js';
import type { LogReader } from './logReader.js';

/** How long the log must lack an event until that is believed, in milliseconds. */
const REPLACED_AFTER_MS = 10_000;
/** Between two looks at an event that is lacking, in milliseconds. */
const LOOK_AGAIN_MS = 250;

/**
 * Checks that the server still has the log that this process has read: the event that it knew last is at its position.
 * After a lost connection this is looked up before anything is read on or written. A node that has just begun to lead,
 * wrongly takes itself for the leader, or takes a file away may lack events for a moment, so the log must lack it for ten
 * seconds (decision 0007).
 */
export class KnownLog {
  readonly #reader: LogReader;
  readonly #signal: AbortSignal;
  readonly #replacedAfterMs: number;
  #known: EventPosition = { position: 0 };
  /** Lost connections so far, and how many of them a look-up has covered. */
  #lost = 0;
  #lookedUp = 0;
  /** The lowest position that the log was found to lack: the same copy lacks those behind it. */
  #lacks = Number.POSITIVE_INFINITY;

  /** @param signal ends the looks */
  constructor(reader: LogReader, signal: AbortSignal, replacedAfterMs = REPLACED_AFTER_MS) {
    this.#reader = reader;
    this.#signal = signal;
    this.#replacedAfterMs = replacedAfterMs;
  }

  note({ position, eventId }: EventPosition): void {
    if (eventId === undefined || position <= this.#known.position) return;
    this.#known = { position, eventId };
    // The log goes on there now.
    if (position >= this.#lacks) this.#lacks = Number.POSITIVE_INFINITY;
  }

  connectionLost(): void {
    this.#lost += 1;
  }

  /**
   * Costs nothing unless a connection was lost. Waits while the log lacks the event and that is not believed yet.
   * @throws LogReplacedError, and what reading throws
   */
  async check(): Promise<void> {
    while (this.#lookedUp < this.#lost) await this.#lookUp();
  }

  readonly #lookUp = singleFlight(async () => {
    const lost = this.#lost;
    await this.confirm(this.#known);
    this.#lookedUp = lost;
  });

  /** @throws LogReplacedError if the log does not have this place; and what reading throws */
  async confirm(place: EventPosition): Promise<void> {
    if (await this.holds(place)) return;
    const end = eventAt(await this.#reader.head());
    throw new LogReplacedError(`${eventAt(place)} was read before; it is not there now, and the log ends with ${end}.`);
  }

  /** See `EventStore.holds`. */
  async holds(place: EventPosition): Promise<boolean> {
    const since = performance.now();
    while (!(await this.#reader.has(place))) {
      if (place.position >= this.#lacks) return false;
      if (performance.now() - since >= this.#replacedAfterMs) {
        // A place before what is known to be there says nothing of those behind it.
        if (place.position >= this.#known.position) this.#lacks = place.position;
        return false;
      }
      await sleep(LOOK_AGAIN_MS, this.#signal);
      if (this.#signal.aborted) throw new EventStoreUnavailableError('The event store is closed.');
    }
    return true;
  }
}

const eventAt = ({ position, eventId }: EventPosition): string =>
  `${eventId === undefined ? 'an event' : `event ${eventId}`} at position ${position}`;
