import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  type Position as LogPosition,
  streamNameFilter,
} from '@eventstore/db-client';
import {
  DEFAULT_SLICE_COUNT,
  EventStoreUnavailableError,
  type Position,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { Backoff } from '../../../supervision/keepRunning.js';
import { sleep, WakeUp } from '../../../supervision/waiting.js';
import { OF_LEADER } from './appendingClient.js';
import { type ClientEvent, toPosition } from './encoding.js';
import { isPositionRefused, isTransient, toPortError } from './errors.js';
import type { KnownLog } from './knownLog.js';
import type { Leader, LeadingNode } from './leader.js';
import type { LogReader, StartPosition } from './logReader.js';
import { Progress, type SizedSlice, SliceBuilder } from './sliceBuilder.js';

export type SubscriptionParts = {
  readonly leader: Leader;
  readonly reader: LogReader;
  readonly log: KnownLog;
  /** How long the server may be silent during the catch-up, in milliseconds. */
  readonly timeoutMs: number;
  /** How long a subscription waits for a server that is away, in milliseconds. */
  readonly patienceMs: number;
};

/** Minimum time between slices that are not full during the catch-up, in milliseconds. */
const SLOW_SLICE_MS = 250;
/**
 * When an idle subscription checks whether the log has grown by events that it is not told of, or the server is gone.
 */
const IDLE_BACKOFF = { firstMs: 2_000, longestMs: 4_000 };
/** Between attempts to subscribe while the server is away. */
const RETRY_BACKOFF = { firstMs: 100, longestMs: 5_000 };

/** State that is kept from one connection to the next. */
type SubscriptionState = {
  position: Position;
  /** Id of the event at `position`, if known. */
  eventId: string | undefined;
  /** Whether the last slice was at the head of the log. */
  reportedCaughtUp: boolean;
  /** Start of the outage, in milliseconds since 1970; undefined while the server answers. */
  awaySince: number | undefined;
  /** Whether the server has refused to read on from `position`. */
  refused: boolean;
  readonly idle: Backoff;
  readonly retry: Backoff;
};

/** Reads the log after a position and follows it. After an outage it resumes at its last position. */
export async function* subscribe(parts: SubscriptionParts, options: SubscribeOptions): AsyncGenerator<SizedSlice> {
  const { signal } = options;
  const state: SubscriptionState = {
    position: options.after,
    eventId: undefined,
    reportedCaughtUp: false,
    awaySince: undefined,
    refused: false,
    idle: new Backoff(IDLE_BACKOFF),
    retry: new Backoff(RETRY_BACKOFF),
  };
  while (!signal.aborted) {
    try {
      if (state.refused) await parts.log.confirm({ position: state.position, eventId: state.eventId });
      state.refused = false;
      for await (const slice of connect(parts, options, state)) {
        yield slice;
        if (signal.aborted) return;
      }
    } catch (error) {
      parts.log.connectionLost();
      state.awaySince ??= Date.now();
      state.refused = isPositionRefused(error);
      if (!(state.refused || isTransient(error)) || Date.now() - state.awaySince > parts.patienceMs)
        throw toPortError(error);
      await sleep(state.retry.next(), signal);
    }
  }
}

/**
 * One connection. It ends, to be opened again, if the log has grown by events that the filter excludes and the server
 * does not report: the catch-up that follows proves that none of them is wanted (see Progress).
 */
async function* connect(
  { leader, reader, log, timeoutMs }: SubscriptionParts,
  { streamPrefixes, signal, maxCount = DEFAULT_SLICE_COUNT }: SubscribeOptions,
  state: SubscriptionState,
): AsyncGenerator<SizedSlice> {
  const progress = new Progress({ position: state.position, eventId: state.eventId }, await reader.head());
  const fromPosition = await reader.startAfter(state.position);
  // After the reads: a retry may have used another connection.
  await log.check();
  if (signal.aborted) return;
  const subscription = new ClientSubscription(await leader.node(), fromPosition, streamPrefixes);
  const builder = new SliceBuilder(reader, progress, state.position, maxCount);
  let live = false;
  let lastSliceAt = Date.now();
  const slice = (caughtUp: boolean): SizedSlice => {
    const taken = builder.take(caughtUp);
    state.position = taken.position;
    state.eventId = taken.eventId;
    log.note(taken);
    state.reportedCaughtUp = caughtUp;
    lastSliceAt = Date.now();
    return taken;
  };
  try {
    while (!signal.aborted) {
      const item = subscription.take();
      if (item !== undefined) state.awaySince = undefined;
      if (item?.kind === 'event') {
        await builder.add(item.event);
        if (builder.isFull) yield slice(false);
      } else if (item?.kind === 'checkpoint') {
        builder.checkpoint(item.position);
        if (builder.hasNews && Date.now() - lastSliceAt >= SLOW_SLICE_MS) yield slice(false);
      } else if (item?.kind === 'caught up') {
        live = true;
        state.retry.reset();
        builder.caughtUp();
      } else if (live && (builder.hasNews || !state.reportedCaughtUp)) {
        // Data that the server sends at once arrives over several turns of the event loop.
        await eventLoopTurn();
        if (subscription.hasMore) continue;
        if (!builder.isEmpty) state.idle.reset();
        yield slice(true);
      } else if (live) {
        if (await hasFallenBehind(reader, subscription, state, signal)) return;
      } else if (!(await subscription.waitForMore(builder.hasNews ? SLOW_SLICE_MS : timeoutMs, signal))) {
        if (signal.aborted) return;
        // During the catch-up the server is never silent for long.
        if (!builder.hasNews) throw new EventStoreUnavailableError(`The event store was silent for ${timeoutMs} ms.`);
        yield slice(false);
      }
    }
  } finally {
    subscription.close();
  }
}

/** Waits for more. True if instead the log has grown by events that this subscription is not told of. */
async function hasFallenBehind(
  reader: LogReader,
  subscription: ClientSubscription,
  { position, idle }: SubscriptionState,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await subscription.waitForMore(idle.next(), signal)) || signal.aborted) return false;
  if ((await reader.head()).position > position) return !subscription.hasMore;
  idle.reset();
  return false;
}

