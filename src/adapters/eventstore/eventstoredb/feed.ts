import type { AllStreamResolvedEvent, AllStreamSubscription, Position as LogPosition } from '@eventstore/db-client';
import { EventStoreUnavailableError } from '../../../ports/eventStore.js';
import type { ClientEvent } from './encoding.js';

export type FeedItem =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  | { readonly kind: 'checkpoint'; readonly commit: bigint }
  | { readonly kind: 'caught up' };

type Mark = { readonly item: FeedItem /** Events that come before it, of all there were. */; readonly after: number };

/**
 * A subscription of the client, read at the consumer's pace. The client tells of checkpoints and of the end of the
 * catch-up by callbacks, which overtake the events in its buffer; here all come in the order the server sent them.
 */
export class Feed {
  readonly #subscription: AllStreamSubscription;
  readonly #marks: Mark[] = [];
  #taken = 0;
  #failure: unknown;
  #wake: () => void = () => undefined;

  /** @param open makes the subscription, given what is to be called at checkpoints */
  constructor(open: (checkpointReached: (_: unknown, position: LogPosition) => void) => AllStreamSubscription) {
    this.#subscription = open((_, { commit }) => this.#mark({ kind: 'checkpoint', commit }));
    this.#subscription
      .on('caughtUp', () => this.#mark({ kind: 'caught up' }))
      .on('readable', () => this.#wake())
      .on('end', () => this.#fail(new EventStoreUnavailableError('The event store ended a subscription.')))
      // Stays: the client reports some errors more than once.
      .on('error', (error: unknown) => this.#fail(error));
  }

  /** What is there now; undefined when nothing is. @throws what ended the subscription, after its last event */
  take(): FeedItem | undefined {
    if (this.#marks[0]?.after === this.#taken) return this.#marks.shift()?.item;
    const resolved: AllStreamResolvedEvent | null = this.#subscription.read();
    if (resolved !== null) {
      this.#taken += 1;
      // An event that a later clean-up of the server took away has none; it is counted, so that the marks stay right.
      return resolved.event === undefined ? this.take() : { kind: 'event', event: resolved.event };
    }
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  /** Whether `take` has something to give, or to throw. */
  get hasMore(): boolean {
    return this.#subscription.readableLength > 0 || this.#marks.length > 0 || this.#failure !== undefined;
  }

  /** Resolves with true when something came, with false after the time or at the signal. */
  async came(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return new Promise((resolve) => {
      const settle = (came: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.#wake = () => undefined;
        resolve(came);
      };
      const stop = () => settle(false);
      const timer = setTimeout(stop, milliseconds);
      signal.addEventListener('abort', stop);
      this.#wake = () => settle(true);
      if (this.hasMore) settle(true);
    });
  }

  close(): void {
    // A subscription that never came to be rejects this; there is nothing to end then.
    void this.#subscription.unsubscribe().catch(() => undefined);
  }

  #mark(item: FeedItem): void {
    this.#marks.push({ item, after: this.#taken + this.#subscription.readableLength });
    this.#wake();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }
}
