/**
 * What a message passes before its attempt: its receiver's circuit, its receiver's and tenant's share of this process, and
 * the end of the delivery before it. All of it is memory that may be lost at any time: only the log decides.
 *
 * Two capacities are shared by one rule, messages in flight and slots for attempts, so that one slow receiver never delays
 * another. Each receiver may use one and a half times what is free (dynamic thresholds, Choudhury and Hahne 1998): a single
 * one gets the greater part, two get a third each, and something is always free for the next. The last tenth is for tenants
 * that use less than what is left of it, however many webhooks another tenant has. Slots are given in turns: first by
 * tenant, then by webhook of the tenant. Only some attempts may be starting (waiting for this process and the log) at once:
 * otherwise a busy process would fill all slots with them, and slow receivers, which hold theirs for long, get hardly any.
 */
import { LRUCache } from 'lru-cache';
import { type AttemptResult, doubled } from '../domain/webhook/delivery.js';
import type { Outcome } from '../ports/messageBroker.js';
import { sleep } from '../supervision/waiting.js';

/** Percent of the slots for webhook attempts that may be in preparation, where they wait for this process and the log. */
const BEGINNING_DELIVERY_PERCENT = 20;

/** Percent of the slots for webhook attempts, and of messages in flight, that is reserved for tenants with few of their own. */
const RESERVED_DELIVERY_PERCENT = 10;

export type Endpoint = { readonly tenant: string; readonly webhookId: string };

/** Names a webhook of a tenant in memory. Tenant names contain no dot. */
export const endpointKey = ({ tenant, webhookId }: Endpoint): string => `${tenant}.${webhookId}`;

export type GateLimits = {
  /** Messages in flight to all webhooks. */
  readonly inFlight: number;
  /** Concurrent attempts to all webhooks. */
  readonly slots: number;
  /** Concurrent attempts to one webhook. It gets fewer while others need the slots. */
  readonly slotsPerEndpoint: number;
};

/** When nothing but a probe now and then is sent to a receiver that keeps failing, so that it uses up no attempts. */
export type CircuitThresholds = {
  /** Minimum number of failures in a row. */
  readonly failures: number;
  /** Minimum time that these failures span (ms): a short burst opens nothing. */
  readonly spanMs: number;
  /** From the opening to the first probe (ms). Doubles with each probe that fails. */
  readonly firstProbeMs: number;
  readonly longestProbeMs: number;
};

export const DEFAULT_THRESHOLDS: CircuitThresholds = {
  failures: 10,
  spanMs: 30_000,
  firstProbeMs: 15_000,
  longestProbeMs: 300_000,
};

export type GateParts = {
  readonly limits: GateLimits;
  readonly thresholds: CircuitThresholds;
  /** Milliseconds. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Called with the webhook's `endpointKey` when its circuit opens or closes. */
  readonly onCircuit: (endpoint: string, isOpen: boolean) => void;
};

/** What a tenant's webhooks use together. */
type TenantUse = {
  inFlight: number;
  slots: number;
  /** Receivers with messages that wait for a slot, in the order of their turns. */
  readonly waiting: Set<Receiver>;
};

/** Of one attempt, which began then (ms). */
type Slot = { readonly since: number; isStarting: boolean };

type Receiver = {
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
  /** In a row, as this process saw. */
  failures: number;
  failingSince: number;
  /** Set while the circuit is open. From `probeAt` on it is half-open. */
  open: { readonly probeAt: number; readonly probeMs: number; isProbing: boolean } | undefined;
};

const FIRST_GUESS_MS = 20;
const SMOOTHING = 0.2;
const SHORTEST_DELAY_MS = 50;
/** The first time. A message that comes back too early is taken, checked and put off again for nothing. */
const LONGEST_FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** How long a second message of a delivery in flight is put off. */
const DUPLICATE_DELAY_MS = 1_000;
/** How long a delivery in flight waits for another one in flight. */
const LONGEST_IN_FLIGHT_MS = 3_000;
/** A receiver's limit as a multiple of the free capacity. */
const TIMES_LEFT = 1.5;
/** While a probe is in flight, other deliveries wait for a third of the probe interval: there may be very many. */
const WHILE_PROBING = 3;
/** Receivers that are remembered. One that is forgotten with messages in flight starts with a share of its own. */
const MAX_RECEIVERS = 10_000;

const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });

/** May a receiver use one more? `most` is the limit of one receiver in any case. */
function hasRoom(total: number, used: number, ofTenant: number, ofReceiver: number, most: number): boolean {
  const free = total - used;
  const reserved = Math.ceil((total * RESERVED_DELIVERY_PERCENT) / 100);
  if (ofReceiver >= most) return false;
  return free > reserved ? ofReceiver < Math.max(1, TIMES_LEFT * (free - reserved)) : ofTenant < free;
}

