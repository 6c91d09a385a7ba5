import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { type EventStoreDBClient, type Filter, streamNameFilter } from '@eventstore/db-client';
import {
  type EventSlice,
  EventStoreUnavailableError,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { Assembly } from './assembly.js';
import { type ClientEvent, decode, positionOf, toPosition } from './encoding.js';
import { isPassing, toPortError } from './errors.js';
import { Feed } from './feed.js';
import { type LogReads, OF_LEADER } from './logReads.js';
import { Progress } from './progress.js';
import { Backoff, pause } from './timeLimit.js';
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
/** At most this often a slice without events is yielded during the catch-up, in milliseconds. */
const EMPTY_SLICE_MS = 250;
/** How soon an idle subscription looks whether the log has grown by events it does not want, in milliseconds. */
const IDLE_MS = 200;
const MOST_IDLE_MS = 2_000;

/** See `EventStore.subscribe`. Goes on by itself from where it stands when the server was away. */
export async function* subscribe(parts: SubscriptionParts, options: SubscribeOptions): AsyncGenerator<EventSlice> {
  const { signal } = options;
  const retry = new Backoff(100, 5_000);
  const idle = new Backoff(IDLE_MS, MOST_IDLE_MS);
  let position = options.after;
  let first = true;
  let awaySince: number | undefined;
  while (!signal.aborted) {
    try {
      for await (const slice of connect(parts, { ...options, after: position }, first, idle)) {
        position = slice.position;
        first = false;
        awaySince = undefined;
        retry.reset();
        yield slice;
        if (signal.aborted) return;
      }
    } catch (error) {
      awaySince ??= Date.now();
      if (!isPassing(error) || Date.now() - awaySince > parts.patienceMs) throw toPortError(error);
      await pause(retry.next(), signal);
    }
  }
}

/**
 * One connection. Ends, in order to be opened anew, when the log has grown by events that the filter leaves out and
 * the server says nothing of them: the catch-up that follows proves that none of them is wanted (see Progress).
 */
async function* connect(
  parts: SubscriptionParts,
  options: SubscribeOptions,
  first: boolean,
  idle: Backoff,
): AsyncGenerator<EventSlice> {
  const { after, signal, maxCount = DEFAULT_SLICE_COUNT } = options;
  const progress = new Progress(after, await parts.reads.head());
  const fromPosition = await parts.reads.startAfter(after);
  if (signal.aborted) return;
  const feed = new Feed((checkpointReached) =>
    parts.client.subscribeToAll(
      { ...OF_LEADER, fromPosition, filter: filterOf(options.streamPrefixes, checkpointReached) },
      { highWaterMark: BUFFERED_EVENTS },
    ),
  );
  const collected = new Collected(parts.reads, progress, after);
  let live = false;
  let sliceDue = first;
  let lastSliceAt = Date.now();
  const slice = (): EventSlice => {
    sliceDue = false;
    lastSliceAt = Date.now();
    return collected.takeSlice(live);
  };
  try {
    while (!signal.aborted) {
      const item = feed.take();
      if (item?.kind === 'event') {
        await collected.add(item.event);
        if (collected.count >= maxCount || collected.weight >= SLICE_WEIGHT) yield slice();
      } else if (item?.kind === 'checkpoint') {
        collected.checkpoint(toPosition(item.commit));
        if (collected.moved && Date.now() - lastSliceAt >= EMPTY_SLICE_MS) yield slice();
      } else if (item?.kind === 'caught up') {
        live = true;
        collected.caughtUp();
        if (sliceDue || collected.moved) yield slice();
      } else if (collected.count > 0) {
        // What the server sends in one go reaches this process in several turns.
        await eventLoopTurn();
        if (!(await feed.came(0, signal))) {
          idle.reset();
          yield slice();
        }
      } else if (
        live ? await leftBehind(parts.reads, feed, collected, signal, idle) : await silent(parts, feed, signal)
      ) {
        return;
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
  { position }: { readonly position: Position },
  signal: AbortSignal,
  idle: Backoff,
): Promise<boolean> {
  const wait = idle.next();
  if (await feed.came(wait, signal)) return false;
  if (signal.aborted) return false;
  if ((await reads.head()) > position) return !(await feed.came(0, signal));
  idle.reset();
  return false;
}

/** Waits for more during the catch-up, where the server is never silent for long. */
async function silent({ timeoutMs }: SubscriptionParts, feed: Feed, signal: AbortSignal): Promise<false> {
  if (!(await feed.came(timeoutMs, signal)) && !signal.aborted) {
    throw new EventStoreUnavailableError(`The event store was silent for ${timeoutMs} ms.`);
  }
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

  get position(): Position {
    return this.#progress.position;
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

function filterOf(
  streamPrefixes: readonly string[] | undefined,
  checkpointReached: (_: unknown, position: { readonly commit: bigint; readonly prepare: bigint }) => void,
): Filter {
  const reporting = { checkpointReached, checkpointInterval: 1, maxSearchWindow: SEARCH_WINDOW };
  if (streamPrefixes === undefined) return streamNameFilter({ ...reporting, regex: '^[^$]' });
  // The server refuses a filter without prefixes; no stream has this name.
  const prefixes = streamPrefixes.length === 0 ? ['$-none-'] : [...streamPrefixes];
  return streamNameFilter({ ...reporting, prefixes });
}