/** Events buffered for a busy consumer. */
const BUFFERED_EVENTS = 32;
/** Events that the server skips before it reports a checkpoint. */
const SEARCH_WINDOW = 500;

type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  | { readonly kind: 'caught up' };

/**
 * A subscription of the client, read at the consumer's pace. The client reports checkpoints and the end of the catch-up
 * by callbacks, which overtake the events in its buffer. Here all items come in the server's order.
 */
class ClientSubscription {
  readonly #subscription: AllStreamSubscription;
  /** Items from callbacks; `after`: the number of events before it. */
  readonly #notices: { readonly item: SubscriptionItem; readonly after: number }[] = [];
  readonly #wakeUp = new WakeUp();
  readonly #release: () => void;
  #taken = 0;
  #failure: unknown;

  /** @param streamPrefixes see `SubscribeOptions` */
  constructor(node: LeadingNode, fromPosition: StartPosition, streamPrefixes: readonly string[] | undefined) {
    const filter = filterOf(streamPrefixes, async (_, { commit }) =>
      this.#notice({ kind: 'checkpoint', position: toPosition(commit) }),
    );
    this.#subscription = node.client
      .subscribeToAll({ ...OF_LEADER, fromPosition, filter }, { highWaterMark: BUFFERED_EVENTS })
      .on('caughtUp', () => this.#notice({ kind: 'caught up' }))
      .on('readable', () => this.#wakeUp.wake())
      .on('end', () => this.#fail(new EventStoreUnavailableError('The event store ended a subscription.')))
      // Stays attached: the client reports some errors more than once.
      .on('error', (error: unknown) => this.#fail(error));
    // A leader that hangs would never end it.
    this.#release = node.onLeft((changed) => this.#fail(changed));
  }

  /** The next item; undefined if none has arrived. @throws what ended the subscription, after its last event */
  take(): SubscriptionItem | undefined {
    if (this.#notices[0]?.after === this.#taken) return this.#notices.shift()?.item;
    const resolved: AllStreamResolvedEvent | null = this.#subscription.read();
    if (resolved !== null) {
      this.#taken += 1;
      // A scavenged event is missing here. It still counts, so that the notices keep their order.
      return resolved.event === undefined ? this.take() : { kind: 'event', event: resolved.event };
    }
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  /** Whether `take` would return an item, or throw. */
  get hasMore(): boolean {
    return this.#subscription.readableLength > 0 || this.#notices.length > 0 || this.#failure !== undefined;
  }

  /** Resolves with true if there is more to take, with false after the time or when the signal aborts. */
  async waitForMore(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return this.hasMore || this.#wakeUp.wait(milliseconds, signal);
  }

  close(): void {
    this.#release();
    // Rejects for a subscription that was never made; nothing to end then.
    void this.#subscription.unsubscribe().catch(() => undefined);
  }

  #notice(item: SubscriptionItem): void {
    this.#notices.push({ item, after: this.#taken + this.#subscription.readableLength });
    this.#wakeUp.wake();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#wakeUp.wake();
  }
}

function filterOf(
  streamPrefixes: readonly string[] | undefined,
  checkpointReached: (_: unknown, position: LogPosition) => Promise<void>,
) {
  const reports = { checkpointReached, checkpointInterval: 1, maxSearchWindow: SEARCH_WINDOW };
  // All but the server's own streams.
  if (streamPrefixes === undefined) return streamNameFilter({ ...reports, regex: '^[^$]' });
  // The server refuses an empty list, so it gets a name that no stream has.
  return streamNameFilter({ ...reports, prefixes: streamPrefixes.length === 0 ? ['$-none-'] : [...streamPrefixes] });
}
