/**
 * What a message passes before its attempt: its receiver's circuit, and its share of this process. All of it is memory that
 * may be lost at any time: only the log decides.
 *
 * Two capacities are shared by one rule, messages in flight and slots for attempts, so that one slow receiver never delays
 * another. Each receiver may use one and a half times what is free (dynamic thresholds, Choudhury and Hahne 1998): a single
 * one gets the greater part, two get a third each, and something is always free for the next. The last tenth is for tenants
 * that use less than what is left of it; of slots, for receivers that are not known to be slow, and for one attempt to each
 * that is known to be quick. Slots are given in turns of tenants and of their webhooks, so that each gets the same time of
 * slots, not the same number (fair queuing by finishing times, Golestani 1994): a quick receiver is before sixty slow ones.
 */
import { LRUCache } from 'lru-cache';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import { doubled } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';

export type Endpoint = { readonly tenant: string; readonly webhookId: string };

/** Names a webhook of a tenant in memory. Tenant names contain no dot. */
export const endpointKey = ({ tenant, webhookId }: Endpoint): string => `${tenant}.${webhookId}`;

export type GateParts = {
  /** Messages in flight to all webhooks. */
  readonly inFlight: number;
  /** Concurrent attempts to all webhooks. */
  readonly slots: number;
  /** Concurrent attempts to one webhook. It gets fewer while others need the slots. */
  readonly slotsPerEndpoint: number;
  /** Milliseconds. */
  readonly now: () => number;
};

/** A message in flight. Leaving is the caller's part, in any case. */
export type Pass = {
  /** Waits for a slot for an attempt. @returns undefined if it has one; else in how many milliseconds to try again */
  readonly slot: () => Promise<number | undefined>;
  /** Frees the slot, the first time. The result, if an attempt was made, counts for the receiver's circuit. */
  readonly end: (result?: AttemptResult) => void;
  readonly leave: () => void;
};

/** What all, a tenant, or a receiver uses. */
type Share = {
  inFlight: number;
  slots: number;
  /** When its turn is, on the clock of those that it takes turns with: later by each attempt's duration. */
  turn: number;
  /** The latest turn of those that take turns here. */
  clock: number;
};

type Receiver = Share & {
  /** Smoothed duration of an attempt (ms); undefined before the first. */
  attemptMs?: number;
  /** When the message that was put off last is redelivered (ms). The next one comes after it. */
  nextAt: number;
  /** In a row, as this process saw. */
  failures: number;
  failingSince: number;
  /** Not 0 while the circuit is open: nothing is sent before `probeAt`, and then one attempt, the probe. */
  probeMs: number;
  probeAt: number;
};

type Entry = {
  readonly endpoint: Endpoint;
  readonly receiver: Receiver;
  readonly tenant: Share;
  /** When the attempt under way began (ms). */
  startedAt?: number | undefined;
  isProbe?: boolean;
};

/**
 * The circuit of a receiver that keeps failing opens, so that it uses up no attempts. The failures must span some time: a
 * short burst opens nothing. The wait doubles with each probe that fails.
 */
const OPENING = { failures: 10, spanMs: 30_000 };
const PROBE_MS = { first: 15_000, longest: 300_000 };
/** Percent of the slots, and of messages in flight, that is reserved for tenants with few of their own. */
const RESERVED_PERCENT = 10;
/** A receiver's limit as a multiple of the free capacity. */
const TIMES_LEFT = 1.5;
const FIRST_GUESS_MS = 20;
/** A receiver that takes longer is slow. */
const QUICK_MS = 1_000;
const SMOOTHING = 0.2;
const SHORTEST_DELAY_MS = 50;
/** The first time. A message that comes back too early is taken, checked and put off again for nothing. */
const LONGEST_FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** How long a second message of a delivery in flight is put off. */
const DUPLICATE_DELAY_MS = 1_000;
/** How long a delivery in flight waits for another one in flight. */
const LONGEST_IN_FLIGHT_MS = 3_000;
/** Receivers that are remembered. One that is forgotten with messages in flight starts with a share of its own. */
const MAX_RECEIVERS = 10_000;

const HEALTHY = { failures: 0, failingSince: 0, probeMs: 0, probeAt: Number.NEGATIVE_INFINITY };
const noShare = (): Share => ({ inFlight: 0, slots: 0, turn: 0, clock: 0 });

