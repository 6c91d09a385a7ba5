import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { type EventStoreDBClient, streamNameFilter } from '@eventstore/db-client';
import {
  type EventSlice,
  EventStoreUnavailableError,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { Backoff, sleep } from '../../../supervision/backoff.js';
import { Assembly } from './assembly.js';
import { type ClientEvent, decode, positionOf, toPosition } from './encoding.js';
import { isTransient, toPortError } from './errors.js';
import { Feed } from './feed.js';
import { type LogReads, OF_LEADER, type StartPosition } from './logReads.js';
import { Progress } from './progress.js';
import { weightOf } from './weight.js';

export type SubscriptionParts = {
  readonly client: EventStoreDBClient;
  readonly reads: LogReads;
  /** How long the server may be silent where it has something to say, in milliseconds. */
  readonly timeoutMs: number;
  /** How long a subscription rides out that the server is away, in milliseconds. */
  readonly patienceMs: number;
};

const DEFAULT_SLICE_COUNT = 500;
/** Characters of data after which a slice ends. */
const SLICE_WEIGHT = 4_000_000;
/** Events that wait in memory for a consumer that is busy. */
const BUFFERED_EVENTS = 32;
/** Events that the server passes over before it tells so. */
const SEARCH_WINDOW = 500;
/** At most this often a slice that is not full is yielded during the catch-up, in milliseconds. */
const SLOW_SLICE_MS = 250;
/** How soon an idle subscription looks whether the log has grown by events it does not want, in milliseconds. */
const IDLE_BACKOFF = { firstMs: 200, longestMs: 2_000 };
/** Between attempts to subscribe while the server is away. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 5_000 };

/** What a subscription knows from one connection to the next. */
type Standing = {
  position: Position;
  /** Whether the reader's last slice said that it reached the head of the log. */
  toldCaughtUp: boolean;
  /** Since when the server has been away, in milliseconds since 1970; undefined while it is there. */
  awaySince: number | undefined;
  readonly idle: Backoff;
  readonly retry: Backoff;
};

/** See `EventStore.subscribe`. Goes on by itself from where it stands when the server was away. */
export async function* subscribe(parts: SubscriptionParts, options: SubscribeOptions): AsyncGenerator<EventSlice> {
  const { signal } = options;
  const standing: Standing = {
    position: options.after,
    toldCaughtUp: false,
    awaySince: undefined,
    idle: new Backoff(IDLE_BACKOFF),
    retry: new Backoff(RETRY_BACKOFF),
  };
  while (!signal.aborted) {
    try {
      for await (const slice of connect(parts, options, standing)) {
        yield slice;
        if (signal.aborted) return;
      }
    } catch (error) {
      standing.awaySince ??= Date.now();
      if (!isTransient(error) || Date.now() - standing.awaySince > parts.patienceMs) throw toPortError(error);
      await sleep(standing.retry.next(), signal);
    }
  }
}

/**
 * One connection. Ends, in order to be opened anew, when the log has grown by events that the filter leaves out and
 * the server says nothing of them: the catch-up that follows proves that none of them is wanted (see Progress).
 */
async function* connect(
  parts: SubscriptionParts,
  { streamPrefixes, signal, maxCount = DEFAULT_SLICE_COUNT }: SubscribeOptions,
  standing: Standing,
): AsyncGenerator<EventSlice> {
  const progress = new Progress(standing.position, await parts.reads.head());
  const fromPosition = await parts.reads.startAfter(standing.position);
  if (signal.aborted) return;
  const feed = openFeed(parts.client, fromPosition, streamPrefixes);
  const collected = new Collected(parts.reads, progress, standing.position);
  let live = false;
  let lastSliceAt = Date.now();
  const slice = (caughtUp: boolean): EventSlice => {
    const taken = collected.takeSlice(caughtUp);
    standing.position = taken.position;
    standing.toldCaughtUp = caughtUp;
    lastSliceAt = Date.now();
    return taken;
  };
  try {
    while (!signal.aborted) {
      const item = feed.take();
      if (item !== undefined) standing.awaySince = undefined;
      if (item?.kind === 'event') {
        await collected.add(item.event);
        if (collected.count >= maxCount || collected.weight >= SLICE_WEIGHT) yield slice(false);
      } else if (item?.kind === 'checkpoint') {
        collected.checkpoint(toPosition(item.commit));
        if (collected.moved && Date.now() - lastSliceAt >= SLOW_SLICE_MS) yield slice(false);
      } else if (item?.kind === 'caught up') {
        live = true;
        standing.retry.reset();
        collected.caughtUp();
      } else if (live && (collected.moved || !standing.toldCaughtUp)) {
        // What the server sends in one go reaches this process in several turns.
        await eventLoopTurn();
        if (feed.hasMore) continue;
        if (collected.count > 0) standing.idle.reset();
        yield slice(true);
      } else if (live) {
        if (await leftBehind(parts.reads, feed, standing, signal)) return;
      } else if (!(await feed.came(collected.moved ? SLOW_SLICE_MS : parts.timeoutMs, signal)) && !signal.aborted) {
        // During the catch-up the server is never silent for long.
        if (!collected.moved)
          throw new EventStoreUnavailableError(`The event store was silent for ${parts.timeoutMs} ms.`);
        yield slice(false);
      }
    }
  } finally {
    feed.close();
  }
}

/** Waits for more. True when, instead, the log has grown by what this subscription does not hear of. */
async function leftBehind(
  reads: LogReads,
  feed: Feed,
  { position, idle }: Standing,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await feed.came(idle.next(), signal)) || signal.aborted) return false;
  if ((await reads.head()) > position) return !feed.hasMore;
  idle.reset();
  return false;
}

