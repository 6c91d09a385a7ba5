/**
 * Limits how much costly work runs at once, and lets groups take turns, so that no group waits for all work of another,
 * and the members of a group in the same way.
 */
import type { Cancellation } from './cancellation.js';

type FairQueueLimits = {
  /** Work at once, of all groups. */
  readonly atOnce: number;
  /** Work at once, of one group. Default: `atOnce`. */
  readonly ofGroup?: number;
  /** Of `atOnce`, for groups that have none at work. Default: none. */
  readonly reserved?: number;
  /** Waiting work, of all groups. Default: no limit. */
  readonly waiting?: number;
  /** Waiting work, of one group. */
  readonly waitingOfGroup: number;
};

/** Work of all groups. */
export type QueueCounts = { readonly running: number; readonly waiting: number };

/** The queue is full. */
export class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';
}

export class FairQueue implements QueueCounts {
  readonly #limits: Required<FairQueueLimits>;
  readonly #running = new Tally();
  /** Waiting work by group: groups in the order of their turns. */
  readonly #waiting = new Map<string, Line>();
  #waitingCount = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = { ofGroup: limits.atOnce, reserved: 0, waiting: Number.POSITIVE_INFINITY, ...limits };
  }

  /**
   * @param cancellation ends the wait; running work checks it itself
   * @param member of the group
   * @returns what the work returns
   * @throws TooManyWaitingError, the reason of the cancellation, and what the work throws
   */
  async run<T>(group: string, work: () => Promise<T>, cancellation?: Cancellation, member = ''): Promise<T> {
    const leave = await this.enter(group, cancellation, member);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** As `run`, for work that ends elsewhere. @returns a function to call once, at its end */
  async enter(group: string, cancellation?: Cancellation, member = ''): Promise<() => void> {
    cancellation?.throwIfCancelled();
    if (this.#hasRoom(group)) this.#running.add(group, 1);
    else await this.#turn(group, member, cancellation);
    return () => this.#end(group);
  }

  get running(): number {
    return this.#running.total;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  #hasRoom(group: string): boolean {
    const { atOnce, ofGroup, reserved } = this.#limits;
    const own = this.#running.of(group);
    return own < ofGroup && this.#running.total < (own === 0 ? atOnce : atOnce - reserved);
  }

  /** Resolves when this work may begin. */
  async #turn(group: string, member: string, cancellation: Cancellation | undefined): Promise<void> {
    const line = this.#waiting.get(group) ?? new Line();
    if (this.#waitingCount >= this.#limits.waiting || line.length >= this.#limits.waitingOfGroup) {
      throw new TooManyWaitingError('Too many requests wait for the same already.');
    }
    this.#waiting.set(group, line);
    this.#waitingCount += 1;
    await new Promise<void>((resolve, reject) => {
      line.push(member, resolve);
      cancellation?.onCancel(() => {
        if (!line.remove(member, resolve)) return;
        this.#waitingCount -= 1;
        if (line.length === 0) this.#waiting.delete(group);
        reject(cancellation.reason);
      });
    });
  }

  #end(group: string): void {
    this.#running.add(group, -1);
    this.#beginNext();
  }

  #beginNext(): void {
    for (const [group, line] of this.#waiting) {
      if (!this.#hasRoom(group)) continue;
      const begin = line.shift();
      this.#waitingCount -= 1;
      this.#waiting.delete(group);
      // To the end of the line.
      if (line.length > 0) this.#waiting.set(group, line);
      this.#running.add(group, 1);
      begin?.();
    }
  }
}

/** Waiting work of one group: its members in the order of their turns, each with its oldest first. */
class Line {
  readonly #members = new Map<string, (() => void)[]>();
  length = 0;

  push(member: string, begin: () => void): void {
    const own = this.#members.get(member);
    if (own === undefined) this.#members.set(member, [begin]);
    else own.push(begin);
    this.length += 1;
  }

  shift(): (() => void) | undefined {
    for (const [member, own] of this.#members) {
      const begin = own.shift();
      this.length -= 1;
      this.#members.delete(member);
      // To the end of the line.
      if (own.length > 0) this.#members.set(member, own);
      return begin;
    }
    return undefined;
  }

  /** @returns whether it was still waiting */
  remove(member: string, begin: () => void): boolean {
    const own = this.#members.get(member) ?? [];
    const place = own.indexOf(begin);
    if (place < 0) return false;
    own.splice(place, 1);
    this.length -= 1;
    if (own.length === 0) this.#members.delete(member);
    return true;
  }
}

/** Amounts by group, and their total. A group with nothing is forgotten. */
export class Tally {
  #total = 0;
  readonly #amounts = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  of(group: string): number {
    return this.#amounts.get(group) ?? 0;
  }

  /** @param amount negative to subtract */
  add(group: string, amount: number): void {
    const left = this.of(group) + amount;
    this.#total += amount;
    if (left === 0) this.#amounts.delete(group);
    else this.#amounts.set(group, left);
  }
}
