/** Costly work is done a few pieces at a time, and groups take turns, so that nobody waits for all that one group wants. */

export type TurnLimits = {
  /** Pieces of work at once, of all groups. */
  readonly atOnce: number;
  /** Pieces that wait, of all groups. */
  readonly waiting: number;
  /** Pieces that wait, of one group. */
  readonly waitingOfGroup: number;
};

/** So much waits already that this piece was not taken. */
export class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';
}

export class Turns {
  readonly #limits: TurnLimits;
  /** Begin a piece of work; groups in the order of their turns. */
  readonly #groups = new Map<string, (() => void)[]>();
  #waiting = 0;
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** @returns what the work returns. @throws TooManyWaitingError, and what the work throws */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    // When there is room nobody waits: whoever ends calls the next one in its place.
    if (this.#running < this.#limits.atOnce) this.#running += 1;
    else await this.#turn(group);
    try {
      return await work();
    } finally {
      if (!this.#callNext()) this.#running -= 1;
    }
  }

  #turn(group: string): Promise<void> {
    const queue = this.#groups.get(group) ?? [];
    if (this.#waiting >= this.#limits.waiting || queue.length >= this.#limits.waitingOfGroup) {
      return Promise.reject(new TooManyWaitingError('Too many requests wait for the same already.'));
    }
    return new Promise((resolve) => {
      queue.push(resolve);
      this.#groups.set(group, queue);
      this.#waiting += 1;
    });
  }

  /** Whether one was waiting; it goes on in the place of the one that ended. */
  #callNext(): boolean {
    const [next] = this.#groups;
    if (next === undefined) return false;
    const [group, queue] = next;
    // Behind the others: each group has its turn.
    this.#groups.delete(group);
    const begin = queue.shift();
    if (queue.length > 0) this.#groups.set(group, queue);
    this.#waiting -= 1;
    begin?.();
    return true;
  }
}