export class Gate {
  readonly #parts: GateParts;
  readonly #tenants = new Map<string, TenantUse>();
  readonly #receivers = new LRUCache<string, Receiver>({ max: MAX_RECEIVERS });
  /** Tenants with messages that wait for a slot, in the order of their turns. */
  readonly #waiting = new Set<TenantUse>();
  /** The work on each delivery in flight. */
  readonly #deliveries = new Map<string, Promise<Outcome>>();
  readonly #stopping = new AbortController();
  #inFlight = 0;
  #slots = 0;
  /** Slots whose attempt is starting. */
  #starting = 0;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Works on a delivery, whose message becomes one of those in flight; or puts the message off, which costs no read of the
   * log: while the circuit is open, the receiver has its share already, or another message of the delivery is in work.
   */
  async enter(
    endpoint: Endpoint,
    deliveryId: string,
    redeliveries: number,
    work: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const receiver = this.#receiver(endpoint);
    const { tenant } = receiver;
    const { limits, random } = this.#parts;
    const openMs = this.#openMs(receiver);
    if (openMs > 0) return retryIn(openMs * (1 + random() / 2));
    if (!hasRoom(limits.inFlight, this.#inFlight, tenant.inFlight, receiver.inFlight, limits.inFlight))
      return retryIn(this.#delayMs(receiver, redeliveries));
    if (this.#deliveries.has(deliveryId)) return retryIn(DUPLICATE_DELAY_MS);
    const count = (more: 1 | -1): void => {
      receiver.inFlight += more;
      tenant.inFlight += more;
      this.#inFlight += more;
    };
    count(1);
    const working = work();
    this.#deliveries.set(deliveryId, working);
    try {
      return await working;
    } finally {
      this.#deliveries.delete(deliveryId);
      count(-1);
    }
  }

  /** Resolves when no message of the delivery is in work here, at the latest after some seconds. */
  async left(deliveryId: string): Promise<void> {
    const working = this.#deliveries.get(deliveryId);
    if (working === undefined) return;
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
    // Its own message handles its failure.
    await Promise.race([working.catch(() => undefined), sleep(LONGEST_IN_FLIGHT_MS, signal)]);
    ended.abort();
  }

  /**
   * Makes an attempt in a slot, when its turn has come. Its result counts for the receiver's circuit.
   * @param attempt calls `begun` once only the receiver is waited for
   * @returns what the attempt returns; when its message is to be redelivered, if none may be made now
   */
  async inSlot<Made extends { readonly kind: string; readonly result?: AttemptResult }>(
    endpoint: Endpoint,
    attempt: (begun: () => void) => Promise<Made>,
  ): Promise<Made | Outcome> {
    const receiver = this.#receiver(endpoint);
    const slot = await this.#turn(receiver);
    if (slot === undefined) return retryIn(0);
    try {
      // It may have opened since the message entered. A half-open one lets one attempt be made, the probe.
      const openMs = this.#openMs(receiver);
      if (openMs > 0) return retryIn(openMs);
      return await this.#attempt(endpoint, receiver, () => attempt(() => this.#begun(slot)));
    } finally {
      receiver.attemptMs += SMOOTHING * (this.#parts.now() - slot.since - receiver.attemptMs);
      receiver.slots.delete(slot);
      receiver.tenant.slots -= 1;
      this.#slots -= 1;
      if (slot.isStarting) this.#begun(slot);
      else this.#fillSlots();
    }
  }

  #begun(slot: Slot): void {
    slot.isStarting = false;
    this.#starting -= 1;
    this.#fillSlots();
  }

  async #attempt<Made extends { readonly result?: AttemptResult }>(
    endpoint: Endpoint,
    receiver: Receiver,
    attempt: () => Promise<Made>,
  ): Promise<Made> {
    const probed = receiver.open;
    if (probed !== undefined) probed.isProbing = true;
    try {
      const made = await attempt();
      if (made.result?.ok === true) this.close(endpoint);
      if (made.result?.ok === false) this.#failed(endpoint, receiver, probed !== undefined);
      return made;
    } finally {
      if (probed !== undefined) probed.isProbing = false;
    }
  }

  /** Failures in a row that this process saw. */
  failures = (endpoint: Endpoint): number => this.#receiver(endpoint).failures;

  /** Closes the circuit, and forgets earlier failures. */
  close(endpoint: Endpoint): void {
    const receiver = this.#receiver(endpoint);
    const wasOpen = receiver.open !== undefined;
    receiver.failures = 0;
    receiver.open = undefined;
    if (wasOpen) this.#parts.onCircuit(endpointKey(endpoint), false);
  }

  #failed(endpoint: Endpoint, receiver: Receiver, wasProbe: boolean): void {
    const now = this.#parts.now();
    const { failures, spanMs, firstProbeMs, longestProbeMs } = this.#parts.thresholds;
    if (receiver.failures === 0) receiver.failingSince = now;
    receiver.failures += 1;
    if (receiver.open === undefined) {
      if (receiver.failures < failures || now - receiver.failingSince < spanMs) return;
      receiver.open = { probeAt: now + firstProbeMs, probeMs: firstProbeMs, isProbing: false };
      this.#parts.onCircuit(endpointKey(endpoint), true);
    } else if (wasProbe) {
      // Only a probe counts: attempts that were in flight when the circuit opened say nothing new.
      const probeMs = Math.min(longestProbeMs, 2 * receiver.open.probeMs);
      receiver.open = { probeAt: now + probeMs, probeMs, isProbing: false };
    }
  }

  /** How long no attempt may be made (ms); 0 if one may be made now. */
  #openMs({ open }: Receiver): number {
    if (open === undefined) return 0;
    const untilProbe = Math.max(0, open.probeAt - this.#parts.now());
    return open.isProbing ? Math.max(open.probeMs / WHILE_PROBING, untilProbe) : untilProbe;
  }

  /**
   * How long to put off a message that finds no room (ms): until its turn at the best pace, but hardly longer than it has
   * been waiting, since the pace may grow. At most 30 s.
   */
  #delayMs(receiver: Receiver, redeliveries: number): number {
    const { limits, random } = this.#parts;
    const now = this.#parts.now();
    const [oldest] = receiver.slots;
    // A receiver that has started to hang does not show in attempts that have ended.
    const attemptMs = Math.max(receiver.attemptMs, oldest === undefined ? 0 : now - oldest.since);
    // Assumes all the slots that the webhook may have. At its current pace the last messages would still wait when
    // others are done.
    const perMessage = attemptMs / limits.slotsPerEndpoint;
    const turnMs = Math.max(receiver.nextAt - now, receiver.inFlight * perMessage) + perMessage;
    const longestMs = doubled(LONGEST_FIRST_DELAY_MS, LONGEST_DELAY_MS, redeliveries);
    if (turnMs > longestMs) return longestMs * (1 - random() / 2);
    receiver.nextAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  /** Gives no more slots: messages that wait for one are redelivered. */
  stop(): void {
    this.#stopping.abort();
    for (const tenant of this.#waiting) {
      for (const receiver of tenant.waiting) for (const take of receiver.waiting.splice(0)) take(undefined);
      tenant.waiting.clear();
    }
    this.#waiting.clear();
  }

  #turn(receiver: Receiver): Promise<Slot | undefined> {
    if (this.#stopping.signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      receiver.waiting.push(resolve);
      receiver.tenant.waiting.add(receiver);
      this.#waiting.add(receiver.tenant);
      this.#fillSlots();
    });
  }

