import { BACKWARDS, END, FORWARDS, type ResolvedEvent, START, type StreamingRead } from '@eventstore/db-client';
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
import { isMissingStream, isPositionRefused, isTransient, PositionRefusedError, toPortError } from './errors.js';
import { CALL_BACKOFF, OF_LEADER, type Server } from './server.js';

/** Events that a page of the log has at most. */
const PAGE_EVENTS = 1_000;
/** The characters of data that fill a page. */
export const PAGE_CHARACTERS = 4_000_000;

/** What became visible at one position of the log: the events of an append, or none where the event is not the service's. */
export type Commit = EventPosition & { readonly events: readonly RecordedEvent[] };

/** The end of a stream: its last revision, that of complete appends (-1 if there is none), and the latter's position. */
type Tail = { readonly stored: Revision; readonly visible: Revision; readonly position: Position };

/** Whether a read ends with this event. @param characters of the data of all that were read, this one included */
type IsLast = (event: ClientEvent, characters: number) => boolean;

/** Of the events that there are. `isCut`: a limit or `IsLast` ended the read. */
type Read = { readonly events: readonly ClientEvent[]; readonly isCut: boolean };

const isFullSlice: IsLast = (_, characters) => characters >= READ_SLICE_BYTES;
const isFullPage: IsLast = (_, characters) => characters >= PAGE_CHARACTERS;

/** The last event of a complete append. */
const isEndOfAppend = (event: ClientEvent): boolean => {
  const stored = decode(event);
  return stored === undefined || following(stored) === 0;
};

const decoded = (events: readonly ClientEvent[]): readonly StoredEvent[] =>
  events.flatMap((event) => decode(event) ?? []);

/** Finite reads of the server's log. Each is retried for `timeoutMs` while the server is away. */
export class LogReader {
  readonly #server: Server;
  readonly #timeoutMs: number;

  constructor(server: Server, timeoutMs: number) {
    this.#server = server;
    this.#timeoutMs = timeoutMs;
  }

  /** See `EventStore.readStream`. */
  async stream(stream: string, from: Revision, to: Revision): Promise<readonly RecordedEvent[]> {
    return to < from ? [] : this.#complete(await this.storedIn(stream, from, to - from + 1));
  }

