import {
  BACKWARDS,
  type Direction,
  END,
  type EventStoreDBClient,
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
import { OF_LEADER } from './appendingClient.js';
import { type ClientEvent, decode, isSystem, positionOf, toLogPosition } from './encoding.js';
import {
  CALL_BACKOFF,
  isMissingStream,
  isPositionRefused,
  isTransient,
  PositionRefusedError,
  toPortError,
} from './errors.js';
import type { Finding } from './knownLog.js';
import type { Leader } from './leader.js';
import { findTail, partsMissing, type StoredEvent, type Tail, visible } from './splitAppends.js';

/** How many events `head` reads back to find one that is not the server's own. */
const LOOK_BACK = [1, 32, 256];

type OpenRead<E> = (client: EventStoreDBClient) => StreamingRead<E>;

/** Called for each attempt to read; returns a function that is given each event, and says whether the read ends with it. */
type EndsAt<E> = () => (event: E) => boolean;
const AT_LAST = () => () => false;

/** Start of a read or a subscription on the server. */
export type StartPosition = typeof START | ReturnType<typeof toLogPosition>;

/** Finite reads of the server's log. Each is retried for `timeoutMs` while the server is away. */
export class LogReader {
  readonly #leader: Leader;
  readonly #timeoutMs: number;
  readonly #onTrouble: () => void;

  /** @param onTrouble called for each attempt that failed while the server may be away */
  constructor(leader: Leader, timeoutMs: number, onTrouble: () => void) {
    this.#leader = leader;
    this.#timeoutMs = timeoutMs;
    this.#onTrouble = onTrouble;
  }

  /** Events of a stream's complete appends, from a revision on, or within a range. */
  async stream(stream: string, fromRevision: Revision, toRevision?: Revision): Promise<readonly RecordedEvent[]> {
    if (toRevision === undefined) return visible(await this.storedIn(stream, fromRevision));
    if (toRevision < fromRevision) return [];
    return this.#whole(stream, await this.storedIn(stream, fromRevision, toRevision - fromRevision + 1));
  }

  /** See `EventStore.readSlice`. The call is given up at the event that fills the slice: the server sends no more of them. */
  async slice(stream: string, { from, to, maxCount, backwards = false }: SliceRange): Promise<StreamSlice> {
    if (to < from) return { events: [] };
    const options = {
      ...OF_LEADER,
      maxCount: Math.min(maxCount, to - from + 1),
      fromRevision: BigInt(backwards ? to : from),
      direction: backwards ? BACKWARDS : FORWARDS,
    } as const;
    let isFull = false;
    const read = await this.#streamEvents(
      stream,
      (client) => client.readStream(stream, options),
      () => {
        let characters = 0;
        return ({ event }) => {
          characters += charactersOf(event?.data);
          isFull = characters >= READ_SLICE_BYTES;
          return isFull;
        };
      },
    );
    const last = read.at(-1);
    const isEnd = last === undefined || (read.length < options.maxCount && !isFull);
    const next = Number(last?.revision ?? 0) + (backwards ? -1 : 1);
    const stored = (backwards ? read.toReversed() : read).flatMap((event) => decode(event) ?? []);
    const events = await this.#whole(stream, stored);
    return isEnd || next < from || next > to ? { events } : { events, next };
  }

  /** The events of complete appends. Whether the last append is complete shows at its last part, which may be after them. */
  async #whole(stream: string, stored: readonly StoredEvent[]): Promise<readonly RecordedEvent[]> {
    const missing = partsMissing(stored);
    const last = stored.at(-1);
    if (last === undefined || missing === 0) return visible(stored);
    const [end] = await this.storedIn(stream, last.event.revision + missing, 1);
    return visible(stored, end);
  }

  /** Everything stored in a stream from a revision on, including parts of unfinished appends. */
  async storedIn(stream: string, fromRevision: Revision, maxCount?: number): Promise<readonly StoredEvent[]> {
    const count = maxCount === undefined ? {} : { maxCount };
    const events = await this.#streamEvents(stream, (client) =>
      client.readStream(stream, { ...OF_LEADER, fromRevision: BigInt(fromRevision), ...count }),
    );
    return events.flatMap((event) => decode(event) ?? []);
  }

  /** Events of one of this adapter's own streams, not decoded. */
  async rawStream(stream: string): Promise<readonly ClientEvent[]> {
    return this.#streamEvents(stream, (client) => client.readStream(stream, OF_LEADER));
  }

  /** See `EventStore.readBackwards`. A position that the server does not know has nothing before it. */
  async backwards(maxCount: number, before?: Position): Promise<BackwardSlice> {
    let characters = 0;
    const isFull = ({ event }: ResolvedEvent): boolean => {
      characters += charactersOf(event?.data);
      return characters >= READ_SLICE_BYTES;
    };
    try {
      const from = before === undefined ? END : toLogPosition(before);
      const read = await this.#all(BACKWARDS, from, maxCount, () => {
        characters = 0;
        return isFull;
      });
      const complete = new Map<string, boolean>();
      const events: RecordedEvent[] = [];
      for (const { event, part } of read.flatMap((each) => decode(each) ?? [])) {
        if (part?.split === true && !complete.has(part.append)) {
          const [end] = await this.storedIn(event.stream, event.revision + part.count - 1 - part.index, 1);
          complete.set(part.append, end?.part?.append === part.append);
        }
        if (part?.split !== true || complete.get(part.append) === true) events.push(event);
      }
      const last = read.at(-1);
      const isStart = last === undefined || (read.length < maxCount && characters < READ_SLICE_BYTES);
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

  async tail(stream: string): Promise<Tail> {
    return findTail(async (revision) => {
      const fromRevision = revision === 'end' ? END : BigInt(revision);
      const options = { ...OF_LEADER, direction: BACKWARDS, fromRevision, maxCount: 1 } as const;
      const [event] = await this.#streamEvents(stream, (client) => client.readStream(stream, options));
      return event === undefined ? undefined : (decode(event) ?? throwForeign(event));
    });
  }

  /**
   * The last event that is not the server's own; the server's own if no other is near. It never goes back: an event
   * that was passed over is not returned later.
   */
  async head(): Promise<EventPosition> {
    let newest: ClientEvent | undefined;
    for (const maxCount of LOOK_BACK) {
      const events = await this.#all(BACKWARDS, END, maxCount);
      newest = events[0];
      const own = events.find((event) => !isSystem(event.streamId));
      if (own !== undefined) return { position: positionOf(own), eventId: own.id };
      if (events.length < maxCount) break;
    }
    return { position: newest === undefined ? 0 : positionOf(newest) };
  }

  /**
   * Looks once for a place. The server removes old events of its own. So for a place without an event id it is enough
   * that the log continues after it, and that the server accepts it as a position between two events.
   */
  async look({ position, eventId }: EventPosition): Promise<Finding> {
    if (position === 0) return { kind: 'held' };
    const [newest] = await this.#all(BACKWARDS, END, 1);
    const end = newest === undefined ? { position: 0 } : placeOf(newest);
    if (end.position < position) return { kind: 'lacking', end };
    try {
      const [there] = await this.#all(FORWARDS, toLogPosition(position), 1);
      if (eventId === undefined || there?.id === eventId) return { kind: 'held' };
      if (there === undefined || positionOf(there) !== position) return { kind: 'lacking', end };
      return { kind: 'other event', there: placeOf(there) };
    } catch (error) {
      if (error instanceof PositionRefusedError) return { kind: 'lacking', end };
      throw error;
    }
  }

  /**
   * The start for a subscription to everything after a position. The server treats the event at the start as seen or,
   * if it was scavenged, the next one, which would be lost. So the start is the event before, and the subscriber skips
   * events it knows.
   * @throws PositionRefusedError, and what reading throws
   */
  async startAfter(position: Position): Promise<StartPosition> {
    if (position === 0) return START;
    const [before] = await this.#all(BACKWARDS, toLogPosition(position), 1);
    return before === undefined ? START : toLogPosition(positionOf(before));
  }

  async #all(
    direction: Direction,
    fromPosition: typeof END | ReturnType<typeof toLogPosition>,
    maxCount: number,
    endsAt?: EndsAt<ResolvedEvent>,
  ) {
    const options = { ...OF_LEADER, direction, fromPosition, maxCount } as const;
    // The end is always a position, so a refusal to read from there passes.
    const resolved = await this.#retried<ResolvedEvent>((client) => client.readAll(options), {
      passes: fromPosition === END,
      endsAt,
    });
    return resolved.flatMap(({ event }): ClientEvent[] => (event === undefined ? [] : [event]));
  }

  async #streamEvents(
    stream: string,
    open: OpenRead<ResolvedEvent>,
    endsAt?: EndsAt<ResolvedEvent>,
  ): Promise<readonly ClientEvent[]> {
    try {
      const resolved = await this.#retried(open, { stream, endsAt });
      return resolved.flatMap(({ event }) => (event === undefined ? [] : [event as ClientEvent]));
    } catch (error) {
      if (isMissingStream(error)) return [];
      throw error;
    }
  }

  /** All events of a read, or those up to its end. Fails if the server is silent for longer than the time limit. */
  #collect<E>(read: StreamingRead<E>, isEnd: (event: E) => boolean): Promise<readonly E[]> {
    return new Promise((resolve, reject) => {
      const events: E[] = [];
      const timer = setTimeout(() => {
        reject(new TimeLimitError(`the event store was silent for ${this.#timeoutMs} ms`));
        // Not awaited: without an answer there may be no call to cancel yet.
        void read.cancel().catch(() => undefined);
      }, this.#timeoutMs);
      const take = (event: E): void => {
        events.push(event);
        timer.refresh();
        if (!isEnd(event)) return;
        read.off('data', take);
        clearTimeout(timer);
        resolve(events);
        void read.cancel().catch(() => undefined);
      };
      read.on('data', take);
      read.on('end', () => {
        clearTimeout(timer);
        resolve(events);
      });
      // Stays attached: the client reports some errors more than once.
      read.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }

  /** @param about.passes whether the refusal of a position is retried */
  async #retried<E>(
    open: OpenRead<E>,
    {
      stream,
      endsAt = AT_LAST,
      passes = false,
    }: { readonly stream?: string; readonly endsAt?: EndsAt<E> | undefined; readonly passes?: boolean },
  ): Promise<readonly E[]> {
    const read = () => this.#leader.run((client) => this.#collect(open(client), endsAt()));
    const isTrouble = (error: unknown): boolean => {
      if (!isTransient(error) && !(passes && isPositionRefused(error))) return false;
      this.#onTrouble();
      return true;
    };
    try {
      return await retry(read, {
        until: Date.now() + this.#timeoutMs,
        backoff: CALL_BACKOFF,
        isTransient: isTrouble,
      });
    } catch (error) {
      throw isMissingStream(error) ? error : toPortError(error, { stream });
    }
  }
}

/** If another program wrote the last event, the stream is not ours. */
function throwForeign(event: ClientEvent): StoredEvent {
  throw new Error(`The event ${event.revision} of ${event.streamId} was not written by this service.`);
}

const placeOf = (event: ClientEvent): EventPosition => ({ position: positionOf(event), eventId: event.id });
