import { type EventPosition, EventStoreUnavailableError, LogReplacedError } from '../../../ports/eventStore.js';
import { sleep } from '../../../supervision/waiting.js';

/** What the node that leads says of a place. */
export type Finding =
  | { readonly kind: 'held' }
  /** Another event is at this position. */
  | { readonly kind: 'other event'; readonly there: EventPosition }
  /**
   * The log ends before it, no event begins there, or the server refuses to read from there. A node that has just begun
   * to lead, leads no more, or takes a file away may say so of a place that the log has.
   */
  | { readonly kind: 'lacking'; readonly end: EventPosition };

export type Looks = {
  /** @throws what reading throws */
  readonly look: (place: EventPosition) => Promise<Finding>;
  /** Asks the nodes again which one leads. */
  readonly askWhoLeads: () => Promise<void>;
};

/** How long a place must be lacking, without a lost connection meanwhile, until it is believed; in milliseconds. */
const REPLACED_AFTER_MS = 10_000;
/** Between two looks at a place that is lacking, in milliseconds. */
const LOOK_AGAIN_MS = 250;

export type KnownLogSettings = {
  /** Ends the looks. */
  readonly signal: AbortSignal;
  /** Default REPLACED_AFTER_MS. */
  readonly replacedAfterMs?: number | undefined;
  /** Default LOOK_AGAIN_MS. */
  readonly lookAgainMs?: number;
};

/**
 * Checks that the server still has the log that this process has read. After a reconnect, the server may have an older
 * copy or another log. So after each lost connection, the last event that was read is looked up before anything is read
 * on or written.
 */
export class KnownLog {
  readonly #looks: Looks;
  readonly #signal: AbortSignal;
  readonly #replacedAfterMs: number;
  readonly #lookAgainMs: number;
  #read: EventPosition = { position: 0 };
  /** Lost connections so far, and how many of them a look-up has covered. */
  #lost = 0;
  #lookedUp = 0;
  #lookingUp: Promise<void> | undefined;
  /** When the log was first found to lack a place since the last lost connection; of `performance.now()`. */
  #lackingSince: number | undefined;
  #replaced: LogReplacedError | undefined;

  constructor(
    looks: Looks,
    { signal, replacedAfterMs = REPLACED_AFTER_MS, lookAgainMs = LOOK_AGAIN_MS }: KnownLogSettings,
  ) {
    this.#looks = looks;
    this.#signal = signal;
    this.#replacedAfterMs = replacedAfterMs;
    this.#lookAgainMs = lookAgainMs;
  }

  /** Notes the last event. Events of the server itself, which it removes some day, have no id here. */
  note({ position, eventId }: EventPosition): void {
    if (eventId !== undefined && position > this.#read.position) this.#read = { position, eventId };
  }

  connectionLost(): void {
    this.#lost += 1;
    this.#lackingSince = undefined;
  }

  /**
   * Costs nothing unless a connection was lost. Waits while the log lacks the last event and that is not believed yet.
   * @throws LogReplacedError, and what reading throws
   */
  async check(): Promise<void> {
    while (this.#lookedUp < this.#lost) {
      if (this.#replaced !== undefined) throw this.#replaced;
      this.#lookingUp ??= this.#lookUp().finally(() => {
        this.#lookingUp = undefined;
      });
      await this.#lookingUp;
    }
  }

  async #lookUp(): Promise<void> {
    const lost = this.#lost;
    await this.confirm(this.#read);
    this.#lookedUp = lost;
  }

  /** @throws LogReplacedError if the log does not have this place, then and from then on; and what reading throws */
  async confirm(place: EventPosition): Promise<void> {
    const finding = await this.#finding(place);
    if (finding.kind === 'held') return;
    this.#replaced = new LogReplacedError(replaced(place, finding));
    throw this.#replaced;
  }

  /** See `EventStore.holds`. */
  async holds(place: EventPosition): Promise<boolean> {
    return (await this.#finding(place)).kind === 'held';
  }

  async #finding(place: EventPosition): Promise<Finding> {
    for (let lacked = false; ; lacked = true) {
      const finding = await this.#looks.look(place);
      if (finding.kind !== 'lacking') {
        if (lacked) this.#lackingSince = undefined;
        return finding;
      }
      this.#lackingSince ??= performance.now();
      if (performance.now() - this.#lackingSince >= this.#replacedAfterMs) return finding;
      await this.#looks.askWhoLeads();
      await sleep(this.#lookAgainMs, this.#signal);
      if (this.#signal.aborted) throw new EventStoreUnavailableError('The event store is closed.');
    }
  }
}

/** Both places, as a sentence. */
function replaced(read: EventPosition, found: Exclude<Finding, { readonly kind: 'held' }>): string {
  const now =
    found.kind === 'other event'
      ? `${eventAt(found.there)} is there now`
      : `no event begins there now, and the log ends with ${eventAt(found.end)}`;
  return `${eventAt(read)} was read before; ${now}.`;
}

const eventAt = ({ position, eventId }: EventPosition): string =>
  `${eventId === undefined ? 'an event' : `event ${eventId}`} at position ${position}`;
