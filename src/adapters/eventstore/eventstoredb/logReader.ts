import { BACKWARDS, END, FORWARDS, type ResolvedEvent, START, type StreamingRead } from '@eventstore/db-client';
import { charactersOf } from '../../../domain/jsonSize.js';
import {
  type EventPosition,
  EventStoreUnavailableError,
  MAX_EVENT_BYTES,
  type Position,
  type ReadSlice,
  type RecordedEvent,
  type Revision,
  type SliceRange,
} from '../../../ports/eventStore.js';
import { LogReplacedError } from '../../../ports/logAnchor.js';
import { DeadlineError } from '../../../supervision/deadline.js';
import { retry } from '../../../supervision/keepRunning.js';
import { singleFlight, sleep } from '../../../supervision/waiting.js';
import type { StoreClient } from './connection.js';
import {
  type ClientEvent,
  decode,
  following,
  isInsideCall,
  positionOf,
  type StoredEvent,
  toLogPosition,
} from './encoding.js';
import {
  CALL_BACKOFF,
  isMissingStream,
  isPositionRefused,
  isTransient,
  OF_LEADER,
  PositionRefusedError,
  type Server,
  toPortError,
} from './server.js';

const PAGE_EVENTS = 1_000;
export const PAGE_CHARACTERS = 4_000_000;

/** How long the log must lack an event until that is believed, in milliseconds. */
const REPLACED_AFTER_MS = 10_000;
const RECHECK_MS = 250;

/** What became visible at one position of the log: the events of an append, or none where the event is not the service's. */
export type Commit = EventPosition & { readonly events: readonly RecordedEvent[] };

type StreamOptions = {
  readonly fromRevision?: bigint | typeof END;
  readonly direction?: typeof FORWARDS | typeof BACKWARDS;
  readonly maxCount?: number;
};

/** Of the events that there are. `isCut`: a limit ended the read. */
type Read = { readonly events: readonly ClientEvent[]; readonly isCut: boolean };

/** `characters`: of data, with the event that reaches them. */
type Limits = { readonly count?: number | undefined; readonly characters?: number };

const decoded = (events: readonly ClientEvent[]): readonly StoredEvent[] =>
  events.flatMap((event) => decode(event) ?? []);

/** Finite reads of the server's log. Each is retried for `timeoutMs` while the server is away. */
export class LogReader {
  constructor(
    private readonly server: Server,
    private readonly timeoutMs: number,
  ) {}

