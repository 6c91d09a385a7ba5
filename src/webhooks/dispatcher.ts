/**
 * Shares a process's capacity between tenants and their webhooks, so that one slow receiver never delays another. Two
 * capacities are shared by the same rule: messages in flight, and slots for attempts.
 *
 * Webhooks (dynamic thresholds, Choudhury and Hahne 1998): each may use one and a half times the free capacity. A
 * single webhook gets the greater part, two get a third each, and something is always free for the next.
 *
 * Tenants: the last tenth is reserved for tenants that use less than what is left of it, however many webhooks another
 * tenant has. Waiting messages get slots in turns: first by tenant, then by webhook of the tenant.
 *
 * Slots: only some attempts may be starting (waiting for this process and the log) at once. Otherwise a busy process
 * would fill all slots with starting attempts, and slow receivers, which hold their slots for long, would hardly get
 * any.
 */

import { LRUCache } from 'lru-cache';
import { BEGINNING_DELIVERY_PERCENT, RESERVED_DELIVERY_PERCENT } from '../domain/limits.js';
import { doubled } from '../domain/webhook/delivery.js';

export type Endpoint = { readonly tenant: string; readonly webhookId: string };

/** Names a webhook of a tenant in memory. Tenant names contain no dot. */
export const endpointKey = ({ tenant, webhookId }: Endpoint): string => `${tenant}.${webhookId}`;

export type DispatcherLimits = {
  /** Messages in flight to all webhooks. */
  readonly inFlight: number;
  /** Concurrent attempts to all webhooks. */
  readonly slots: number;
  /** Concurrent attempts to one webhook. It gets fewer while others need the slots. */
  readonly slotsPerEndpoint: number;
};

type Slot = {
  readonly since: number;
  /** The request has not been sent yet. */
  isStarting: boolean;
};

/** What a tenant's webhooks use together. */
type TenantUse = {
  inFlight: number;
  slots: number;
  /** Webhooks with messages that wait for a slot, in the order of their turns. */
  readonly waiting: Set<EndpointQueue>;
};

type EndpointQueue = {
  readonly tenant: TenantUse;
  /** Messages in flight. */
  inFlight: number;
  /** Attempts in flight, the oldest first. */
  readonly slots: Set<Slot>;
  /** Called with a slot, or with undefined if there will be none; first in, first out. */
  readonly waiting: ((slot: Slot | undefined) => void)[];
  /** Smoothed duration of an attempt (ms). */
  attemptMs: number;
  /** When the message that was put off last is redelivered (ms). The next one comes after it. */
  nextAt: number;
};

const FIRST_GUESS_MS = 20;
const SMOOTHING = 0.2;
const SHORTEST_DELAY_MS = 50;
/** The first time. A message that comes back too early is taken, checked and put off again for nothing. */
const LONGEST_FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** A webhook's limit as a multiple of the free capacity. */
const TIMES_LEFT = 1.5;
/**
 * Webhooks whose pace is remembered. A webhook that is evicted with messages in flight starts with a share of its own.
 */
const MAX_ENDPOINTS = 10_000;

/** May a webhook use one more? `most` is the limit of one webhook in any case. */
function hasRoom(total: number, used: number, ofTenant: number, ofEndpoint: number, most: number): boolean {
  const free = total - used;
  const reserved = Math.ceil((total * RESERVED_DELIVERY_PERCENT) / 100);
  if (ofEndpoint >= most) return false;
  return free > reserved ? ofEndpoint < Math.max(1, TIMES_LEFT * (free - reserved)) : ofTenant < free;
}

export class Dispatcher {
  readonly #limits: DispatcherLimits;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #tenants = new Map<string, TenantUse>();
  readonly #queues = new LRUCache<string, EndpointQueue>({ max: MAX_ENDPOINTS });
  /** Tenants with messages that wait for a slot, in the order of their turns. */
  readonly #waiting = new Set<TenantUse>();
  #inFlight = 0;
  #slots = 0;
  /** Slots whose attempt is starting. */
  #starting = 0;
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

