import {
  BACKWARDS,
  type Direction,
  END,
  FORWARDS,
  type ResolvedEvent,
  START,
  type StreamingRead,
} from '@eventstore/db-client';
import { charactersOf } from '../../../domain/jsonSize.js';
import { READ_SLICE_BYTES } from '../../../domain/limits.js';
import type {
  AppendResult,
  BackwardSlice,
  EventPosition,
  Position,
  RecordedEvent,
  Revision,
  SliceRange,
  StreamSlice,
} from '../../../ports/eventStore.js';
import { retry } from '../../../supervision/keepRunning.js';
import { TimeLimitError } from '../../../supervision/waiting.js';
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
  PositionRefusedError,
  toPortError,
} from './errors.js';
import { OF_LEADER, type Server } from './server.js';

/** Events that a page of the log has at most. */
const PAGE_EVENTS = 1_000;
/** The characters of data that fill a page. */
export const PAGE_CHARACTERS = 4_000_000;

/** The last revision of a stream: stored at all, and of complete appends. -1 if there is none. */
type Tail = { readonly stored: Revision; readonly visible: Revision };

/** What became visible at one position of the log: the events of an append, or none where the event is not the service's. */
export type Commit = EventPosition & { readonly events: readonly RecordedEvent[] };

/** Called for each attempt to read; returns a function that is given each event, and says whether the read ends with it. */
type EndsAt = () => (event: ClientEvent) => boolean;

/** A read is full at the event with which its data has so many characters. */
const fullAt = (limit: number) => () => {
  let characters = 0;
  return ({ data }: ClientEvent): boolean => {
    characters += charactersOf(data);
    return characters >= limit;
  };
};

/** Finite reads of the server's log. Each is retried for `timeoutMs` while the server is away. */
export class LogReader {
  readonly #server: Server;
  readonly #timeoutMs: number;

  constructor(server: Server, timeoutMs: number) {
    this.#server = server;
    this.#timeoutMs = timeoutMs;
  }

  /** See `EventStore.readStream`. */
  async stream(stream: string, from: Revision, to = Number.MAX_SAFE_INTEGER): Promise<readonly RecordedEvent[]> {
    return to < from ? [] : this.#complete(await this.storedIn(stream, from, to - from + 1));
  }