  async readSlice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): Promise<ReadSlice> {
    if (to !== undefined && to < from) return { events: [] };
    const count = to === undefined ? maxCount : Math.min(maxCount, to - from + 1);
    const end = to === undefined ? END : BigInt(to);
    const options: StreamOptions = backwards
      ? { fromRevision: end, direction: BACKWARDS, maxCount: count }
      : { fromRevision: BigInt(from), direction: FORWARDS, maxCount: count };
    const { events: read, isCut } = await this.#ofStream(stream, options, MAX_EVENT_BYTES);
    const events = await this.#complete(decoded(backwards ? read.toReversed() : read));
    const last = read.at(-1);
    if (last === undefined || !isCut) return { events };
    const next = Number(last.revision) + (backwards ? -1 : 1);
    return next < from || (to !== undefined && next > to) ? { events } : { events, next };
  }

  async rawStream(stream: string, options: StreamOptions): Promise<readonly ClientEvent[]> {
    return (await this.#ofStream(stream, options)).events;
  }

  async readBackwards(maxCount: number, before?: Position): Promise<ReadSlice> {
    const limits = { count: maxCount, characters: MAX_EVENT_BYTES };
    const { events: read, isCut } = await this.#ofLog(before ?? END, BACKWARDS, limits);
    const events = await this.#complete(decoded(read));
    const last = read.at(-1);
    return last === undefined || !isCut ? { events } : { events, next: positionOf(last) };
  }

  /** The last event. Its id is unset where the service has not written it: the server removes its own some day. */
  async head(): Promise<EventPosition> {
    const [newest] = (await this.#ofLog(END, BACKWARDS, { count: 1 })).events;
    return newest === undefined ? { position: 0 } : commitOf(newest, []);
  }

  /** Whether the node that answers has this event there; without an id, whether it has one there or behind it. */
  async has({ position, eventId }: EventPosition): Promise<boolean> {
    if (position === 0) return true;
    try {
      const [there] = (await this.#ofLog(position, FORWARDS, { count: 1 })).events;
      return there !== undefined && (eventId === undefined || there.id === eventId);
    } catch (error) {
      if (error instanceof PositionRefusedError) return false;
      throw error;
    }
  }

  /** What comes after a position, up to an event that fills the page. @throws PositionRefusedError */
  async page(after: Position): Promise<{ readonly commits: readonly Commit[]; readonly isEnd: boolean }> {
    const limits = { count: PAGE_EVENTS, characters: PAGE_CHARACTERS };
    const read = await this.#ofLog(after === 0 ? START : after, FORWARDS, limits);
    const commits: Commit[] = [];
    let open: RecordedEvent[] = [];
    let cut: StoredEvent | undefined;
    // The server begins with the event at the position, unless it was removed.
    for (const event of read.events.filter((each) => positionOf(each) > after)) {
      const stored = decode(event);
      if (stored !== undefined) open.push(...(await this.#shownWith(stored)));
      cut = stored !== undefined && isInsideCall(stored) ? stored : undefined;
      if (cut !== undefined) continue;
      commits.push(commitOf(event, open));
      open = [];
    }
    // The page ends inside an append of one call, whose events follow each other.
    if (cut !== undefined) {
      const rest = await this.#storedIn(cut.event.stream, cut.event.revision + 1, following(cut));
      const { position, id: eventId } = (rest.at(-1) ?? cut).event;
      commits.push({ events: [...open, ...rest.map(({ event }) => event)], position, eventId });
    }
    return { commits, isEnd: !read.isCut };
  }

  /** The events that show with this one: of an append in parts, all with the last one. */
  async #shownWith(stored: StoredEvent): Promise<readonly RecordedEvent[]> {
    const { event, part } = stored;
    if (part?.split !== true) return [event];
    if (following(stored) > 0) return [];
    return this.#complete(await this.#storedIn(event.stream, event.revision - part.index, part.count));
  }

  /**
   * Without the events of appends in parts that their writer gave up. Those of the others have the position of their last
   * part, at which they became visible (decision 0006).
   */
  async #complete(stored: readonly StoredEvent[]): Promise<readonly RecordedEvent[]> {
    const positions = new Map<string, Position | undefined>();
    const events: RecordedEvent[] = [];
    for (const each of stored) {
      const { event, part } = each;
      if (part?.split !== true) events.push(event);
      else {
        if (!positions.has(part.append)) {
          const [end] = await this.#storedIn(event.stream, event.revision + following(each), 1);
          positions.set(part.append, end?.part?.append === part.append ? end.event.position : undefined);
        }
        const position = positions.get(part.append);
        if (position !== undefined) events.push({ ...event, position });
      }
    }
    return events;
  }

  /** Everything stored in a stream from a revision on, including parts of unfinished appends. */
  async #storedIn(stream: string, from: Revision, maxCount: number): Promise<readonly StoredEvent[]> {
    return decoded(await this.rawStream(stream, { fromRevision: BigInt(from), maxCount }));
  }

  #ofLog(
    from: Position | typeof START | typeof END,
    direction: typeof FORWARDS | typeof BACKWARDS,
    limits: Limits & { readonly count: number },
  ): Promise<Read> {
    const fromPosition = typeof from === 'number' ? toLogPosition(from) : from;
    const options = { ...OF_LEADER, direction, fromPosition, maxCount: limits.count };
    // The end is always a position, so a refusal to read from there passes.
    const mayPass = (error: unknown): boolean => isTransient(error) || (from === END && isPositionRefused(error));
    return this.#read((client) => client.readAll(options), limits, mayPass);
  }

  #ofStream(stream: string, options: StreamOptions, characters = Number.POSITIVE_INFINITY): Promise<Read> {
    const limits = { count: options.maxCount, characters };
    return this.#read((client) => client.readStream(stream, { ...OF_LEADER, ...options }), limits);
  }

  async #read(
    open: (client: StoreClient) => StreamingRead<ResolvedEvent>,
    limits: Limits,
    mayPass: (error: unknown) => boolean = isTransient,
  ): Promise<Read> {
    const until = Date.now() + this.timeoutMs;
    const read = () => this.server.run((client, answered) => this.#collect(open(client), limits, answered));
    try {
      return await retry(read, { until, backoff: CALL_BACKOFF, isTransient: mayPass });
    } catch (error) {
      if (isMissingStream(error)) return { events: [], isCut: false };
      throw toPortError(error);
    }
  }

  /** @throws DeadlineError where the server is silent for the time limit */
  async #collect(
    read: StreamingRead<ResolvedEvent>,
    { count, characters = Number.POSITIVE_INFINITY }: Limits,
    answered: () => void,
  ): Promise<Read> {
    const events: ClientEvent[] = [];
    let left = characters;
    const isSilent = new DeadlineError(`the event store was silent for ${this.timeoutMs} ms`);
    const silence = setTimeout(() => read.destroy(isSilent), this.timeoutMs);
    // The client reports some errors more than once.
    read.on('error', () => undefined);
    try {
      for await (const { event } of read) {
        answered();
        silence.refresh();
        if (event === undefined) continue;
        events.push(event);
        left -= charactersOf(event.data);
        if (left <= 0) break;
      }
      return { events, isCut: left <= 0 || events.length === count };
    } finally {
      clearTimeout(silence);
      // Not awaited: without an answer there may be no call to cancel yet.
      void read.cancel().catch(() => undefined);
    }
  }
}