  /**
   * Counts a message as in flight. Returns the function that ends this; undefined if the webhook already has its share.
   */
  enter(endpoint: Endpoint): (() => void) | undefined {
    const queue = this.#queue(endpoint);
    const { tenant } = queue;
    const total = this.#limits.inFlight;
    if (!hasRoom(total, this.#inFlight, tenant.inFlight, queue.inFlight, total)) return undefined;
    this.#countInFlight(queue, 1);
    return () => this.#countInFlight(queue, -1);
  }

  #countInFlight(queue: EndpointQueue, more: 1 | -1): void {
    queue.inFlight += more;
    queue.tenant.inFlight += more;
    this.#inFlight += more;
  }

  /**
   * How long to put off a message that was not admitted (ms): until its turn at the best pace, but hardly longer than
   * it has been waiting, since the pace may grow. At most 30 s.
   */
  delayMs(endpoint: Endpoint, redeliveries: number): number {
    const queue = this.#queue(endpoint);
    const now = this.#now();
    const [oldest] = queue.slots;
    // A receiver that has started to hang does not show in attempts that have ended.
    const attemptMs = Math.max(queue.attemptMs, oldest === undefined ? 0 : now - oldest.since);
    // Assumes all the slots that the webhook may have. At its current pace the last messages would still wait when
    // others are done.
    const perMessage = attemptMs / this.#limits.slotsPerEndpoint;
    const turnMs = Math.max(queue.nextAt - now, queue.inFlight * perMessage) + perMessage;
    const longestMs = doubled(LONGEST_FIRST_DELAY_MS, LONGEST_DELAY_MS, redeliveries);
    if (turnMs > longestMs) return longestMs * (1 - this.#random() / 2);
    queue.nextAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  /**
   * Does the work in a slot, when its turn has come.
   * @param work calls `begun` once only the receiver is waited for
   * @returns the work's result; undefined if it was not done because of `stop`
   */
  async inSlot<T>(endpoint: Endpoint, work: (begun: () => void) => Promise<T>): Promise<T | undefined> {
    const queue = this.#queue(endpoint);
    const slot = await this.#turn(queue);
    if (slot === undefined) return undefined;
    try {
      return await work(() => {
        this.#started(slot);
        this.#fillSlots();
      });
    } finally {
      this.#started(slot);
      queue.attemptMs += SMOOTHING * (this.#now() - slot.since - queue.attemptMs);
      queue.slots.delete(slot);
      queue.tenant.slots -= 1;
      this.#slots -= 1;
      this.#fillSlots();
    }
  }

  #started(slot: Slot): void {
    if (slot.isStarting) this.#starting -= 1;
    slot.isStarting = false;
  }

  /** Gives no more slots: waiting messages resolve with undefined. */
  stop(): void {
    this.#stopped = true;
    for (const tenant of this.#waiting) {
      for (const queue of tenant.waiting) for (const take of queue.waiting.splice(0)) take(undefined);
      tenant.waiting.clear();
    }
    this.#waiting.clear();
  }

  #turn(queue: EndpointQueue): Promise<Slot | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      queue.waiting.push(resolve);
      queue.tenant.waiting.add(queue);
      this.#waiting.add(queue.tenant);
      this.#fillSlots();
    });
  }

  #fillSlots(): void {
    for (let queue = this.#next(); queue !== undefined; queue = this.#next()) {
      const { tenant } = queue;
      const take = queue.waiting.shift();
      moveToBack(tenant.waiting, queue, queue.waiting.length > 0);
      moveToBack(this.#waiting, tenant, tenant.waiting.size > 0);
      const slot = { since: this.#now(), isStarting: true };
      queue.slots.add(slot);
      tenant.slots += 1;
      this.#slots += 1;
      this.#starting += 1;
      take?.(slot);
    }
  }

  /**
   * The next queue that may have one more slot; undefined if there is none. Each queue gets equally many turns. So a
   * slow receiver comes to hold more slots, as it must for the same rate, but never slots that others need.
   */
  #next(): EndpointQueue | undefined {
    const { slots, slotsPerEndpoint } = this.#limits;
    if (this.#starting >= Math.ceil((slots * BEGINNING_DELIVERY_PERCENT) / 100)) return undefined;
    for (const tenant of this.#waiting) {
      for (const queue of tenant.waiting) {
        if (hasRoom(slots, this.#slots, tenant.slots, queue.slots.size, slotsPerEndpoint)) return queue;
      }
    }
    return undefined;
  }

  #queue(endpoint: Endpoint): EndpointQueue {
    const key = endpointKey(endpoint);
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const queue: EndpointQueue = {
      tenant: this.#tenant(endpoint.tenant),
      inFlight: 0,
      slots: new Set(),
      waiting: [],
      attemptMs: FIRST_GUESS_MS,
      nextAt: 0,
    };
    this.#queues.set(key, queue);
    return queue;
  }

  #tenant(name: string): TenantUse {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    const tenant: TenantUse = { inFlight: 0, slots: 0, waiting: new Set() };
    this.#tenants.set(name, tenant);
    return tenant;
  }
}

/** Moves a queue that still waits behind the others, so that each has its turn. */
function moveToBack<Queue>(queues: Set<Queue>, queue: Queue, waitsOn: boolean): void {
  queues.delete(queue);
  if (waitsOn) queues.add(queue);
}
