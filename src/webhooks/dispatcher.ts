/**
 * Shares what one process can do at once between webhooks, so that one slow receiver never delays another: messages in
 * flight, and slots for attempts.
 *
 * The rule for both (dynamic thresholds, Choudhury and Hahne 1998): a webhook may have as much as is left free. One
 * alone gets half of it, two get a third each, and there is always something left for the next.
 */

import { type DeliveryKey, loadDelivery } from '../commands/webhooks/deliveryStream.js';
import { doubled } from '../domain/webhook/delivery.js';
import type { EventStore } from '../ports/eventStore.js';
import type { Outcome } from '../ports/messageBroker.js';
import { sleep } from '../supervision/waiting.js';

export type Endpoint = { readonly tenant: string; readonly webhookId: string };

/** A webhook of a tenant, as it is named in memory. Tenant names have no dot. */
export const endpointKey = ({ tenant, webhookId }: Endpoint): string => `${tenant}.${webhookId}`;

export type DispatcherLimits = {
  /** Messages in flight, of all webhooks. */
  readonly inFlight: number;
  /** Attempts at once, of all webhooks. */
  readonly slots: number;
  /** Attempts at once to one webhook; it gets less while others need the slots. */
  readonly slotsPerEndpoint: number;
};

type Slot = { readonly since: number };

type EndpointQueue = {
  /** Messages in flight. */
  inFlight: number;
  /** Attempts being made, the oldest first. */
  readonly slots: Set<Slot>;
  /** Take a slot, or learn that there will be none; first come, first served. */
  readonly waiting: ((slot: Slot | undefined) => void)[];
  /** Smoothed duration of an attempt (ms). */
  attemptMs: number;
  /** When the message that was put off last comes again (ms): the next one comes after it. */
  nextAt: number;
};

const FIRST_GUESS_MS = 20;
const SMOOTHING = 0.2;
const SHORTEST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 30_000;

export class Dispatcher {
  readonly #limits: DispatcherLimits;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #queues = new Map<string, EndpointQueue>();
  /** Those in which something waits for a slot, in the order of their turns. */
  readonly #waiting = new Set<EndpointQueue>();
  #inFlight = 0;
  #slots = 0;
  #stopped = false;

  /**
   * @param now milliseconds
   * @param random from 0 to 1
   */
  constructor(limits: DispatcherLimits, now: () => number, random: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#random = random;
  }

