/**
 * The log for all subscriptions of a process: stored events page by page, and new ones by one subscription to `$all`, which
 * all share. It has no filter: each subscription filters for itself, and so learns the log's position even if its own
 * streams have no events. What the shared one does not have (any more) is read page by page again.
 */
import { type AllStreamSubscription, START } from '@eventstore/db-client';
import { charactersOf } from '../../../domain/jsonSize.js';
import type {
  EventPosition,
  EventSlice,
  Position,
  RecordedEvent,
  SubscribeOptions,
} from '../../../ports/eventStore.js';
import { backoffMs } from '../../../supervision/keepRunning.js';
import { singleFlight, sleep, WakeUp } from '../../../supervision/waiting.js';
import { DEFAULT_SLICE_COUNT, isWanted } from '../everyStore.js';
import { type ClientEvent, decode, isInsideCall, toLogPosition } from './encoding.js';
import { type Commit, commitOf, type KnownLog, type LogReader, PAGE_CHARACTERS } from './logReader.js';
import { isPositionRefused, isTransient, OF_LEADER, type Server, toPortError } from './server.js';

const PATIENCE_MS = 30_000;
const RETRY_BACKOFF = { firstMs: 100, longestMs: 2_000 };
/** How often a quiet subscription looks whether the log has grown by events that it does not get, in milliseconds. */
const HEAD_CHECK_MS = 5_000;
/** What a commit without events counts in the feed's memory, in characters. */
const COMMIT_CHARACTERS = 100;

/** See `EventStore.subscribe`. @param closing ends all subscriptions */
export function feed(
  server: Server,
  reader: LogReader,
  log: KnownLog,
  closing: AbortSignal,
): (options: SubscribeOptions) => AsyncGenerator<EventSlice> {
  const waiting = new Set<WakeUp>();
  let live: Live | undefined;
  const wake = (): void => {
    for (const wakeUp of waiting) wakeUp.wake();
  };

  const goLive = singleFlight(async (): Promise<void> => {
    if (live !== undefined) return;
    const { position } = await reader.head();
    const fromPosition = position === 0 ? START : toLogPosition(position);
    const subscription = server.client.subscribeToAll({ ...OF_LEADER, fromPosition });
    // The client reports some errors more than once.
    subscription.on('error', () => undefined);
    live = new Live(position, () => void subscription.destroy());
    void run(live, subscription);
  });

  async function run(current: Live, subscription: AllStreamSubscription): Promise<void> {
    const release = server.onReplaced(current.end);
    closing.addEventListener('abort', current.end);
    try {
      for await (const { event } of subscription) if (event !== undefined && current.add(event)) wake();
    } catch {
      // Its readers read pages from now on, and report what keeps them from it.
    } finally {
      log.connectionLost();
      closing.removeEventListener('abort', current.end);
      release();
      // Rejects for a subscription that was never made; nothing to end then.
      void subscription.unsubscribe().catch(() => undefined);
      await sleep(RETRY_BACKOFF.firstMs, closing);
      live = undefined;
      wake();
    }
  }

  /**
   * Reads, again after each outage, until the signal aborts.
   * @throws LogReplacedError; EventStoreUnavailableError after PATIENCE_MS without the server
   */
  async function persist<T>(signal: AbortSignal, place: EventPosition, read: () => Promise<T>): Promise<T | undefined> {
    const until = Date.now() + PATIENCE_MS;
    for (let failures = 0, isRefused = false; !signal.aborted; failures += 1) {
      try {
        await log.check();
        if (isRefused) await log.confirm(place);
        isRefused = false;
        return await read();
      } catch (error) {
        log.connectionLost();
        if (isPositionRefused(error)) isRefused = true;
        else if (!isTransient(error) || Date.now() > until) throw toPortError(error);
        await sleep(backoffMs(RETRY_BACKOFF, failures), signal);
      }
    }
    return undefined;
  }

  return async function* (options) {
    const signal = AbortSignal.any([options.signal, closing]);
    let place: EventPosition = { position: options.after };
    // The end of the log is in its pages alone: what was just appended may come later.
    let hasReadToEnd = false;
    const wakeUp = new WakeUp();
    waiting.add(wakeUp);
    try {
      while (!signal.aborted) {
        const kept = hasReadToEnd ? live?.after(place.position) : undefined;
        if (kept?.length === 0 && (await wakeUp.wait(HEAD_CHECK_MS, signal))) continue;
        const readPage = () => reader.page(place.position);
        const page = kept?.length ? { commits: kept, isEnd: true } : await persist(signal, place, readPage);
        // Nothing came for a while, although there was something.
        if (kept?.length === 0 && page?.commits.length) live?.end();
        for (const slice of slicesOf(page?.commits ?? [], place, options, page?.isEnd ?? false)) {
          if (signal.aborted) return;
          if (hasReadToEnd && slice.position === place.position) continue;
          place = slice;
          log.note(slice);
          yield slice;
        }
        if (kept !== undefined || !page?.isEnd) continue;
        await persist(signal, place, goLive);
        hasReadToEnd = true;
      }
    } finally {
      waiting.delete(wakeUp);
    }
  };
}

class Live {
  readonly end: () => void;
  /** Everything after this position is kept, up to what came last. */
  #after: Position;
  readonly #kept: { readonly commit: Commit; readonly characters: number }[] = [];
  #characters = 0;
  /** The first events of an append whose last one has not come. */
  #open: RecordedEvent[] = [];

  constructor(after: Position, end: () => void) {
    this.#after = after;
    this.end = end;
  }

  /** What came after a position; undefined if it is not kept. */
  after(position: Position): readonly Commit[] | undefined {
    if (position < this.#after) return undefined;
    // Searched from the end: a close follower's place is there, and much may be kept before it.
    const first = this.#kept.findLastIndex(({ commit }) => commit.position <= position) + 1;
    return this.#kept.slice(first).map(({ commit }) => commit);
  }

  add(event: ClientEvent): boolean {
    const stored = decode(event);
    // An append of an earlier release: pages show where it is complete.
    if (stored?.part?.split === true) this.end();
    if (stored !== undefined) this.#open.push(stored.event);
    if (stored !== undefined && (isInsideCall(stored) || stored.part?.split === true)) return false;
    const commit = commitOf(event, this.#open);
    const characters = commit.events.reduce((sum, { data }) => sum + charactersOf(data), COMMIT_CHARACTERS);
    this.#open = [];
    this.#kept.push({ commit, characters });
    this.#characters += characters;
    while (this.#characters > PAGE_CHARACTERS) {
      const [oldest] = this.#kept.splice(0, 1);
      if (oldest === undefined) break;
      this.#characters -= oldest.characters;
      this.#after = oldest.commit.position;
    }
    return true;
  }
}

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