export class Gate {
  readonly #parts: GateParts;
  readonly #all = noShare();
  /** Those with messages in flight. */
  readonly #tenants = new Map<string, Share>();
  readonly #receivers = new LRUCache<string, Receiver>({ max: MAX_RECEIVERS });
  /** Deliveries in flight; aborted when they leave. */
  readonly #deliveries = new Map<string, AbortController>();
  /** Messages that wait for a slot, first in first out. They are told whether they get one. */
  readonly #waiting = new Map<Entry, (isAdmitted: boolean) => void>();
  #isStopped = false;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Lets a message in; or says in how many milliseconds it may come again: while the circuit is open, the receiver has its
   * share already, or another message of the delivery is in flight. That costs no read of the log.
   */
  enter(endpoint: Endpoint, deliveryId: string, redeliveries: number): Pass | number {
    const receiver = this.#receiver(endpoint);
    const tenant = this.#tenants.get(endpoint.tenant) ?? noShare();
    const entry: Entry = { endpoint, receiver, tenant };
    const openMs = receiver.probeAt - this.#parts.now();
    if (openMs > 0) return openMs * (1 + Math.random() / 2);
    if (!this.#hasRoom('inFlight', entry)) return this.#delayMs(receiver, redeliveries);
    if (this.#deliveries.has(deliveryId)) return DUPLICATE_DELAY_MS;
    // Who asked for nothing lately has no turns left over.
    for (const { one, among } of this.#takingTurns(entry))
      if (one.inFlight === 0) one.turn = Math.max(one.turn, among.clock);
    this.#use('inFlight', entry, 1);
    this.#tenants.set(endpoint.tenant, tenant);
    const leaving = new AbortController();
    this.#deliveries.set(deliveryId, leaving);
    return {
      slot: () => this.#slot(entry),
      end: (result) => this.#end(entry, result),
      leave: () => {
        this.#use('inFlight', entry, -1);
        if (tenant.inFlight === 0) this.#tenants.delete(endpoint.tenant);
        this.#deliveries.delete(deliveryId);
        leaving.abort();
      },
    };
  }

  /** Resolves when no message of the delivery is in flight here, at the latest after some seconds. */
  async left(deliveryId: string): Promise<void> {
    const leaving = this.#deliveries.get(deliveryId);
    if (leaving !== undefined) await sleep(LONGEST_IN_FLIGHT_MS, leaving.signal);
  }

  /** Gives no more slots: messages that wait are redelivered. */
  stop(): void {
    this.#isStopped = true;
    for (const leaving of this.#deliveries.values()) leaving.abort();
    for (const decide of this.#waiting.values()) decide(false);
    this.#waiting.clear();
  }

  /** Closes the circuit, and forgets earlier failures. */
  close(endpoint: Endpoint): void {
    Object.assign(this.#receiver(endpoint), HEALTHY);
  }

  async #slot(entry: Entry): Promise<number | undefined> {
    if (this.#isStopped) return 0;
    const isAdmitted = await new Promise<boolean>((resolve) => {
      this.#waiting.set(entry, resolve);
      this.#fillSlots();
    });
    if (!isAdmitted) return 0;
    const { receiver } = entry;
    const now = this.#parts.now();
    entry.startedAt = now;
    // It may have opened since the message entered.
    const openMs = receiver.probeAt - now;
    if (openMs > 0) {
      this.#end(entry);
      return openMs;
    }
    entry.isProbe = receiver.probeMs > 0;
    // While the probe is in flight, the others wait.
    if (entry.isProbe) receiver.probeAt = now + receiver.probeMs;
    return undefined;
  }

  #end(entry: Entry, result?: AttemptResult): void {
    const { endpoint, receiver, startedAt, isProbe = false } = entry;
    if (startedAt === undefined) return;
    entry.startedAt = undefined;
    this.#use('slots', entry, -1);
    this.#fillSlots();
    if (result === undefined) return;
    const now = this.#parts.now();
    const before = receiver.attemptMs ?? now - startedAt;
    receiver.attemptMs = before + SMOOTHING * (now - startedAt - before);
    if (result.ok) this.close(endpoint);
    if (result.ok) return;
    if (receiver.failures === 0) receiver.failingSince = now;
    receiver.failures += 1;
    const isOpen = receiver.probeMs > 0;
    const opens = receiver.failures >= OPENING.failures && now - receiver.failingSince >= OPENING.spanMs;
    // Only a probe counts: attempts that were in flight when the circuit opened say nothing new.
    if (isOpen ? !isProbe : !opens) return;
    receiver.probeMs = Math.min(PROBE_MS.longest, 2 * receiver.probeMs || PROBE_MS.first);
    receiver.probeAt = now + receiver.probeMs;
  }

  #use(capacity: 'inFlight' | 'slots', { receiver, tenant }: Entry, change: 1 | -1): void {
    for (const share of [receiver, tenant, this.#all]) share[capacity] += change;
  }

  /** May the receiver use one more? */
  #hasRoom(capacity: 'inFlight' | 'slots', { receiver, tenant }: Entry): boolean {
    const total = this.#parts[capacity];
    const free = total - this.#all[capacity];
    const unreserved = free - Math.ceil((total * RESERVED_PERCENT) / 100);
    if (capacity === 'slots' && receiver.slots >= this.#parts.slotsPerEndpoint) return false;
    if (unreserved > 0) return receiver[capacity] < Math.max(1, TIMES_LEFT * unreserved);
    if (capacity === 'inFlight') return tenant.inFlight < free;
    if (expectedMs(receiver) > QUICK_MS) return false;
    return tenant.slots < free || (receiver.attemptMs !== undefined && receiver.slots === 0);
  }

  #takingTurns({ tenant, receiver }: Entry): readonly { readonly one: Share; readonly among: Share }[] {
    return [
      { one: tenant, among: this.#all },
      { one: receiver, among: tenant },
    ];
  }

  #fillSlots(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      this.#use('slots', entry, 1);
      for (const { one, among } of this.#takingTurns(entry)) {
        among.clock = Math.max(among.clock, one.turn);
        one.turn += expectedMs(entry.receiver);
      }
      const decide = this.#waiting.get(entry);
      this.#waiting.delete(entry);
      decide?.(true);
    }
  }

  /**
   * Takes a message whose receiver may have one more slot: of each tenant the one that would end first if all webhooks had
   * begun at their turns, and of these likewise by the turns of tenants. A slow receiver comes to hold more slots, as it must
   * for the same rate, but never slots that others need.
   */
  #next(): Entry | undefined {
    if (this.#all.slots >= this.#parts.slots) return undefined;
    const firsts = new Map<Share, Entry>();
    for (const entry of this.#waiting.keys()) {
      const first = firsts.get(entry.tenant);
      const isFirst = first === undefined || endOf(entry, 'receiver') < endOf(first, 'receiver');
      if (isFirst && this.#hasRoom('slots', entry)) firsts.set(entry.tenant, entry);
    }
    const [next, ...others] = firsts.values();
    return others.reduce((one, other) => (one && endOf(one, 'tenant') <= endOf(other, 'tenant') ? one : other), next);
  }

  /**
   * How long to put off a message that finds no room (ms): until its turn at the best pace, but hardly longer than it has
   * been waiting, since the pace may grow. At most 30 s.
   */
  #delayMs(receiver: Receiver, redeliveries: number): number {
    const now = this.#parts.now();
    // Assumes all the slots that the webhook may have. At its current pace the last messages would still wait when
    // others are done.
    const perMessage = expectedMs(receiver) / this.#parts.slotsPerEndpoint;
    const turnMs = Math.max(receiver.nextAt - now, receiver.inFlight * perMessage) + perMessage;
    const longestMs = doubled(LONGEST_FIRST_DELAY_MS, LONGEST_DELAY_MS, redeliveries);
    if (turnMs > longestMs) return longestMs * (1 - Math.random() / 2);
    receiver.nextAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  #receiver(endpoint: Endpoint): Receiver {
    const key = endpointKey(endpoint);
    const known = this.#receivers.get(key);
    if (known !== undefined) return known;
    const receiver: Receiver = { ...noShare(), ...HEALTHY, nextAt: 0 };
    this.#receivers.set(key, receiver);
    return receiver;
  }
}

const expectedMs = ({ attemptMs = FIRST_GUESS_MS }: Receiver): number => attemptMs;

const endOf = (entry: Entry, whose: 'receiver' | 'tenant'): number => entry[whose].turn + expectedMs(entry.receiver);
