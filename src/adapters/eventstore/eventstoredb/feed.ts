/**
 * New events of the log, read once for all subscriptions of a process: one subscription to `$all`, without a filter. Each
 * subscription filters for itself, and so learns the log's position even if its own streams have no events.
 */

import { charactersOf } from '../../../domain/jsonSize.js';
import {
  DEFAULT_SLICE_COUNT,
  type EventPosition,
  type EventSlice,
  EventStoreUnavailableError,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { Backoff } from '../../../supervision/keepRunning.js';
import { sleep, WakeUp } from '../../../supervision/waiting.js';
import { type ClientEvent, decode, isInsideCall, positionOf } from './encoding.js';
import { isPositionRefused, isTransient, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import { type Commit, commitOf, type LogReader, PAGE_CHARACTERS } from './logReader.js';
import { OF_LEADER, type Server } from './server.js';

export type FeedParts = {
  readonly server: Server;
  readonly reader: LogReader;
  readonly log: KnownLog;
  /** How long a subscription waits for a server that is away, in milliseconds. */
  readonly patienceMs: number;
};

/** Between attempts to read on while the server is away. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 2_000 };
/** How often the feed looks whether the log has grown by events that it does not get, in milliseconds. */
const LOOK_MS = 5_000;
/** What a commit without events counts in the feed's memory, in characters. */
const COMMIT_CHARACTERS = 100;

/** Reads the log on, again after each outage, until the signal aborts. @throws after `patienceMs` without the server */
async function persist<T>(
  { log, patienceMs }: FeedParts,
  signal: AbortSignal,
  place: () => EventPosition,
  read: () => Promise<T>,
): Promise<T | undefined> {
  const backoff = new Backoff(RETRY_BACKOFF);
  let from: Position | undefined;
  for (let awaySince = Date.now(); !signal.aborted; ) {
    try {
      await log.check();
      return await read();
    } catch (error) {
      log.connectionLost();
      if (place().position !== from) [from, awaySince] = [place().position, Date.now()];
      if (isPositionRefused(error)) await log.confirm(place());
      else if (!isTransient(error) || Date.now() - awaySince > patienceMs) throw toPortError(error);
      await sleep(backoff.next(), signal);
    }
  }
  return undefined;
}

/** Stored events from a position to the end of the log, then what the feed brings. */
export async function* subscribe(
  parts: FeedParts & { readonly feed: Feed },
  options: SubscribeOptions,
): AsyncGenerator<EventSlice> {
  const { signal } = options;
  let place: EventPosition = { position: options.after };
  while (!signal.aborted) {
    for (let isEnd = false; !isEnd; ) {
      const page = await persist(
        parts,
        signal,
        () => place,
        () => parts.reader.page(place.position),
      );
      if (page === undefined) return;
      isEnd = page.isEnd;
      for (const slice of slicesOf(page.commits, place, options, isEnd)) {
        place = slice;
        parts.log.note(slice);
        yield slice;
        if (signal.aborted) return;
      }
    }
    for await (const commits of parts.feed.follow(place, signal)) {
      for (const slice of slicesOf(commits, place, options, true)) {
        place = slice;
        yield slice;
        if (signal.aborted) return;
      }
    }
  }
}

/** The matching events of these commits: one slice at least, which may be empty. */
function* slicesOf(
  commits: readonly Commit[],
  after: EventPosition,
  { streamPrefixes, accepts = () => true, maxCount = DEFAULT_SLICE_COUNT }: SubscribeOptions,
  isEnd: boolean,
): Generator<EventSlice> {
  const matches = ({ stream }: RecordedEvent): boolean =>
    (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && accepts(stream);
  let events: RecordedEvent[] = [];
  for (const [index, commit] of commits.entries()) {
    for (const event of commit.events) if (matches(event)) events.push(event);
    if (events.length < maxCount || index === commits.length - 1) continue;
    yield { events, position: commit.position, eventId: commit.eventId, caughtUp: false };
    events = [];
  }
  const { position, eventId } = commits.at(-1) ?? after;
  yield { events, position, eventId, caughtUp: isEnd };
}

/** One run through the log, from its start until it fails, and the latest commits. */
class Reading {
  /** How it ended: with an error, or `undefined` where subscriptions read on by themselves. */
  ended: { readonly error: unknown } | undefined;
  place: EventPosition;
  /** Everything after this position is kept. */
  #after: Position;
  #kept: { readonly commit: Commit; readonly characters: number }[] = [];
  #characters = 0;
  /** The first events of an append whose last one has not come. */
  #open: RecordedEvent[] = [];

  constructor(after: EventPosition) {
    this.place = after;
    this.#after = after.position;
  }

  /** What came after a position; undefined if it is not kept. */
  after(position: Position): readonly Commit[] | undefined {
    if (position < this.#after) return undefined;
    // Searched from the end: a close follower's place is there, and much may be kept before it.
    const first = this.#kept.findLastIndex(({ commit }) => commit.position <= position) + 1;
    return this.#kept.slice(first).map(({ commit }) => commit);
  }

  /** @returns whether a commit is complete; 'in parts' for an append of an earlier release, which the feed cannot join */
  add(event: ClientEvent): boolean | 'in parts' {
    if (positionOf(event) <= this.place.position) return false;
    const stored = decode(event);
    if (stored?.part?.split === true) return 'in parts';
    if (stored !== undefined) this.#open.push(stored.event);
    if (stored !== undefined && isInsideCall(stored)) return false;
    const commit = commitOf(event, this.#open);
    this.#open = [];
    this.#keep(commit);
    return true;
  }

  /** A connection was lost inside an append, which is sent again. */
  reconnect(): void {
    this.#open = [];
  }

  #keep(commit: Commit): void {
    const characters = commit.events.reduce((sum, { data }) => sum + charactersOf(data), COMMIT_CHARACTERS);
    this.#kept.push({ commit, characters });
    this.#characters += characters;
    this.place = commit;
    while (this.#characters > PAGE_CHARACTERS) {
      const [oldest] = this.#kept.splice(0, 1);
      if (oldest === undefined) break;
      this.#characters -= oldest.characters;
      this.#after = oldest.commit.position;
    }
  }
}

export class Feed {
  readonly #parts: FeedParts;
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<WakeUp>();
  #reading: Reading | undefined;

  /** @param signal ends the feed and its followers */
  constructor(parts: FeedParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /** Yields what comes after this place. Ends when the signal aborts, or where the next events are not kept. */
  async *follow(after: EventPosition, signal: AbortSignal): AsyncGenerator<readonly Commit[]> {
    this.#reading ??= this.#start(after);
    const reading = this.#reading;
    const wakeUp = new WakeUp();
    this.#waiting.add(wakeUp);
    try {
      for (let { position } = after; !signal.aborted; ) {
        const commits = reading.after(position);
        if (commits === undefined) return;
        const last = commits.at(-1);
        if (last !== undefined) {
          position = last.position;
          yield commits;
        } else if (reading.ended === undefined) await wakeUp.wait(undefined, signal);
        else if (reading.ended.error === undefined) return;
        else throw reading.ended.error;
      }
    } finally {
      this.#waiting.delete(wakeUp);
    }
  }

  #start(after: EventPosition): Reading {
    const reading = new Reading(after);
    const read = () => this.#connect(reading);
    void persist(this.#parts, this.#signal, () => reading.place, read).then(
      () => this.#end(reading, undefined),
      (error: unknown) => this.#end(reading, error),
    );
    return reading;
  }

  #end(reading: Reading, error: unknown): void {
    reading.ended = { error };
    this.#reading = undefined;
    this.#wake();
  }

  /** One connection. Resolves at an append in parts, or when the signal aborts. @throws what ended it */
  async #connect(reading: Reading): Promise<void> {
    const { server, reader, log } = this.#parts;
    reading.reconnect();
    // A connection may have been lost without a failed call.
    log.connectionLost();
    await log.check();
    const fromPosition = await reader.startAfter(reading.place.position);
    if (this.#signal.aborted) return;
    const subscription = server.client.subscribeToAll({ ...OF_LEADER, fromPosition });
    let release = (): void => undefined;
    let looking: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        subscription
          .on('data', ({ event }) => {
            const added = event === undefined ? false : reading.add(event);
            if (added === 'in parts') resolve();
            if (added !== true) return;
            log.note(reading.place);
            this.#wake();
          })
          .on('end', () => reject(new EventStoreUnavailableError('The event store ended a subscription.')))
          // Stays attached: the client reports some errors more than once.
          .on('error', reject);
        release = server.onReplaced(reject);
        looking = setInterval(() => void this.#look(reading).catch(reject), LOOK_MS);
        this.#signal.addEventListener('abort', () => resolve(), { once: true });
      });
    } finally {
      release();
      clearInterval(looking);
      // Rejects for a subscription that was never made; nothing to end then.
      void subscription.unsubscribe().catch(() => undefined);
    }
  }

  /** A connection that is lost without a word brings nothing. @throws if the log is at another place than the feed */
  async #look(reading: Reading): Promise<void> {
    const { position } = reading.place;
    const head = await this.#parts.reader.head();
    await sleep(LOOK_MS / 2, this.#signal);
    if (head.position !== position && reading.place.position === position)
      throw new EventStoreUnavailableError('A subscription has brought nothing, although the log has changed.');
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }
}