  /** Takes a message in flight. Returns what ends that; undefined when the webhook has its share in flight already. */
  enter(endpoint: string): (() => void) | undefined {
    const queue = this.#queue(endpoint);
    if (queue.inFlight >= Math.max(1, this.#limits.inFlight - this.#inFlight)) return undefined;
    queue.inFlight += 1;
    this.#inFlight += 1;
    return () => {
      queue.inFlight -= 1;
      this.#inFlight -= 1;
    };
  }

  /**
   * How long (ms) a message that did not get in is put off: until its turn at the present pace, but hardly longer than
   * it has been waiting, since the pace may grow; 30 s at most.
   */
  delayMs(endpoint: string, redeliveries: number): number {
    const queue = this.#queue(endpoint);
    const now = this.#now();
    const [oldest] = queue.slots;
    // A receiver that has begun to hang does not show in the attempts that have ended.
    const attemptMs = Math.max(queue.attemptMs, oldest === undefined ? 0 : now - oldest.since);
    const perMessage = attemptMs / this.#limits.slotsPerEndpoint;
    const turnMs = Math.max(queue.nextAt - now, queue.inFlight * perMessage) + perMessage;
    const longestMs = doubled(2 * SHORTEST_DELAY_MS, LONGEST_DELAY_MS, redeliveries);
    if (turnMs > longestMs) return longestMs * (1 - this.#random() / 2);
    queue.nextAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  /** Does the work in a slot, when its turn has come. Returns what it returns; undefined when not done because of `stop`. */
  async inSlot<T>(endpoint: string, work: () => Promise<T>): Promise<T | undefined> {
    const queue = this.#queue(endpoint);
    const slot = await this.#turn(queue);
    if (slot === undefined) return undefined;
    try {
      return await work();
    } finally {
      queue.attemptMs += SMOOTHING * (this.#now() - slot.since - queue.attemptMs);
      queue.slots.delete(slot);
      this.#slots -= 1;
      this.#fillSlots();
    }
  }

  /** What waits for a slot gets none any more. */
  stop(): void {
    this.#stopped = true;
    for (const queue of this.#waiting) for (const take of queue.waiting.splice(0)) take(undefined);
    this.#waiting.clear();
  }

  #turn(queue: EndpointQueue): Promise<Slot | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      queue.waiting.push(resolve);
      this.#waiting.add(queue);
      this.#fillSlots();
    });
  }

  #fillSlots(): void {
    for (let queue = this.#next(); queue !== undefined; queue = this.#next()) {
      const take = queue.waiting.shift();
      // Behind the others: each has its turn.
      this.#waiting.delete(queue);
      if (queue.waiting.length > 0) this.#waiting.add(queue);
      const slot = { since: this.#now() };
      queue.slots.add(slot);
      this.#slots += 1;
      take?.(slot);
    }
  }

  /**
   * The queue whose turn it is, of those that may have a slot more; undefined when there is none. Each gets as many
   * turns, so a slow receiver comes to hold more slots, as it must for the same rate, but never those that others need.
   */
  #next(): EndpointQueue | undefined {
    const free = this.#limits.slots - this.#slots;
    if (free <= 0) return undefined;
    const most = Math.min(this.#limits.slotsPerEndpoint, Math.max(1, free));
    for (const queue of this.#waiting) if (queue.slots.size < most) return queue;
    return undefined;
  }

  #queue(endpoint: string): EndpointQueue {
    const known = this.#queues.get(endpoint);
    if (known !== undefined) return known;
    const queue: EndpointQueue = {
      inFlight: 0,
      slots: new Set(),
      waiting: [],
      attemptMs: FIRST_GUESS_MS,
      nextAt: 0,
    };
    this.#queues.set(endpoint, queue);
    return queue;
  }
}

/** How long a delivery that is in flight waits for the one before it, when that is in flight as well. */
const LONGEST_IN_FLIGHT_MS = 3_000;
/** How long a second message of a delivery in flight is put off. */
const DUPLICATE_DELAY_MS = 1_000;
/** The next one comes so long after the one before is due. */
const BEHIND_MS = 5;
const LONGEST_TURN_MS = 15_000;

/** Deliveries about one order to one webhook go one after the other: the next begins when the one before is over. */
export class OrderTurns {
  readonly #eventStore: Pick<EventStore, 'readStream'>;
  /** The deliveries in flight, and what becomes of their messages. */
  readonly #inFlight = new Map<string, Promise<Outcome>>();
  readonly #stopping = new AbortController();

  constructor(eventStore: Pick<EventStore, 'readStream'>) {
    this.#eventStore = eventStore;
  }

  /** Does the work on a delivery, and lets the next one know how it ended. A second message of it comes again later. */
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
   * @returns 0 when it is over, or was never requested; else after how many ms to look again
   */
  async waitMs(first: DeliveryKey, now: string): Promise<number> {
    const inFlight = this.#inFlight.get(first.deliveryId);
    const outcome = inFlight === undefined ? undefined : await this.#outcome(inFlight);
    if (outcome?.kind === 'done') return 0;
    if (outcome?.kind === 'retry') return Math.min(LONGEST_TURN_MS, outcome.delayMs + BEHIND_MS);
    const loaded = await loadDelivery(this.#eventStore, first);
    if (loaded === undefined || loaded.delivery.outcome !== 'open') return 0;
    const nowMs = Date.parse(now);
    const { retryAt } = loaded.delivery;
    const dueMs = retryAt === undefined ? 0 : Date.parse(retryAt) - nowMs + BEHIND_MS;
    // The longer nothing has happened to it, the less often it is looked at.
    const idleMs = nowMs - Date.parse(loaded.lastEventAt);
    return Math.min(LONGEST_TURN_MS, Math.max(SHORTEST_DELAY_MS, dueMs, idleMs / 2));
  }

  /** No delivery waits for another one any more. */
  stop(): void {
    this.#stopping.abort();
  }

  /** What becomes of it; undefined when that takes too long. */
  async #outcome(inFlight: Promise<Outcome>): Promise<Outcome | undefined> {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
    try {
      return await Promise.race([inFlight, sleep(LONGEST_IN_FLIGHT_MS, signal).then(() => undefined)]);
    } catch {
      // Its own story handles that it failed.
      return undefined;
    } finally {
      ended.abort();
    }
  }
}
