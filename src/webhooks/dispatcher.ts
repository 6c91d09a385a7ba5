/**
 * Shares what one process can do at once between tenants and their webhooks, so that one slow receiver never delays
 * another: messages in flight, and slots for attempts. The rule is the same for both.
 *
 * Of webhooks (dynamic thresholds, Choudhury and Hahne 1998): each may have one and a half times as much as is left. One
 * alone gets the greater part, two get a third each, and there is always something left for the next.
 *
 * Of tenants: the last tenth is for those who have less than is left of it, however many webhooks another has. Who
 * waits takes turns: the tenants, and then the webhooks of the tenant.
 *
 * Of slots: only some may be at the beginning of an attempt, where it waits for this process and the log. Otherwise a process
 * that is busy would have all of them there, and slow receivers, which need theirs for long, would hardly get any.
 */

import { LRUCache } from 'lru-cache';
import { BEGINNING_DELIVERY_PERCENT, RESERVED_DELIVERY_PERCENT } from '../domain/limits.js';
import { doubled } from '../domain/webhook/delivery.js';

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

type Slot = {
  readonly since: number;
  /** The attempt has not been made yet. */
  begins: boolean;
};

/** What a tenant's webhooks have together. */
type TenantUse = {
  inFlight: number;
  slots: number;
  /** Those in which something waits for a slot, in the order of their turns. */
  readonly waiting: Set<EndpointQueue>;
};

type EndpointQueue = {
  readonly tenant: TenantUse;
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
/** The first time. Each message that comes back too early is taken, looked at and put off again, for nothing. */
const LONGEST_FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** A webhook's part of what is left. */
const TIMES_LEFT = 1.5;
/** Webhooks whose pace is known. One that is forgotten while it has something in flight begins with a share of its own. */
const MOST_ENDPOINTS = 10_000;

/** May a webhook have one place more? `most` is what one webhook may have in any case. */
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
  readonly #queues = new LRUCache<string, EndpointQueue>({ max: MOST_ENDPOINTS });
  /** Those of whose webhooks one waits for a slot, in the order of their turns. */
  readonly #waiting = new Set<TenantUse>();
  #inFlight = 0;
  #slots = 0;
  /** Slots in which the attempt begins. */
  #beginning = 0;
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
   * How long (ms) a message that did not get in is put off: until its turn at the best pace, but hardly longer than
   * it has been waiting, since the pace may grow; 30 s at most.
   */
  delayMs(endpoint: Endpoint, redeliveries: number): number {
    const queue = this.#queue(endpoint);
    const now = this.#now();
    const [oldest] = queue.slots;
    // A receiver that has begun to hang does not show in the attempts that have ended.
    const attemptMs = Math.max(queue.attemptMs, oldest === undefined ? 0 : now - oldest.since);
    // With all the slots that it may have: by the pace of now, what comes last would wait on when the others are done.
    const perMessage = attemptMs / this.#limits.slotsPerEndpoint;
    const turnMs = Math.max(queue.nextAt - now, queue.inFlight * perMessage) + perMessage;
    const longestMs = doubled(LONGEST_FIRST_DELAY_MS, LONGEST_DELAY_MS, redeliveries);
    if (turnMs > longestMs) return longestMs * (1 - this.#random() / 2);
    queue.nextAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  /**
   * Does the work in a slot, when its turn has come.
   * @param work calls `begun` when all that is left is up to the receiver
   * @returns what it returns; undefined when not done because of `stop`
   */
  async inSlot<T>(endpoint: Endpoint, work: (begun: () => void) => Promise<T>): Promise<T | undefined> {
    const queue = this.#queue(endpoint);
    const slot = await this.#turn(queue);
    if (slot === undefined) return undefined;
    try {
      return await work(() => {
        this.#hasBegun(slot);
        this.#fillSlots();
      });
    } finally {
      this.#hasBegun(slot);
      queue.attemptMs += SMOOTHING * (this.#now() - slot.since - queue.attemptMs);
      queue.slots.delete(slot);
      queue.tenant.slots -= 1;
      this.#slots -= 1;
      this.#fillSlots();
    }
  }

  #hasBegun(slot: Slot): void {
    if (slot.begins) this.#beginning -= 1;
    slot.begins = false;
  }

  /** What waits for a slot gets none any more. */
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
      toTheEnd(tenant.waiting, queue, queue.waiting.length > 0);
      toTheEnd(this.#waiting, tenant, tenant.waiting.size > 0);
      const slot = { since: this.#now(), begins: true };
      queue.slots.add(slot);
      tenant.slots += 1;
      this.#slots += 1;
      this.#beginning += 1;
      take?.(slot);
    }
  }

  /**
   * The queue whose turn it is, of those that may have a slot more; undefined when there is none. Each gets as many
   * turns, so a slow receiver comes to hold more slots, as it must for the same rate, but never those that others need.
   */
  #next(): EndpointQueue | undefined {
    const { slots, slotsPerEndpoint } = this.#limits;
    if (this.#beginning >= Math.ceil((slots * BEGINNING_DELIVERY_PERCENT) / 100)) return undefined;
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

/** Behind the others, when it waits on: each has its turn. */
function toTheEnd<Queue>(queues: Set<Queue>, queue: Queue, waitsOn: boolean): void {
  queues.delete(queue);
  if (waitsOn) queues.add(queue);
}
