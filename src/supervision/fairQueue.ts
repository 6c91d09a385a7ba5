/** Limits how much costly work runs at once, and lets groups take turns, so that no group waits for all work of another. */
import type { Cancellation } from './cancellation.js';

type FairQueueLimits = {
  /** Work at once, of all groups. */
  readonly atOnce: number;
  /** Work at once, of one group. Default: `atOnce`. */
  readonly ofGroup?: number;
  /** Of `atOnce`, for groups that have none at work. Default: none. */
  readonly reserved?: number;
  /** Waiting work, of one group. */
  readonly waitingOfGroup: number;
};

/** The queue is full. */
export class TooManyWaitingError extends Error {}

export class FairQueue {
  readonly #limits: Required<FairQueueLimits>;
  readonly #running = new Tally();
  /** Waiting work by group: groups in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: FairQueueLimits) {
    this.#limits = { ofGroup: limits.atOnce, reserved: 0, ...limits };
  }

  /**
   * @param cancellation ends the wait; running work checks it itself
   * @returns what the work returns
   * @throws TooManyWaitingError, the reason of the cancellation, and what the work throws
   */
  async run<T>(group: string, work: () => Promise<T>, cancellation?: Cancellation): Promise<T> {
    const leave = await this.enter(group, cancellation);
    return (async () => work())().finally(leave);
  }

  /** As `run`, for work that ends elsewhere. @returns a function to call once, at its end */
  async enter(group: string, cancellation?: Cancellation): Promise<() => void> {
    cancellation?.throwIfCancelled();
    if (this.#hasRoom(group)) this.#running.add(group, 1);
    else await this.#turn(group, cancellation);
    return () => this.#end(group);
  }

  get running(): number {
    return this.#running.total;
  }

  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  #hasRoom(group: string): boolean {
    const { atOnce, ofGroup, reserved } = this.#limits;
    const own = this.#running.of(group);
    return own < ofGroup && this.#running.total < (own === 0 ? atOnce : atOnce - reserved);
  }

  /** Resolves when this work may begin. */
  async #turn(group: string, cancellation: Cancellation | undefined): Promise<void> {
    const line = this.#waiting.get(group) ?? [];
    if (line.length >= this.#limits.waitingOfGroup)
      throw new TooManyWaitingError('Too many requests wait for the same already.');
    this.#waiting.set(group, line);
    await new Promise<void>((resolve, reject) => {
      line.push(resolve);
      cancellation?.onCancel(() => {
        const place = line.indexOf(resolve);
        if (place < 0) return;
        line.splice(place, 1);
        if (line.length === 0) this.#waiting.delete(group);
        reject(cancellation.reason);
      });
    });
  }

  #end(ended: string): void {
    this.#running.add(ended, -1);
    for (const [group, line] of this.#waiting) {
      if (!this.#hasRoom(group)) continue;
      const begin = line.shift();
      this.#waiting.delete(group);
      // To the end of the line.
      if (line.length > 0) this.#waiting.set(group, line);
      this.#running.add(group, 1);
      begin?.();
    }
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
