/**
 * The log for all subscriptions of a process: stored events page by page, and new ones by one subscription to `$all`, which
 * all share. It has no filter: each subscription filters for itself, and so learns the log's position even if its own
 * streams have no events.
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
import { isWanted } from '../everyStore.js';
import { type ClientEvent, decode, isInsideCall, positionOf } from './encoding.js';
import { isPositionRefused, isTransient, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import { type Commit, commitOf, type LogReader, PAGE_CHARACTERS } from './logReader.js';
import { OF_LEADER, type Server } from './server.js';

/** How long a subscription waits for a server that is away, in milliseconds. */
const PATIENCE_MS = 30_000;
/** Between attempts to read on while the server is away. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 2_000 };
/** How often the feed looks whether the log has grown by events that it does not get, in milliseconds. */
const LOOK_MS = 5_000;
/** What a commit without events counts in the feed's memory, in characters. */
const COMMIT_CHARACTERS = 100;

export type FeedParts = {
  readonly server: Server;
  readonly reader: LogReader;
  readonly log: KnownLog;
  /** Ends all subscriptions. */
  readonly closing: AbortSignal;
};

export class Feed {
  readonly #parts: FeedParts;
  readonly #waiting = new Set<WakeUp>();
  #live: Live | undefined;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** See `EventStore.subscribe`. Pages of stored events up to the end of the log, then what all share. */
  async *subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice> {
    const { reader, log, closing } = this.#parts;
    const signal = AbortSignal.any([options.signal, closing]);
    let place: EventPosition = { position: options.after };
    let live: Live | undefined;
    const wakeUp = new WakeUp();
    this.#waiting.add(wakeUp);
    try {
      while (!signal.aborted) {
        const kept = live?.after(place.position);
        if (kept?.length === 0 && live?.ended === undefined) {
          await wakeUp.wait(undefined, signal);
          continue;
        }
        if (live?.ended?.error !== undefined) throw live.ended.error;
        const readPage = () => reader.page(place.position);
        const page = kept?.length ? { commits: kept, isEnd: true } : await this.#persist(signal, () => place, readPage);
        if (page === undefined) return;
        for (const slice of slicesOf(page.commits, place, options, page.isEnd)) {
          place = slice;
          log.note(slice);
          yield slice;
          if (signal.aborted) return;
        }
        if (!kept?.length) live = page.isEnd ? (this.#live ?? this.#start(place)) : undefined;
      }
    } finally {
      this.#waiting.delete(wakeUp);
    }
  }

  #start(after: EventPosition): Live {
    const live = new Live(after);
    this.#live = live;
    const end = (ended: { readonly error?: unknown }): void => {
      live.ended = ended;
      this.#live = undefined;
      this.#wake();
    };
    const connect = (succeeded: () => void) => this.#connect(live, succeeded);
    void this.#persist(this.#parts.closing, () => live.place, connect).then(
      () => end({}),
      (error: unknown) => end({ error }),
    );
    return live;
  }

  /**
   * Reads, again after each outage, until the signal aborts.
   * @param read calls `succeeded` when the server has answered before its end
   * @throws LogReplacedError; EventStoreUnavailableError after PATIENCE_MS without the server
   */
  async #persist<T>(
    signal: AbortSignal,
    place: () => EventPosition,
    read: (succeeded: () => void) => Promise<T>,
  ): Promise<T | undefined> {
    const { log } = this.#parts;
    const backoff = new Backoff(RETRY_BACKOFF);
    let awaySince: number | undefined;
    let isRefused = false;
    while (!signal.aborted) {
      try {
        await log.check();
        if (isRefused) await log.confirm(place());
        isRefused = false;
        return await read(() => {
          awaySince = undefined;
          backoff.reset();
        });
      } catch (error) {
        log.connectionLost();
        awaySince ??= Date.now();
        if (isPositionRefused(error)) isRefused = true;
        else if (!isTransient(error) || Date.now() - awaySince > PATIENCE_MS) throw toPortError(error);
        await sleep(backoff.next(), signal);
      }
    }
    return undefined;
  }

  /** One connection. Resolves at an append in parts, or at the end of all. @throws what ended it */
  async #connect(live: Live, succeeded: () => void): Promise<void> {
    const { server, reader, log, closing } = this.#parts;
    // One may have been lost without a failed call.
    log.connectionLost();
    await log.check();
    const fromPosition = await reader.startAfter(live.place.position);
    if (closing.aborted) return;
    live.connect();
    const subscription = server.client.subscribeToAll({ ...OF_LEADER, fromPosition });
    // The client reports some errors more than once.
    subscription.on('confirmation', succeeded).on('error', () => undefined);
    const fail = (error?: Error): void => void subscription.destroy(error);
    const release = server.onReplaced(fail);
    const looking = setInterval(() => void this.#look(live).catch(fail), LOOK_MS);
    const close = (): void => fail();
    closing.addEventListener('abort', close);
    try {
      for await (const { event } of subscription) {
        const added = event && live.add(event);
        if (added === 'in parts') return;
        if (added !== 'complete') continue;
        log.note(live.place);
        this.#wake();
      }
      throw new EventStoreUnavailableError('The event store ended a subscription.');
    } finally {
      release();
      clearInterval(looking);
      closing.removeEventListener('abort', close);
      // Rejects for a subscription that was never made; nothing to end then.
      void subscription.unsubscribe().catch(() => undefined);
    }
  }

  /** A connection that is lost without a word brings nothing. @throws if the log is at another place than the feed */
  async #look(live: Live): Promise<void> {
    const { position } = live.place;
    const head = await this.#parts.reader.head();
    await sleep(LOOK_MS / 2, this.#parts.closing);
    if (head.position !== position && live.place.position === position)
      throw new EventStoreUnavailableError('A subscription has brought nothing, although the log has changed.');
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }
}

