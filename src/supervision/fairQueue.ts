/** Costly work is done a few pieces at a time, and groups take turns, so that nobody waits for all that one group wants. */
import type { Cancellation } from './cancellation.js';
import { Tally } from './tally.js';

export type FairQueueLimits = {
  /** Pieces of work at once, of all groups. */
  readonly atOnce: number;
  /** Those of one group among them; as many by default. */
  readonly ofGroup?: number;
  /** Pieces that wait, of all groups; no limit by default. */
  readonly waiting?: number;
  /** Pieces that wait, of one group. */
  readonly waitingOfGroup: number;
};

/** So much waits already that this piece was not taken. */
export class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';
}

export class FairQueue {
  readonly #limits: Required<FairQueueLimits>;
  readonly #running = new Tally();
  /** Pieces that wait, by group: groups in the order of their next turns, and of a group the first that came. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #waitingCount = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = { ofGroup: limits.atOnce, waiting: Number.POSITIVE_INFINITY, ...limits };
  }

  /**
   * @param cancellation ends the wait; work that has begun looks at it itself
   * @returns what the work returns
   * @throws TooManyWaitingError, the reason of the cancellation, and what the work throws
   */
  async run<T>(group: string, work: () => Promise<T>, cancellation?: Cancellation): Promise<T> {
    cancellation?.throwIfCancelled();
    if (this.#hasRoom(group)) this.#running.add(group, 1);
    else await this.#turn(group, cancellation);
    try {
      return await work();
    } finally {
      this.#end(group);
    }
  }

  #hasRoom(group: string): boolean {
    return this.#running.total < this.#limits.atOnce && this.#running.of(group) < this.#limits.ofGroup;
  }

  /** Resolves when it is this piece's turn, which is then begun. */
  async #turn(group: string, cancellation: Cancellation | undefined): Promise<void> {
    const line = this.#waiting.get(group) ?? [];
    if (this.#waitingCount >= this.#limits.waiting || line.length >= this.#limits.waitingOfGroup) {
      throw new TooManyWaitingError('Too many requests wait for the same already.');
    }
    this.#waiting.set(group, line);
    this.#waitingCount += 1;
    await new Promise<void>((resolve, reject) => {
      line.push(resolve);
      cancellation?.onCancel(() => {
        const place = line.indexOf(resolve);
        if (place < 0) return;
        line.splice(place, 1);
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
      // Behind all others that wait.
      if (line.length > 0) this.#waiting.set(group, line);
      this.#running.add(group, 1);
      begin?.();
    }
  }
}
