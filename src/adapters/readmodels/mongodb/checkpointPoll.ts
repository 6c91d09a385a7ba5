/** Waits until a projection has reached a position: asks the server, more and more seldom, while anybody waits. */
import type { Position } from '../../../ports/eventStore.js';
import { type Checkpoint, positionOf } from './catalog.js';

const FIRST_PAUSE_MS = 3;
const LONGEST_PAUSE_MS = 50;

type Waiter = {
  readonly projection: string;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
  readonly fail: (error: unknown) => void;
};

export class CheckpointPoll {
  readonly #read: () => Promise<readonly Checkpoint[]>;
  readonly #waiters = new Set<Waiter>();
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #asking = false;

  constructor(read: () => Promise<readonly Checkpoint[]>) {
    this.#read = read;
  }

  /** @throws what reading the checkpoints throws */
  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    if (positionOf(await this.#read(), projection) >= position) return true;
    if (timeoutMs <= 0) return false;
    return new Promise<boolean>((resolve, reject) => {
      const timer = setTimeout(() => waiter.settle(false), timeoutMs);
      const leave = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) clearTimeout(this.#timer);
      };
      const waiter: Waiter = {
        projection,
        position,
        settle: (reached) => {
          leave();
          resolve(reached);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#askSoon();
    });
  }

  #askSoon(): void {
    if (this.#asking) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 1.3, LONGEST_PAUSE_MS);
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const checkpoints = await this.#read();
      for (const waiter of [...this.#waiters]) {
        if (positionOf(checkpoints, waiter.projection) >= waiter.position) waiter.settle(true);
      }
    } catch (error) {
      for (const waiter of [...this.#waiters]) waiter.fail(error);
    }
    this.#asking = false;
    if (this.#waiters.size > 0) this.#askSoon();
  }

  /** Those who still wait are told that it was not reached. */
  close(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(false);
  }
}