/** The latest commits, from where the feed began until it ends. */
class Live {
  place: EventPosition;
  /** How it ended; without an error where an append in parts came, which is read page by page. */
  ended: { readonly error?: unknown } | undefined;
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

  /** Another connection: an append whose end was lost with the one before is sent again. */
  connect(): void {
    this.#open = [];
  }

  /** @returns whether a commit is complete; `in parts`: of an append of an earlier release */
  add(event: ClientEvent): 'complete' | 'open' | 'in parts' {
    if (positionOf(event) <= this.place.position) return 'open';
    const stored = decode(event);
    if (stored?.part?.split === true) return 'in parts';
    if (stored !== undefined) this.#open.push(stored.event);
    if (stored !== undefined && isInsideCall(stored)) return 'open';
    const commit = commitOf(event, this.#open);
    const characters = commit.events.reduce((sum, { data }) => sum + charactersOf(data), COMMIT_CHARACTERS);
    this.#open = [];
    this.#kept.push({ commit, characters });
    this.#characters += characters;
    this.place = commit;
    while (this.#characters > PAGE_CHARACTERS) {
      const [oldest] = this.#kept.splice(0, 1);
      if (oldest === undefined) break;
      this.#characters -= oldest.characters;
      this.#after = oldest.commit.position;
    }
    return 'complete';
  }
}

/** The matching events of these commits: one slice at least, which may be empty. */
function* slicesOf(
  commits: readonly Commit[],
  after: EventPosition,
  options: SubscribeOptions,
  isEnd: boolean,
): Generator<EventSlice> {
  const { maxCount = DEFAULT_SLICE_COUNT } = options;
  const matches = isWanted(options);
  let events: RecordedEvent[] = [];
  for (const [index, commit] of commits.entries()) {
    for (const event of commit.events) if (matches(event.stream)) events.push(event);
    if (events.length < maxCount || index === commits.length - 1) continue;
    yield { events, position: commit.position, eventId: commit.eventId, caughtUp: false };
    events = [];
  }
  const { position, eventId } = commits.at(-1) ?? after;
  yield { events, position, eventId, caughtUp: isEnd };
}