  /** See `EventStore.readSlice`. */
  async slice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): Promise<StreamSlice> {
    if (to < from) return { events: [] };
    const count = Math.min(maxCount, to - from + 1);
    const [first, direction] = backwards ? ([to, BACKWARDS] as const) : ([from, FORWARDS] as const);
    const options = { fromRevision: BigInt(first), direction, maxCount: count };
    const { events: read, isCut } = await this.#ofStream(stream, options, isFullSlice);
    const events = await this.#complete(decoded(backwards ? read.toReversed() : read));
    const last = read.at(-1);
    if (last === undefined || !isCut) return { events };
    const next = Number(last.revision) + (backwards ? -1 : 1);
    return next < from || next > to ? { events } : { events, next };
  }

  /** Everything stored in a stream from a revision on, including parts of unfinished appends. */
  async storedIn(stream: string, from: Revision, maxCount: number): Promise<readonly StoredEvent[]> {
    return decoded((await this.#ofStream(stream, { fromRevision: BigInt(from), maxCount })).events);
  }

  /** Events of one of this adapter's own streams, not decoded. */
  async rawStream(stream: string): Promise<readonly ClientEvent[]> {
    return (await this.#ofStream(stream, {})).events;
  }

  /** See `EventStore.readBackwards`. A position that the server does not know has nothing before it. */
  async backwards(maxCount: number, before?: Position): Promise<BackwardSlice> {
    const from = before === undefined ? END : toLogPosition(before);
    try {
      const { events: read, isCut } = await this.#ofLog(from, BACKWARDS, maxCount, isFullSlice);
      const stored = decoded(read);
      const visible = new Set((await this.#complete(stored)).map(({ id }) => id));
      const events = stored.flatMap(({ event }) => (visible.has(event.id) ? [event] : []));
      const last = read.at(-1);
      return last === undefined || !isCut ? { events } : { events, next: positionOf(last) };
    } catch (error) {
      if (error instanceof PositionRefusedError) return { events: [] };
      throw error;
    }
  }

  /** See `EventStore.lastAppend`. */
  async lastAppend(stream: string): Promise<AppendResult | undefined> {
    const { visible: revision, position } = await this.tail(stream);
    return revision < 0 ? undefined : { revision, position };
  }

  /** Goes back from the end of a stream over appends of an earlier release that were given up. */
  async tail(stream: string): Promise<Tail> {
    const fromEnd = { fromRevision: END, direction: BACKWARDS } as const;
    let { events } = await this.#ofStream(stream, { ...fromEnd, maxCount: 1 });
    if (!events.every(isEndOfAppend)) events = (await this.#ofStream(stream, fromEnd, isEndOfAppend)).events;
    const last = events.find(isEndOfAppend);
    const stored = Number(events[0]?.revision ?? -1);
    return last === undefined
      ? { stored, visible: -1, position: 0 }
      : { stored, visible: Number(last.revision), position: positionOf(last) };
  }

  /** The last event. Its id is unset where the service has not written it: the server removes its own some day. */
  async head(): Promise<EventPosition> {
    const [newest] = (await this.#ofLog(END, BACKWARDS, 1)).events;
    return newest === undefined ? { position: 0 } : commitOf(newest, []);
  }

  /**
   * Whether the node that answers has this event there. Without an id it is enough that the log goes on there, and that the
   * server takes it as a position between two events.
   */
  async has({ position, eventId }: EventPosition): Promise<boolean> {
    if (position === 0) return true;
    if ((await this.head()).position < position) return false;
    try {
      const [there] = (await this.#ofLog(toLogPosition(position), FORWARDS, 1)).events;
      return eventId === undefined || there?.id === eventId;
    } catch (error) {
      if (error instanceof PositionRefusedError) return false;
      throw error;
    }
  }

  /** What comes after a position, up to an event that fills the page. @throws PositionRefusedError */
  async page(after: Position): Promise<{ readonly commits: readonly Commit[]; readonly isEnd: boolean }> {
    const from = after === 0 ? START : toLogPosition(after);
    const read = await this.#ofLog(from, FORWARDS, PAGE_EVENTS, isFullPage);
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
      const rest = await this.storedIn(cut.event.stream, cut.event.revision + 1, following(cut));
      const { position, id: eventId } = (rest.at(-1) ?? cut).event;
      commits.push({ events: [...open, ...rest.map(({ event }) => event)], position, eventId });
    }
    return { commits, isEnd: !read.isCut };
  }

  /** The start of a subscription to what comes after a position: the server takes the first event at or after it as seen. */
  async startAfter(position: Position): Promise<typeof START | ReturnType<typeof toLogPosition>> {
    const [before] = position === 0 ? [] : (await this.#ofLog(toLogPosition(position), BACKWARDS, 1)).events;
    return before === undefined ? START : toLogPosition(positionOf(before));
  }

  /** The events that show with this one: of an append in parts, all with the last one. */
  async #shownWith(stored: StoredEvent): Promise<readonly RecordedEvent[]> {
    const { event, part } = stored;
    if (part?.split !== true) return [event];
    if (following(stored) > 0) return [];
    return this.#complete(await this.storedIn(event.stream, event.revision - part.index, part.count));
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
      if (part?.split !== true) events.push(event);
      else {
        const revision = event.revision + following(each);
        const end = ends.get(revision) ?? (await this.storedIn(event.stream, revision, 1))[0];
        if (end === undefined || end.part?.append !== part.append) continue;
        ends.set(revision, end);
        events.push({ ...event, position: end.event.position });
      }
    }
    return events;
  }

  #ofLog(
    fromPosition: typeof START | typeof END | ReturnType<typeof toLogPosition>,
    direction: typeof FORWARDS | typeof BACKWARDS,
    maxCount: number,
    isLast?: IsLast,
  ): Promise<Read> {
    const options = { ...OF_LEADER, direction, fromPosition, maxCount };
    // The end is always a position, so a refusal to read from there passes.
    const mayPass = (error: unknown): boolean =>
      isTransient(error) || (fromPosition === END && isPositionRefused(error));
    return this.#read((client) => client.readAll(options), maxCount, isLast, mayPass);
  }

  #ofStream(stream: string, options: Parameters<StoreClient['readStream']>[1], isLast?: IsLast): Promise<Read> {
    const leading = { ...OF_LEADER, ...options };
    return this.#read((client) => client.readStream(stream, leading), options?.maxCount, isLast);
  }

  /** @param mayPass whether a read that failed so is repeated */
  async #read(
    open: (client: StoreClient) => StreamingRead<ResolvedEvent>,
    maxCount: number | bigint | undefined,
    isLast: IsLast = () => false,
    mayPass: (error: unknown) => boolean = isTransient,
  ): Promise<Read> {
    const until = Date.now() + this.#timeoutMs;
    const read = () => this.#server.run((client, answered) => this.#collect(open(client), isLast, answered));
    try {
      const { events, isCut } = await retry(read, { until, backoff: CALL_BACKOFF, isTransient: mayPass });
      return { events, isCut: isCut || events.length === maxCount };
    } catch (error) {
      if (isMissingStream(error)) return { events: [], isCut: false };
      throw toPortError(error);
    }
  }

  /** @throws TimeLimitError where the server is silent for the time limit */
  async #collect(read: StreamingRead<ResolvedEvent>, isLast: IsLast, answered: () => void): Promise<Read> {
    const events: ClientEvent[] = [];
    let characters = 0;
    const isSilent = new TimeLimitError(`the event store was silent for ${this.#timeoutMs} ms`);
    const silence = setTimeout(() => read.destroy(isSilent), this.#timeoutMs);
    // The client reports some errors more than once.
    read.on('error', () => undefined);
    try {
      for await (const { event } of read) {
        answered();
        silence.refresh();
        if (event === undefined) continue;
        events.push(event);
        characters += charactersOf(event.data);
        if (isLast(event, characters)) return { events, isCut: true };
      }
      return { events, isCut: false };
    } finally {
      clearTimeout(silence);
      // Not awaited: without an answer there may be no call to cancel yet.
      void read.cancel().catch(() => undefined);
    }
  }
}

/** @param events what became visible with this event of the log */
export const commitOf = (last: ClientEvent, events: readonly RecordedEvent[]): Commit => ({
  events,
  position: positionOf(last),
  eventId: decode(last)?.event.id,
});