  #fillSlots(): void {
    for (let receiver = this.#next(); receiver !== undefined; receiver = this.#next()) {
      const { tenant } = receiver;
      const take = receiver.waiting.shift();
      moveToBack(tenant.waiting, receiver, receiver.waiting.length > 0);
      moveToBack(this.#waiting, tenant, tenant.waiting.size > 0);
      const slot = { since: this.#parts.now(), isStarting: true };
      receiver.slots.add(slot);
      tenant.slots += 1;
      this.#slots += 1;
      this.#starting += 1;
      take?.(slot);
    }
  }

  /**
   * The next receiver that may have one more slot; undefined if there is none. Each gets equally many turns. So a slow
   * receiver comes to hold more slots, as it must for the same rate, but never slots that others need.
   */
  #next(): Receiver | undefined {
    const { slots, slotsPerEndpoint } = this.#parts.limits;
    if (this.#starting >= Math.ceil((slots * BEGINNING_DELIVERY_PERCENT) / 100)) return undefined;
    for (const tenant of this.#waiting) {
      for (const receiver of tenant.waiting) {
        if (hasRoom(slots, this.#slots, tenant.slots, receiver.slots.size, slotsPerEndpoint)) return receiver;
      }
    }
    return undefined;
  }

  #receiver(endpoint: Endpoint): Receiver {
    const key = endpointKey(endpoint);
    const known = this.#receivers.get(key);
    if (known !== undefined) return known;
    const tenant = this.#tenants.get(endpoint.tenant) ?? { inFlight: 0, slots: 0, waiting: new Set() };
    this.#tenants.set(endpoint.tenant, tenant);
    const receiver: Receiver = {
      tenant,
      inFlight: 0,
      slots: new Set(),
      waiting: [],
      attemptMs: FIRST_GUESS_MS,
      nextAt: 0,
      failures: 0,
      failingSince: 0,
      open: undefined,
    };
    this.#receivers.set(key, receiver);
    return receiver;
  }
}

/** Moves one that still waits behind the others, so that each has its turn. */
function moveToBack<Each>(all: Set<Each>, each: Each, waitsOn: boolean): void {
  all.delete(each);
  if (waitsOn) all.add(each);
}