/** Whole appends on their way into a slice, and the position that goes with them. */
class Collected {
  readonly #assembly: Assembly;
  readonly #progress: Progress;
  readonly #after: Position;
  #reported: Position;
  #events: RecordedEvent[] = [];
  #weight = 0;

  constructor(reads: LogReads, progress: Progress, after: Position) {
    this.#assembly = new Assembly(({ event, part }) => {
      const count = part?.count ?? 1;
      return reads.storedIn(event.stream, event.revision - count + 1, count);
    });
    this.#progress = progress;
    this.#after = after;
    this.#reported = after;
  }

  get count(): number {
    return this.#events.length;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Whether there is something to report. */
  get moved(): boolean {
    return this.count > 0 || this.#progress.position > this.#reported;
  }

  async add(event: ClientEvent): Promise<void> {
    const position = positionOf(event);
    // The subscription starts before the position it was asked for (see LogReads.startAfter).
    if (position <= this.#after) return;
    const stored = decode(event);
    const append = stored === undefined ? undefined : await this.#assembly.add(stored);
    if (append !== undefined) {
      this.#events.push(...append);
      for (const { data } of append) this.#weight += weightOf(data);
    }
    // Parts of a split append that come before its last one need not be seen again: they are read back.
    if (!this.#assembly.midAppend) this.#progress.delivered(position);
  }

  checkpoint(position: Position): void {
    if (!this.#assembly.midAppend) this.#progress.checkpoint(position);
  }

  caughtUp(): void {
    if (!this.#assembly.midAppend) this.#progress.caughtUp();
  }

  takeSlice(caughtUp: boolean): EventSlice {
    const slice = { events: this.#events, position: this.#progress.position, caughtUp };
    this.#events = [];
    this.#weight = 0;
    this.#reported = slice.position;
    return slice;
  }
}

function openFeed(
  client: EventStoreDBClient,
  fromPosition: StartPosition,
  streamPrefixes: readonly string[] | undefined,
): Feed {
  return new Feed((checkpointReached) => {
    const reports = { checkpointReached, checkpointInterval: 1, maxSearchWindow: SEARCH_WINDOW };
    const filter =
      streamPrefixes === undefined
        ? // All but the server's own streams.
          streamNameFilter({ ...reports, regex: '^[^$]' })
        : // The server refuses an empty list; no stream has the name given instead.
          streamNameFilter({ ...reports, prefixes: streamPrefixes.length === 0 ? ['$-none-'] : [...streamPrefixes] });
    return client.subscribeToAll({ ...OF_LEADER, fromPosition, filter }, { highWaterMark: BUFFERED_EVENTS });
  });
}
