/** Deliveries for one order and one webhook are made one after the other. */
import { type DeliveryKey, loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { EventStore } from '../ports/eventStore.js';
import type { Outcome } from '../ports/messageBroker.js';
import { sleep } from '../supervision/waiting.js';

/** How long a delivery in flight waits for the one before it, if that is in flight too. */
const LONGEST_IN_FLIGHT_MS = 3_000;
/** How long a second message of a delivery in flight is put off. */
const DUPLICATE_DELAY_MS = 1_000;
/** A delivery is redelivered this long after the one before it is due. */
const AFTER_PREVIOUS_MS = 5;
const LONGEST_TURN_MS = 15_000;
const SHORTEST_TURN_MS = 50;

/** The next delivery starts when the one before is over. */
export class OrderTurns {
  readonly #eventStore: Pick<EventStore, 'readSlice'>;
  /** The deliveries in flight, with the outcomes of their messages. */
  readonly #inFlight = new Map<string, Promise<Outcome>>();
  readonly #stopping = new AbortController();

  constructor(eventStore: Pick<EventStore, 'readSlice'>) {
    this.#eventStore = eventStore;
  }

  /**
   * Runs the work on a delivery and tells the next one how it ended. A second message of the same delivery is put off.
   */
  async take(deliveryId: string, work: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#inFlight.has(deliveryId)) return { kind: 'retry', delayMs: DUPLICATE_DELAY_MS };
    const outcome = work();
    this.#inFlight.set(deliveryId, outcome);
    try {
      return await outcome;
    } finally {
      this.#inFlight.delete(deliveryId);
    }
  }

  /**
   * Waits for the delivery that has to be over first.
   * @param now ISO 8601
   * @returns 0 if it is over; undefined if it was never requested; else when to check again, in ms
   */
  async waitMs(first: DeliveryKey, now: string): Promise<number | undefined> {
    const inFlight = this.#inFlight.get(first.deliveryId);
    const outcome = inFlight === undefined ? undefined : await this.#outcome(inFlight);
    if (outcome?.kind === 'retry') return Math.min(LONGEST_TURN_MS, outcome.delayMs + AFTER_PREVIOUS_MS);
    const loaded = await loadDelivery(this.#eventStore, first);
    if (loaded === undefined) return undefined;
    if (loaded.delivery.outcome !== 'open') return 0;
    const nowMs = Date.parse(now);
    const { retryAt } = loaded.delivery;
    const dueMs = retryAt === undefined ? 0 : Date.parse(retryAt) - nowMs + AFTER_PREVIOUS_MS;
    // The longer nothing has happened to it, the less often it is checked.
    const idleMs = nowMs - Date.parse(loaded.lastEventAt);
    return Math.min(LONGEST_TURN_MS, Math.max(SHORTEST_TURN_MS, dueMs, idleMs / 2));
  }

  /** Ends all waits for other deliveries. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Its outcome; undefined if that takes too long. */
  async #outcome(inFlight: Promise<Outcome>): Promise<Outcome | undefined> {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
    try {
      return await Promise.race([inFlight, sleep(LONGEST_IN_FLIGHT_MS, signal).then(() => undefined)]);
    } catch {
      // Its own delivery handles the failure.
      return undefined;
    } finally {
      ended.abort();
    }
  }
}