export const commitOf = (last: ClientEvent, events: readonly RecordedEvent[]): Commit => ({
  events,
  position: positionOf(last),
  eventId: decode(last)?.event.id,
});

/**
 * Checks that the server still has the log that this process has read: the event that it knew last is at its position.
 * After a lost connection this is looked up before anything is read on or written. A node that has just begun to lead,
 * wrongly takes itself for the leader, or takes a file away may lack events for a moment, so the log must lack it for ten
 * seconds (decision 0007).
 */
export class KnownLog {
  #known: EventPosition = { position: 0 };
  /** Lost connections so far, and how many of them a look-up has covered. */
  #lost = 0;
  #checked = 0;

  constructor(
    private readonly reader: LogReader,
    private readonly signal: AbortSignal,
    private readonly replacedAfterMs = REPLACED_AFTER_MS,
  ) {}

  note({ position, eventId }: EventPosition): void {
    if (eventId === undefined || position <= this.#known.position) return;
    this.#known = { position, eventId };
  }

  connectionLost(): void {
    this.#lost += 1;
  }

  /**
   * Costs nothing unless a connection was lost. Waits while the log lacks the event and that is not believed yet.
   * @throws LogReplacedError, and what reading throws
   */
  async check(): Promise<void> {
    while (this.#checked < this.#lost) await this.#recheck();
  }

  readonly #recheck = singleFlight(async () => {
    const lost = this.#lost;
    await this.confirm(this.#known);
    this.#checked = lost;
  });

  /** @throws LogReplacedError if the log does not have this place; and what reading throws */
  async confirm(place: EventPosition): Promise<void> {
    if (await this.holds(place)) return;
    const end = eventAt(await this.reader.head());
    throw new LogReplacedError(`${eventAt(place)} was read before; it is not there now, and the log ends with ${end}.`);
  }

  async holds(place: EventPosition): Promise<boolean> {
    const since = performance.now();
    while (!(await this.reader.has(place))) {
      if (performance.now() - since >= this.replacedAfterMs) return false;
      await sleep(RECHECK_MS, this.signal);
      if (this.signal.aborted) throw new EventStoreUnavailableError('The event store is closed.');
    }
    return true;
  }
}

const eventAt = ({ position, eventId }: EventPosition): string =>
  `${eventId === undefined ? 'an event' : `event ${eventId}`} at position ${position}`;