  /** See `EventStore.readSlice`. The call is given up at the event that fills the slice: the server sends no more of them. */
  async slice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): Promise<StreamSlice> {
    if (to < from) return { events: [] };
    const count = Math.min(maxCount, to - from + 1);
    const options = {
      ...OF_LEADER,
      maxCount: count,
      fromRevision: BigInt(backwards ? to : from),
      direction: backwards ? BACKWARDS : FORWARDS,
    } as const;
    const endsAt = fullAt(READ_SLICE_BYTES);
    const read = await this.#ofStream(stream, (client) => client.readStream(stream, options), endsAt);
    const stored = (backwards ? read.toReversed() : read).flatMap((event) => decode(event) ?? []);
    const events = await this.#complete(stored);
    const last = read.at(-1);
    const next = Number(last?.revision ?? 0) + (backwards ? -1 : 1);
    const isEnd = last === undefined || (read.length < count && !read.some(endsAt()));
    return isEnd || next < from || next > to ? { events } : { events, next };
  }

  /** Everything stored in a stream from a revision on, including parts of unfinished appends. */
  async storedIn(stream: string, from: Revision, maxCount = Number.MAX_SAFE_INTEGER): Promise<readonly StoredEvent[]> {
    const events = await this.#ofStream(stream, (client) =>
      client.readStream(stream, { ...OF_LEADER, fromRevision: BigInt(from), maxCount }),
    );
    return events.flatMap((event) => decode(event) ?? []);
  }

  /** Events of one of this adapter's own streams, not decoded. */
  async rawStream(stream: string): Promise<readonly ClientEvent[]> {
    return this.#ofStream(stream, (client) => client.readStream(stream, OF_LEADER));
  }

  /** See `EventStore.readBackwards`. A position that the server does not know has nothing before it. */
  async backwards(maxCount: number, before?: Position): Promise<BackwardSlice> {
    const from = before === undefined ? END : toLogPosition(before);
    const endsAt = fullAt(READ_SLICE_BYTES);
    try {
      const read = await this.#all(BACKWARDS, from, maxCount, endsAt);
      const stored = read.flatMap((event) => decode(event) ?? []);
      const visible = new Set((await this.#complete(stored)).map(({ id }) => id));
      const events = stored.flatMap(({ event }) => (visible.has(event.id) ? [event] : []));
      const last = read.at(-1);
      const isStart = last === undefined || (read.length < maxCount && !read.some(endsAt()));
      return isStart ? { events } : { events, next: positionOf(last) };
    } catch (error) {
      if (error instanceof PositionRefusedError) return { events: [] };
      throw error;
    }
  }

  /** The end of the last complete append; undefined if there is none. */
  async lastAppend(stream: string): Promise<AppendResult | undefined> {
    const { visible: revision } = await this.tail(stream);
    const [last] = revision < 0 ? [] : await this.storedIn(stream, revision, 1);
    return last && { revision, position: last.event.position };
  }

  /** Goes back from the end of a stream over appends of an earlier release that were given up. */
  async tail(stream: string): Promise<Tail> {
    let last = await this.#lastUpTo(stream, END);
    const stored = last?.event.revision ?? -1;
    while (last?.part !== undefined && following(last) > 0) {
      const before = last.event.revision - last.part.index - 1;
      last = before < 0 ? undefined : await this.#lastUpTo(stream, BigInt(before));
    }
    return { stored, visible: last?.event.revision ?? -1 };
  }

  async #lastUpTo(stream: string, fromRevision: typeof END | bigint): Promise<StoredEvent | undefined> {
    const options = { ...OF_LEADER, direction: BACKWARDS, fromRevision, maxCount: 1 } as const;
    const [event] = await this.#ofStream(stream, (client) => client.readStream(stream, options));
    const stored = event && decode(event);
    if (event !== undefined && stored === undefined)
      throw new Error(`The event ${event.revision} of ${stream} was not written by this service.`);
    return stored;
  }

  /** The last event. Its id is unset where the service has not written it: the server removes its own some day. */
  async head(): Promise<EventPosition> {
    const [newest] = await this.#all(BACKWARDS, END, 1);
    return newest === undefined ? { position: 0 } : { position: positionOf(newest), eventId: decode(newest)?.event.id };
  }

  /**
   * Whether the node that answers has this event there. Without an id it is enough that the log goes on there, and that the
   * server takes it as a position between two events.
   */
  async has({ position, eventId }: EventPosition): Promise<boolean> {
    if (position === 0) return true;
    if ((await this.head()).position < position) return false;
    try {
      const [there] = await this.#all(FORWARDS, toLogPosition(position), 1);
      return eventId === undefined || there?.id === eventId;
    } catch (error) {
      if (error instanceof PositionRefusedError) return false;
      throw error;
    }
  }

  /** What comes after a position, up to an event that fills the page. @throws PositionRefusedError */
  async page(after: Position): Promise<{ readonly commits: readonly Commit[]; readonly isEnd: boolean }> {
    const endsAt = fullAt(PAGE_CHARACTERS);
    const read = await this.#all(FORWARDS, after === 0 ? START : toLogPosition(after), PAGE_EVENTS, endsAt);
    const commits: Commit[] = [];
    let open: RecordedEvent[] = [];
    let cut: StoredEvent | undefined;
    // The server begins with the event at the position, unless it was removed.
    for (const event of read.filter((each) => positionOf(each) > after)) {
      const stored = decode(event);
      if (stored !== undefined) open.push(...(await this.#visibleAt(stored)));
      cut = stored !== undefined && isInsideCall(stored) ? stored : undefined;
      if (cut !== undefined) continue;
      commits.push(commitOf(event, open));
      open = [];
    }
    // The page ends inside an append of one call, whose events follow each other.
    if (cut !== undefined) {
      const rest = await this.storedIn(cut.event.stream, cut.event.revision + 1, following(cut));
      const events = [...open, ...rest.map(({ event }) => event)];
      commits.push({
        events,
        position: rest.at(-1)?.event.position ?? cut.event.position,
        eventId: rest.at(-1)?.event.id,
      });
    }
    return { commits, isEnd: read.length < PAGE_EVENTS && !read.some(endsAt()) };
  }

  /** The events that show with this one: of an append in parts, all with the last one. */
  async #visibleAt(stored: StoredEvent): Promise<readonly RecordedEvent[]> {
    const { event, part } = stored;
    if (part?.split !== true) return [event];
    if (following(stored) > 0) return [];
    const whole = await this.storedIn(event.stream, event.revision - part.index, part.count);
    if (whole.length < part.count || whole.some((each, index) => each.part?.index !== index))
      throw new Error(`The append that ends at ${event.revision} of ${event.stream} has lost a part.`);
    return this.#complete(whole);
  }

  /**
   * Without the events of appends in parts that their writer gave up. Those of the others have the position of their last
   * part, at which they became visible (decision 0011).
   */
  async #complete(stored: readonly StoredEvent[]): Promise<readonly RecordedEvent[]> {
    const ends = new Map(stored.map((each) => [each.event.revision, each]));
    const events: RecordedEvent[] = [];
    for (const each of stored) {
      const { event, part } = each;
      if (part?.split !== true) {
        events.push(event);
        continue;
      }
      const revision = event.revision + following(each);
      const end = ends.get(revision) ?? (await this.storedIn(event.stream, revision, 1))[0];
      if (end !== undefined) ends.set(revision, end);
      if (end?.part?.append === part.append) events.push({ ...event, position: end.event.position });
    }
    return events;
  }

  /** The start of a subscription to what comes after a position: the server takes the first event at or after it as seen. */
  async startAfter(position: Position): Promise<typeof START | ReturnType<typeof toLogPosition>> {
    const [before] = position === 0 ? [] : await this.#all(BACKWARDS, toLogPosition(position), 1);
    return before === undefined ? START : toLogPosition(positionOf(before));
  }

  async #all(
    direction: Direction,
    fromPosition: typeof START | typeof END | ReturnType<typeof toLogPosition>,
    maxCount: number,
    endsAt?: EndsAt,
  ): Promise<readonly ClientEvent[]> {
    const options = { ...OF_LEADER, direction, fromPosition, maxCount } as const;
    // The end is always a position, so a refusal to read from there passes.
    const passes = fromPosition === END;
    try {
      return await this.#retried((client) => client.readAll(options), endsAt, passes);
    } catch (error) {
      throw toPortError(error);
    }
  }

  async #ofStream(
    stream: string,
    open: (client: StoreClient) => StreamingRead<ResolvedEvent>,
    endsAt?: EndsAt,
  ): Promise<readonly ClientEvent[]> {
    try {
      return await this.#retried(open, endsAt);
    } catch (error) {
      if (isMissingStream(error)) return [];
      throw toPortError(error, { stream });
    }
  }

  /** @param passes whether the refusal of a position is retried */
  #retried(
    open: (client: StoreClient) => StreamingRead<ResolvedEvent>,
    endsAt: EndsAt = () => () => false,
    passes = false,
  ): Promise<readonly ClientEvent[]> {
    const read = () => this.#server.run((client, answered) => this.#collect(open(client), endsAt(), answered));
    return retry(read, {
      until: Date.now() + this.#timeoutMs,
      backoff: CALL_BACKOFF,
      isTransient: (error) => isTransient(error) || (passes && isPositionRefused(error)),
    });
  }

  /** All events of a read, or those up to its end. Fails if the server is silent for longer than the time limit. */
  #collect(
    read: StreamingRead<ResolvedEvent>,
    isEnd: (event: ClientEvent) => boolean,
    answered: () => void,
  ): Promise<readonly ClientEvent[]> {
    return new Promise((resolve, reject) => {
      const events: ClientEvent[] = [];
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        read.off('data', take);
        settle();
      };
      // Not awaited: without an answer there may be no call to cancel yet.
      const cancel = (): void => void read.cancel().catch(() => undefined);
      const timer = setTimeout(() => {
        end(() => reject(new TimeLimitError(`the event store was silent for ${this.#timeoutMs} ms`)));
        cancel();
      }, this.#timeoutMs);
      const take = (resolved: ResolvedEvent): void => {
        const event: ClientEvent | undefined = resolved.event;
        answered();
        timer.refresh();
        if (event === undefined) return;
        events.push(event);
        if (!isEnd(event)) return;
        end(() => resolve(events));
        cancel();
      };
      read.on('data', take);
      read.on('end', () => end(() => resolve(events)));
      // Stays attached: the client reports some errors more than once.
      read.on('error', (error) => end(() => reject(error)));
    });
  }
}

export const commitOf = (last: ClientEvent, events: readonly RecordedEvent[]): Commit => ({
  events,
  position: positionOf(last),
  eventId: decode(last) && last.id,
});
