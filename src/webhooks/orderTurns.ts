/** Deliveries about one order to one webhook go one after the other: the next begins when the one before is over. */

import type { LogAccess } from '../commands/writeStream.js';
import type { Outcome } from '../ports/messageBroker.js';
import { type DeliveryKey, loadDelivery } from './deliveryLog.js';

/** How long the next one waits in hand for one that is in hand as well. */
const LONGEST_IN_HAND_MS = 3_000;
/** How long a second message of a delivery that is in hand stays away. */
const TWICE_MS = 1_000;
/** After what comes first is due: so long the next one leaves it to go ahead. */
const BEHIND_MS = 5;
const SHORTEST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 15_000;

export class OrderTurns {
  readonly #access: LogAccess;
  /** The deliveries in hand, and what becomes of their messages. */
  readonly #inHand = new Map<string, Promise<Outcome>>();
  /** End the waiting in hand. */
  readonly #waiting = new Set<() => void>();

  constructor(access: LogAccess) {
    this.#access = access;
  }

  /** Does the work on a delivery, and lets the next one know how it ended. Of two messages that name it one waits. */
  async take({ deliveryId }: DeliveryKey, work: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#inHand.has(deliveryId)) return { kind: 'again', delayMs: TWICE_MS };
    const outcome = work();
    this.#inHand.set(deliveryId, outcome);
    try {
      return await outcome;
    } finally {
      this.#inHand.delete(deliveryId);
    }
  }

  /**
   * Waits for the delivery that has to be over first.
   * @returns 0 when it is over, or was never requested; else after how many ms to look again
   */
  async wait(first: DeliveryKey): Promise<number> {
    const inHand = this.#inHand.get(first.deliveryId);
    const outcome = inHand === undefined ? undefined : await this.#outcome(inHand);
    if (outcome?.kind === 'done') return 0;
    if (outcome?.kind === 'again') return Math.min(LONGEST_DELAY_MS, outcome.delayMs + BEHIND_MS);
    const loaded = await loadDelivery(this.#access, first);
    if (loaded === undefined || loaded.delivery.outcome !== 'open') return 0;
    const now = Date.parse(this.#access.now());
    const { retryAt } = loaded.delivery;
    const dueMs = retryAt === undefined ? 0 : Date.parse(retryAt) - now + BEHIND_MS;
    // The longer nothing has happened to it, the less often it is looked at.
    const idleMs = now - Date.parse(loaded.lastEventAt);
    return Math.min(LONGEST_DELAY_MS, Math.max(SHORTEST_DELAY_MS, dueMs, idleMs / 2));
  }

  /** What waits in hand does so no longer. */
  stop(): void {
    for (const leave of this.#waiting) leave();
  }

  /** What becomes of it; undefined when that takes too long. */
  #outcome(inHand: Promise<Outcome>): Promise<Outcome | undefined> {
    return new Promise((resolve) => {
      const end = (outcome?: Outcome): void => {
        clearTimeout(timer);
        this.#waiting.delete(leave);
        resolve(outcome);
      };
      const leave = (): void => end();
      const timer = setTimeout(leave, LONGEST_IN_HAND_MS);
      this.#waiting.add(leave);
      // Why it failed is told where it is worked on.
      inHand.then(end, leave);
    });
  }
}
