import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  type EventStoreDBClient,
  type Position as LogPosition,
  streamNameFilter,
} from '@eventstore/db-client';
import { EventStoreUnavailableError, type Position } from '../../../ports/eventStore.js';
import { WakeUp } from '../../../supervision/waiting.js';
import { OF_LEADER } from './connection.js';
import { type ClientEvent, toPosition } from './encoding.js';
import type { StartPosition } from './logReader.js';

/** Events that wait in memory for a consumer that is busy. */
const BUFFERED_EVENTS = 32;
/** Events that the server passes over before it reports a checkpoint. */
const SEARCH_WINDOW = 500;

export type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  | { readonly kind: 'caught up' };

/** Something the client reported by a callback. */
type Notice = {
  readonly item: SubscriptionItem /** Events that come before it, of all there were. */;
  readonly after: number;
};

/**
 * A subscription of the client, read at the consumer's pace. The client reports checkpoints and the end of the catch-up
 * by callbacks, which overtake the events in its buffer; here all come in the order in which the server sent them.
 */
export class ClientSubscription {
  readonly #subscription: AllStreamSubscription;
  readonly #notices: Notice[] = [];
  readonly #wakeUp = new WakeUp();
  #taken = 0;
  #failure: unknown;

  /** @param streamPrefixes see `SubscribeOptions` */
  constructor(client: EventStoreDBClient, fromPosition: StartPosition, streamPrefixes: readonly string[] | undefined) {
    const filter = filterOf(streamPrefixes, async (_, { commit }) =>
      this.#notice({ kind: 'checkpoint', position: toPosition(commit) }),
    );
    this.#subscription = client
      .subscribeToAll({ ...OF_LEADER, fromPosition, filter }, { highWaterMark: BUFFERED_EVENTS })
      .on('caughtUp', () => this.#notice({ kind: 'caught up' }))
      .on('readable', () => this.#wakeUp.wake())
      .on('end', () => this.#fail(new EventStoreUnavailableError('The event store ended a subscription.')))
      // Stays: the client reports some errors more than once.
      .on('error', (error: unknown) => this.#fail(error));
  }

  /** The next item; undefined when none has arrived. @throws what ended the subscription, after its last event */
  take(): SubscriptionItem | undefined {
    if (this.#notices[0]?.after === this.#taken) return this.#notices.shift()?.item;
    const resolved: AllStreamResolvedEvent | null = this.#subscription.read();
    if (resolved !== null) {
      this.#taken += 1;
      // An event that a later scavenge of the server removed has none; it is counted, so that the notices stay in place.
      return resolved.event === undefined ? this.take() : { kind: 'event', event: resolved.event };
    }
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  /** Whether `take` would return an item, or throw. */
  get hasMore(): boolean {
    return this.#subscription.readableLength > 0 || this.#notices.length > 0 || this.#failure !== undefined;
  }

  /** Resolves with true when there is more to take, with false after the time or when the signal aborts. */
  async waitForMore(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return this.hasMore || this.#wakeUp.wait(milliseconds, signal);
  }

  close(): void {
    // A subscription that was never made rejects this; there is nothing to end then.
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
  // The server refuses an empty list; no stream has the name given instead.
  return streamNameFilter({ ...reports, prefixes: streamPrefixes.length === 0 ? ['$-none-'] : [...streamPrefixes] });
}
